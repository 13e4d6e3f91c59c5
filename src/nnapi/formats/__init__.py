"""File formats, read and written as plain data."""
