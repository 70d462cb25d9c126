"""Online identification: a robot's parameters followed sample by sample while it works."""
