"""An immediate trial: for ``nnapi tune``, and for compilations that wait for the decision."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from nnapi.contract.driver import PrepareOptions
from nnapi.errors import need_instance
from nnapi.model.model import LOADS, Model
from nnapi.model.precision import PrecisionName, read_precision
from nnapi.printable import pluralize
from nnapi.runtime.cache.compilation_cache import open_cache, open_own_cache
from nnapi.runtime.choice.challenger import Inputs
from nnapi.runtime.choice.knowledge import Fixed
from nnapi.runtime.choice.preparation import prepare
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import Record
from nnapi.runtime.choice.schedule import Stage
from nnapi.runtime.choice.spare import Spare
from nnapi.runtime.choice.trial import Trial
from nnapi.runtime.device import Devices, list_candidates
from nnapi.runtime.executors.prepared_partitions import ReadyPlan
from nnapi.runtime.inputs import check_inputs, has_known_ranks, make_zeros
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.settings import Partitioning, settings
from nnapi.runtime.thread_counts import read_threads
from nnapi.store.directories import RecordKind
from nnapi.store.records import forget_record
from nnapi.trace import Layer, Phase, span

LONGEST = 10.0
"""Seconds after which no pair is begun."""

Progress = Callable[[str], None]


def tune(
    model: Model,
    devices: Devices | None = None,
    *,
    threads: int | None = None,
    precision: PrecisionName | None = None,
    inputs: Sequence[Any] | None = None,
    progress: Progress = lambda text: None,
) -> Plan:
    """Compare the plans of a model now, and record the fastest for compilations with the same devices, threads and
    precision.

    ``precision`` is as for :func:`nnapi.compile`. ``inputs`` are arrays as for :meth:`Compilation.run`, by default
    zeros. An earlier record is removed. ``progress`` is called with a text, such as the number of pairs so far. Returns
    the plan.
    """
    need_instance(model, Model, "model", LOADS)
    if precision is not None:
        model = model.with_precision(read_precision(precision))
    candidates = list_candidates(devices)
    arrays = None if inputs is None else check_inputs(model, inputs)
    with settings(tuning=True):
        options = PrepareOptions(threads=read_threads(threads))
        question = Question(model, candidates, options, open_cache(model, None))
        forget_record(RecordKind.PLANS, question.key)
        if cache := open_own_cache(model):
            for device in candidates:
                cache.forget(device, question.options)
        ready, knowledge = prepare(question, Spare(question, Partitioning.WITHOUT_FALLBACK))
        if not isinstance(knowledge, Fixed):
            ready = decide_at_once(question, ready, None, lambda ready: ready, arrays, progress)
        return ready.plan


def decide_at_once(
    question: Question,
    ready: ReadyPlan,
    record: Record | None,
    guard: Callable[[ReadyPlan], ReadyPlan],
    inputs: Inputs | None = None,
    progress: Progress = lambda text: None,
) -> ReadyPlan:
    """Compare plans until all are decided or LONGEST has passed. Return the fastest; ``ready`` for unknown ranks."""
    model = question.model
    if inputs is None and not has_known_ranks(model):
        return ready
    trial = Trial(question, ready, record, guard)
    with span(Layer.RUNTIME, Phase.COMPILATION, "comparePlans"):
        trial.begin_on(make_zeros(model) if inputs is None else inputs)
        trial.prepare()
        while trial.prepare_next():
            progress("preparing")
        begin, pairs = time.perf_counter(), 0
        while trial.stage is Stage.COMPARING and not trial.schedule.is_decided:
            if time.perf_counter() - begin > LONGEST or not trial.measure_pair(is_limited=False):
                break
            pairs += 1
            progress(pluralize(pairs, "pair"))
            trial.judge()
        for challenger in trial.challengers:
            challenger.decide()
        return trial.conclude() or ready
