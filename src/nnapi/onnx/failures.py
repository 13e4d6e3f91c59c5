"""The exceptions of ONNX Runtime, by the same names."""

from __future__ import annotations


class Fail(Exception):
    """Something failed that has no name of its own."""


class InvalidArgument(Exception):
    """An input or output is not as the model has it."""


class InvalidProtobuf(Exception):
    """A file is not an ONNX model, or is damaged."""


class NoSuchFile(Exception):
    """A file does not exist."""


class NotImplemented(Exception):
    """A model uses operators that NNAPI cannot express; the message lists them."""
