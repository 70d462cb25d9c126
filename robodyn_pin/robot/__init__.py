"""What a robot is: its files, its tree, axes, efforts (the friction models), limits, units, frames, payload and export."""
