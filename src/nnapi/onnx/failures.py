"""What ONNX Runtime raises, by the same names."""

from __future__ import annotations


class Fail(Exception):
    """Something failed that has no name of its own."""


class InvalidArgument(Exception):
    """An input or output is not as the model has it."""


class InvalidProtobuf(Exception):
    """A file is no ONNX model, or damaged."""


class NoSuchFile(Exception):
    """There is no file of that name."""


class NotImplemented(Exception):
    """A model uses operators that NNAPI cannot express; the message lists them."""
