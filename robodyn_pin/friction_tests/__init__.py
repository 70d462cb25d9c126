"""Friction measured by sweeps of constant speed (`friction`); its models are in robot/friction_models.py."""
