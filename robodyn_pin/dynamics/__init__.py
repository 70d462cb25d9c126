"""The one projection at work: inverse dynamics, regressor, multipliers, strut loads; check and repair of a robot's bodies."""
