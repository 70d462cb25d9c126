"""Simulated logs, forward simulation and controllers (`simulate`)."""
