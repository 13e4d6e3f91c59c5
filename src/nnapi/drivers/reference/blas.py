"""The number of threads of NumPy's BLAS, a setting of the process. A run that asks for fewer lowers it meanwhile."""

import ctypes
import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module

from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.operation_codes import FAMILIES

PRODUCTS = frozenset(
    " ".join(FAMILIES[family] for family in ("convolution", "matmul", "attention", "recurrent")).split()
)
LEAST_SHARED = 400
"""Elements of an operand below which OpenBLAS uses one thread: for products of less than 9216 MACs."""
SEQUENTIAL, THREADS = 0, 1
"""Kinds of OpenBLAS that can be limited. A third, with OpenMP, has a number for each thread that calls it."""


class Blas:
    """Limits the threads of a BLAS to those of the running run that asks for the fewest."""

    def __init__(self, get: Callable[[], int], set: Callable[[int], object]) -> None:
        self._get, self._set = get, set
        self._limits: list[int] = []
        self._own = self._chosen = 0
        """The number of threads without limits, and the one chosen last."""
        self._lock = make_lock()

    def add(self, limit: int) -> None:
        with self._lock:
            self._limits.append(limit)
            self._choose()

    def remove(self, limit: int) -> None:
        with self._lock:
            self._limits.remove(limit)
            self._choose()

    def _choose(self) -> None:
        current = self._get()
        if current != self._chosen:  # the program has set it
            self._own = current
        self._chosen = min([self._own, *self._limits])
        if self._chosen != current:
            self._set(self._chosen)

    def forget(self) -> None:
        """Forget the runs of other threads, which a forked child lacks."""
        if self._limits:
            self._limits.clear()
            self._choose()


class _Limit:
    """A limit for the time of a run."""

    def __init__(self, blas: Blas, threads: int) -> None:
        self._blas, self._threads = blas, threads

    def __enter__(self) -> None:
        self._blas.add(self._threads)

    def __exit__(self, *_: object) -> None:
        self._blas.remove(self._threads)


def limit_runs(model: Model, threads: int | None) -> AbstractContextManager[None]:
    """Return a context for runs of a model: BLAS uses at most ``threads`` in it, if that is possible."""
    blas = None if threads is None or not _may_share(model) else find_blas()[0]
    return nullcontext() if blas is None or threads is None else _Limit(blas, threads)


def _may_share(model: Model) -> bool:
    """Return whether a product may be so large that BLAS computes it in several threads."""
    calls = [(each, call) for each in list_nested(model) for call in each.operations if call.name in PRODUCTS]
    types = [each.operands[index].type for each, call in calls for index in (*call.inputs, *call.outputs)]
    return any(not type.is_known or math.prod(type.dimensions) >= LEAST_SHARED for type in types)


@cache
def find_blas() -> tuple[Blas | None, str]:
    """Return NumPy's BLAS, None if it computes in one thread anyway; and why its threads cannot be limited, if so."""
    extension = import_module("numpy._core._multiarray_umath")
    library = ctypes.CDLL(extension.__file__)  # finds the symbols of the libraries that it loads, too
    for name in ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}"):
        if not hasattr(library, name.format("get_parallel")):
            continue
        kind = library[name.format("get_parallel")]()
        if kind == SEQUENTIAL:
            return None, ""
        if kind == THREADS:
            blas = Blas(library[name.format("get_num_threads")], library[name.format("set_num_threads")])
            os.register_at_fork(after_in_child=blas.forget)
            return blas, ""
        return None, "NumPy's OpenBLAS computes with OpenMP, whose threads are not limited for single runs"
    if hasattr(library, "cblas_sgemm") or hasattr(library, "cblas_sgemm64_"):
        return None, "NumPy's BLAS is not OpenBLAS, whose threads can be limited for single runs"
    return None, ""
