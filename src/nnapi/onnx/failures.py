"""The exceptions of ONNX Runtime."""


class Fail(Exception):
    """Any failure that has no exception of its own."""


class InvalidArgument(Exception):
    """An input or output does not fit the model."""


class InvalidProtobuf(Exception):
    """A file is not an ONNX model, or is damaged."""


class NoSuchFile(Exception):
    """A file does not exist."""


class NotImplemented(Exception):
    """A model uses operators that NNAPI cannot express; the message lists them."""


class BranchNotImplemented(NotImplemented):
    """All operators that NNAPI cannot express are in branches of If that an input's value may rule out."""
