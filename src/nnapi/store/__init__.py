"""Persistent files and records: their format, validation and pruning."""
