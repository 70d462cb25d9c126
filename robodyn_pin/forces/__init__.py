"""Torques, struts and joints along a log (`predict`, `forces`)."""
