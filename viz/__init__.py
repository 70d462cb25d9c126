"""Pictures of results: the robot in MeshCat, plots, the report page."""
