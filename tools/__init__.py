"""Programs that build the package and measure its tree: ``python -m tools.NAME``, in the root of the repository."""
