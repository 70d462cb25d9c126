"""A controller's stream into a log (`record`), and a log played as such a stream (`stream`)."""
