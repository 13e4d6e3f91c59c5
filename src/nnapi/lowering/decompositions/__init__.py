"""The decompositions of operations, one module per family."""
