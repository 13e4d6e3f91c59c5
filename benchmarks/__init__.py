"""Measurements and long proofs, each run as ``python benchmarks/NAME.py``."""
