"""Compile a model in one call."""

from __future__ import annotations

from functools import partial

from nnapi.codes import PreferenceCode, PriorityCode
from nnapi.model.dynamic_model import DynamicModel
from nnapi.model.model import Model
from nnapi.runtime.cache.own_cache import Place, open_cache
from nnapi.runtime.compilation import Compilation, begin
from nnapi.runtime.device import Devices
from nnapi.runtime.dynamic_compilation import DynamicCompilation


def compile(
    model: Model,
    devices: Devices | None = None,
    preference: PreferenceCode | None = None,
    *,
    priority: PriorityCode | None = None,
    timeout: int | None = None,
    threads: int | None = None,
    relaxed: bool | None = None,
    cache: Place | None = None,
) -> Compilation:
    """Compile a model as ``nnapi.compile`` does, with the codes of the C API and ``timeout`` in nanoseconds."""
    if isinstance(model, DynamicModel):
        again = partial(compile, devices=devices, preference=preference, priority=priority, timeout=timeout)
        return DynamicCompilation(model, partial(again, threads=threads, relaxed=relaxed, cache=cache))
    if relaxed is not None and relaxed != model.relaxed and model.is_finished:
        model = model.with_precision(relaxed)
    compilation = begin(model, devices, (preference, priority, timeout, threads))
    compilation._cache = open_cache(model, cache)
    compilation.finish()
    return compilation
