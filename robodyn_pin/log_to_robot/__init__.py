"""From logs to a robot: run file, rows, prior knowledge, choice, estimate, verdict (`identify`, `compare`)."""
