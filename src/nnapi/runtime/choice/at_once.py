"""A trial at once, on given or made-up inputs: for ``nnapi tune`` and compilations that wait for the decision."""

from __future__ import annotations

import time
from collections.abc import Callable

from nnapi.runtime.choice.challenger import Inputs
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import Record
from nnapi.runtime.choice.trial import Stage, Trial
from nnapi.runtime.executors.parts import ReadyPlan
from nnapi.runtime.inputs import has_known_ranks, make_zeros
from nnapi.trace import Layer, Phase, span

LONGEST = 10.0
"""Seconds after which no pair is begun."""

Progress = Callable[[str], None]


def decide_at_once(
    question: Question,
    ready: ReadyPlan,
    record: Record | None,
    guard: Callable[[ReadyPlan], ReadyPlan],
    inputs: Inputs | None = None,
    progress: Progress = lambda text: None,
) -> ReadyPlan:
    """Compare plans until one is faster or none is. Returns the fastest; ``ready`` where no inputs can be made up."""
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
        while trial.stage is Stage.COMPARING and not trial.is_decided:
            if time.perf_counter() - begin > LONGEST or not trial.take_pair(is_limited=False):
                break
            pairs += 1
            progress(f"{pairs} pairs")
            trial.judge()
        return trial.conclude() if trial.stage is Stage.COMPARING else ready
