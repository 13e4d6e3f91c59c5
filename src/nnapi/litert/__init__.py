"""Drop-in replacement of LiteRT's ``Interpreter`` for Python, which computes on this library's devices. LiteRT must be
installed: it reads the file and infers shapes, so names, indexes and errors are its own."""

from ai_edge_litert.interpreter import OpResolverType

from nnapi.litert.delegates import Delegate, delegate_path, load_delegate
from nnapi.litert.interpreter import Interpreter, SignatureRunner

__all__ = ["Delegate", "Interpreter", "OpResolverType", "SignatureRunner", "delegate_path", "load_delegate"]
