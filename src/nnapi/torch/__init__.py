"""``torch.compile(model, backend="nnapi")``: run PyTorch's inference graphs on nnapi's devices.

PyTorch finds the backend through the entry point group ``torch_dynamo_backends``.
"""

import os
from collections.abc import Sequence
from typing import Any

from nnapi.torch.backend import compile_graph

__all__ = ["compile_graph", "options"]


def options(
    devices: Sequence[str] | str | None = None,
    threads: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    *,
    strict: bool = False,
) -> dict[str, Any]:
    """Return options of this backend for ``torch.compile(…, options=…)``.

    ``devices``, ``threads`` and ``cache`` are those of :func:`nnapi.compile`. With ``strict``, a graph that NNAPI
    cannot run raises an error; otherwise PyTorch runs it, with a warning.
    """
    named = [devices] if isinstance(devices, str) else devices
    return {"devices": named, "threads": threads, "cache": cache, "strict": strict}
