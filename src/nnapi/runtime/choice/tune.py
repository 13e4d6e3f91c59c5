"""The decision for a model at once, on given inputs: ``nnapi tune`` and compilations that wait for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnapi.drivers.base import PrepareOptions
from nnapi.model.model import Model
from nnapi.runtime.cache.own_cache import open_cache, open_own_cache
from nnapi.runtime.choice.at_once import Progress, decide_at_once
from nnapi.runtime.choice.knowledge import Fixed
from nnapi.runtime.choice.preparation import prepare
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import forget
from nnapi.runtime.compiling import compile
from nnapi.runtime.device import Device, Devices, list_named
from nnapi.runtime.device import devices as all_devices
from nnapi.runtime.inputs import check_inputs
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.settings import Partitioning, settings


def tune(
    model: Model,
    devices: Devices | None = None,
    *,
    threads: int | None = None,
    inputs: Sequence[Any] | None = None,
    progress: Progress = lambda text: None,
) -> Plan:
    """Compare the plans of a model now, and record the fastest for later compilations with the same devices and
    threads.

    ``inputs`` are arrays as :meth:`Compilation.run` takes them; by default zeros. An earlier record is forgotten.
    ``progress`` is called with the number of pairs so far, in words. Returns the plan.
    """
    candidates = [each for each in all_devices() if not each.is_by_name] if devices is None else list_named(devices)
    arrays = None if inputs is None else check_inputs(model, inputs)
    with settings(tuning=True):
        question = Question(model, candidates, PrepareOptions(threads=threads), open_cache(model, None))
        forget(question.key)
        _forget_cached(model, candidates, question.options)
        ready, knowledge = prepare(question, Partitioning.WITHOUT_FALLBACK)
        if not isinstance(knowledge, Fixed):
            decide_at_once(question, ready, None, lambda ready: ready, arrays, progress)
        del ready
        with compile(model, devices, threads=threads) as compilation:
            return compilation.plan


def _forget_cached(model: Model, devices: Sequence[Device], options: PrepareOptions) -> None:
    cache = open_own_cache(model)
    for device in devices if cache is not None else ():
        assert cache is not None
        cache.forget(device, options)
