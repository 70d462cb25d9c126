"""Estimators: arrays in, estimates out. Nothing here knows a robot."""
