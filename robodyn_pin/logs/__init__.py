"""A log read, checked, differentiated and written."""
