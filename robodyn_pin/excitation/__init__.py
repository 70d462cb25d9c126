"""Motions that show the parameters, inside a robot's limits (`excite`)."""
