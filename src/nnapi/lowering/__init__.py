"""From NNAPI operations to those of another format or engine: the walk over a model and what its rules share."""
