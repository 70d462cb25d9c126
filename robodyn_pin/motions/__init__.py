"""Motion files: Fourier series, steps, sweeps."""
