"""In LiteRT's place: its ``Interpreter`` for Python, with inference by this library's devices.

``from nnapi.litert import Interpreter`` instead of ``from ai_edge_litert.interpreter import Interpreter`` is all that a
program changes, and ``python -m nnapi.litert program.py`` changes nothing. LiteRT, which must be installed, still tells
what a file holds and what shapes follow from an input's: so names, indexes and errors are its own.
"""

from ai_edge_litert.interpreter import OpResolverType

from nnapi.litert.delegates import Delegate, delegate_path, load_delegate
from nnapi.litert.interpreter import Interpreter
from nnapi.litert.signature_runner import SignatureRunner

__all__ = ["Delegate", "Interpreter", "OpResolverType", "SignatureRunner", "delegate_path", "load_delegate"]
