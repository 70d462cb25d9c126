"""Online identification: a robot's parameters updated sample by sample while it works."""
