"""File formats, as data: leaves for importers, exporters and engine drivers."""
