"""What makes the package and measures its tree: ``python -m tools.NAME``, in the root of the repository."""
