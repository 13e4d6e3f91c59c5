"""``nnapi.compile``: make a model or a file ready to run."""

import os
from typing import Literal

from nnapi.errors import BadDataError, need, need_instance
from nnapi.model.dynamic_model import DynamicModel
from nnapi.model.model import LOADS, Model
from nnapi.model.precision import Precision, PrecisionName, read_precision
from nnapi.runtime.by_name import Duration, Preference, Priority, read_preference, read_priority, read_seconds
from nnapi.runtime.cache.compilation_cache import CacheLocation
from nnapi.runtime.compilation import Compilation, Options, compile_with
from nnapi.runtime.device import Devices

FilePath = str | os.PathLike[str]


def compile(
    model: Model | FilePath,
    devices: Devices | None = None,
    preference: Preference | None = None,
    *,
    priority: Priority | None = None,
    timeout: Duration | None = None,
    threads: int | None = None,
    relaxed: bool | None = None,
    precision: PrecisionName | None = None,
    cache: CacheLocation | None = None,
    dynamic: Literal["bucket"] | None = None,
) -> Compilation:
    """Choose devices for a model, prepare it, and return the compilation (``ANeuralNetworksCompilation_finish``).

    ``model`` is a finished model, or the path of a .tflite or .onnx file. ``devices`` restricts the choice, by name or
    Device, without fallback to others. ``preference`` is ``"fast"`` (one answer, the default), ``"sustained"`` or
    ``"low_power"``; ``priority`` is ``"low"``, ``"medium"`` (the default) or ``"high"``; the codes of the C API work
    too. ``timeout``, in seconds or as a timedelta, limits the preparation; it needs exactly one device. ``threads`` is
    the number of threads of a run, up to 1024. ``precision``, which replaces the model's own permission, is the least
    precise arithmetic for float32: ``"float32"``, ``"float16"`` or ``"bfloat16"``. A device that cannot use it computes
    in float32, and :meth:`Compilation.explain` gives the reason. ``relaxed=True`` means float16, ``relaxed=False``
    means float32.

    ``cache`` is a directory for prepared models, made if necessary, or a directory and a 32-byte token as for
    :meth:`Compilation.set_caching`. By default, models from files are cached in the user's cache directory, up to a
    limit; True caches any model there, False none.

    A model compiled for the first time gets the plan that is predicted to be fastest. Other plans are tried on the
    inputs of real runs. A faster one with the same results, up to rounding, replaces the plan between two runs.
    :meth:`Compilation.pin` and ``settings(tuning=False)`` prevent this; ``settings(tuning=True)`` waits for it.

    A model whose operations depend on dynamic dimensions is compiled for the shapes of each run; the last few
    compilations are cached, and :meth:`Compilation.explain` gives the cost of each. With ``dynamic="bucket"``, inputs
    of one dynamic length are padded with zeros to a multiple of 64. The results are exact if an input masks the
    padding. A run raises BadDataError if the padding changes the results.

    Raises BadDataError for an invalid option. If no device supports an operation, the BadDataError gives the reasons.
    """
    need(relaxed is None or precision is None, "relaxed and precision are both given", BadDataError)
    if relaxed is not None:
        precision = "float16" if relaxed else "float32"
    permitted = None if precision is None else read_precision(precision)
    if isinstance(model, str | os.PathLike):
        from nnapi.importers import load  # on demand: only files need it

        model = load(model)
    need_instance(model, Model, "model", LOADS)
    options = (
        None if preference is None else read_preference(preference),
        None if priority is None else read_priority(priority),
        None if timeout is None else read_seconds(timeout, "timeout"),
        threads,
    )
    need(dynamic in (None, "bucket"), f"dynamic is {dynamic!r}, must be 'bucket' or None", BadDataError)
    need(not (dynamic and model.states), "dynamic='bucket' pads runs, so the model must not have states", BadDataError)
    if isinstance(model, DynamicModel) or dynamic:
        from nnapi.runtime.dynamic_compilation import DynamicCompilation  # on demand: few models are dynamic

        def compile_static(static: Model, device: str | None) -> Compilation:
            return _compile(static, device or devices, options, permitted, cache)

        return DynamicCompilation(model, compile_static, in_buckets=dynamic is not None)
    return _compile(model, devices, options, permitted, cache)


def _compile(
    model: Model, devices: Devices | None, options: Options, permitted: Precision | None, cache: CacheLocation | None
) -> Compilation:
    if permitted is not None and permitted is not model.precision and model.is_finished:
        cache = True if cache is None and model.origin is not None else cache
        model = model.with_precision(permitted)
    return compile_with(model, devices, options, cache)
