"""Golden files: each tensor of a run, and the integers with which each operation computes it."""
