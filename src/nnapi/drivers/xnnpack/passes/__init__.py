"""The passes over a graph, one module each."""
