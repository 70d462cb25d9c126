"""What a loop is: closure kinds, bringing q, v, a onto the loops, and the projection v = T c', a = T c'' + g."""
