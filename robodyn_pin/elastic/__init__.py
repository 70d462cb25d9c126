"""Elastic robots: springs in the drives, the tool's deviation under a force, stiffness from measurements, and its uses."""
