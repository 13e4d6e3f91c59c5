"""Passes over a lowered graph, one module each."""
