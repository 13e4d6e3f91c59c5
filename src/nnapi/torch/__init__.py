"""``torch.compile(model, backend="nnapi")``: PyTorch's inference graphs on this library's devices.

PyTorch finds the backend by itself (entry point group ``torch_dynamo_backends``). This is the way on from its own NNAPI
converter, which it has deprecated.
"""

from __future__ import annotations

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
    """Options of this backend in ``torch.compile(…, options=…)``.

    ``devices``, ``threads`` and ``cache`` are those of :func:`nnapi.compile`. With ``strict``, a graph that cannot run
    here is an error; otherwise PyTorch runs it, and a warning gives the reason.
    """
    named = [devices] if isinstance(devices, str) else devices
    return {"devices": named, "threads": threads, "cache": cache, "strict": strict}
