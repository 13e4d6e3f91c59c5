"""``nnapi.compile``: a model made ready in one call."""

from __future__ import annotations

from functools import partial

from nnapi.codes import PreferenceCode, PriorityCode
from nnapi.errors import BadDataError, need
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
    start: None = None,
) -> Compilation:
    """Make a model ready: choose devices, prepare, finish.

    ``devices`` restricts the choice, by name or Device; nothing falls back to others then. ``timeout`` is in
    nanoseconds and needs one device; ``threads`` is how many a run may use; ``relaxed`` permits float32 to be computed
    as float16, or forbids it, whatever the model says. ``cache`` is a directory, made where there is none, in which
    later compilations of the same model find what this one prepared; with a 32-byte token beside it, it is what
    :meth:`Compilation.set_caching` takes. Without it that is kept of models from files, within limits, in the user's
    cache directory; True keeps it of any model there, False of none.

    An unknown model gets the plan that is predicted to be fastest. Other plans are tried on the inputs of real runs;
    one that is faster and gives the same results, as far as rounding explains, takes over between two runs
    (:meth:`Compilation.pin` and ``settings(tuning=False)`` prevent that; ``settings(tuning=True)`` waits for the
    decision). ``start`` is deprecated: BadDataError for ``"soon"``, which is the default now.

    A model whose operations depend on dimensions that only a run knows is compiled for the shapes of each run, and what
    was compiled for the last few shapes is kept; :meth:`Compilation.explain` says what each cost.
    """
    need(start is None, f"start={start!r} is gone: compile answers soon and changes over by default", BadDataError)
    if isinstance(model, DynamicModel):
        again = partial(compile, devices=devices, preference=preference, priority=priority, timeout=timeout)
        return DynamicCompilation(model, partial(again, threads=threads, relaxed=relaxed, cache=cache))
    if relaxed is not None and relaxed != model.relaxed and model.is_finished:
        model = model.with_precision(relaxed)
    compilation = begin(model, devices, (preference, priority, timeout, threads))
    compilation._cache = open_cache(model, cache)
    compilation.finish()
    return compilation
