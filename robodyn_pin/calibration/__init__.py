"""Where the tool really is: errors of a robot's geometry from measured points, its loops closed for every candidate."""
