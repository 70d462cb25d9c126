"""What lies on disk: results that appear whole or not at all, and the caches of compiled kernels and pictures."""
