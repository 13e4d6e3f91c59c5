"""Drop-in replacements for LiteRT's ``Interpreter`` and ``CompiledModel`` that compute on NNAPI devices. LiteRT must be
installed: it reads the file and infers shapes, so names, indices and errors are LiteRT's."""

import typing

from ai_edge_litert.interpreter import OpResolverType

from nnapi.litert.delegates import Delegate, delegate_path, load_delegate
from nnapi.litert.interpreter import Interpreter, SignatureRunner

if typing.TYPE_CHECKING:
    from nnapi.litert.compiled_model import CompiledModel as CompiledModel

__all__ = ["Delegate", "Interpreter", "OpResolverType", "SignatureRunner", "delegate_path", "load_delegate"]


def __getattr__(name: str) -> type:
    """Import CompiledModel on demand: LiteRT has it from 2.2 on, in a library of its own."""
    if name == "CompiledModel":
        from nnapi.litert.compiled_model import CompiledModel

        return CompiledModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
