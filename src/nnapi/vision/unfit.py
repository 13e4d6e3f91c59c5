"""The error of this package."""


class Unfit(Exception):
    """A file, an option or an output that does not fit the model; the message says why."""
