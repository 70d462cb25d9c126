"""What is true of one kind of robot only: Deltas (the reduced strut model) and arms with a spherical wrist."""
