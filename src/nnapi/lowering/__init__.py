"""Conversion of NNAPI models to other formats and engines: the walk over a model, and code that the rules share."""
