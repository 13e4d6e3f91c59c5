"""Benchmarks and long checks, each run as ``python benchmarks/NAME.py`` or ``python -m benchmarks.NAME``."""
