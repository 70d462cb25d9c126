"""A robot that yields: springs in its drives, what they say of a tool's deviation, and how to measure and to use them."""
