"""File formats as data."""
