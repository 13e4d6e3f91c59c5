"""Persistent files: one format, validation, pruning."""
