"""A model beside a recording, as NNAPI_RECORD writes them: what came out elsewhere of the same inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nnapi
from nnapi.errors import Mistake
from nnapi.model.model import Model
from nnapi.runtime.choice.judge import Distance
from nnapi.testing.compare import judge
from nnapi.testing.corpus import Corpus, CorpusError
from nnapi.testing.divergence import measure_outputs
from nnapi.testing.example import Example

SUFFIX = ".npz"


@dataclass(frozen=True)
class RecordedRun:
    """One run of the recording: how far this model's outputs are from those, and the first place beyond the tolerance
    of the recording, "" where there is none."""

    name: str
    distance: Distance
    reason: str


def compare_recording(model: Model, recording: Path, on: nnapi.Device) -> list[RecordedRun]:
    """All runs whose inputs and outputs are of the model's types; a Mistake where there are none."""
    try:
        examples = [each for each in Corpus(recording).examples() if each.harness.generated]
    except CorpusError as error:
        raise Mistake(str(error)) from None
    fitting = [each for each in examples if _fits(model, each)]
    if not fitting:
        raise Mistake(f"{recording.name} has no run with the inputs and outputs of {model.name}")
    compilation = nnapi.compile(model, on)
    return [_compare(model, compilation, each) for each in fitting]


def _compare(model: Model, compilation: nnapi.Compilation, example: Example) -> RecordedRun:
    found = compilation.run(*(example.inputs[index] for index in example.main.inputs))
    right = [example.outputs[index] for index in example.main.outputs]
    difference = judge(example, found)
    return RecordedRun(example.name, measure_outputs(model, right, found), str(difference or ""))


def _fits(model: Model, example: Example) -> bool:
    """Whether both take and give the same types; dimensions that are open on one side may be any."""
    sides: list[tuple[Sequence[int], Sequence[int]]] = [
        (model.inputs, example.main.inputs),
        (model.outputs, example.main.outputs),
    ]
    for ours, theirs in sides:
        if len(ours) != len(theirs):
            return False
        for own, other in zip(ours, theirs, strict=True):
            type, spec = model.operands[own].type, example.main.operands[other]
            quantized = (spec.scale, spec.zero_point) if type.is_quantized else (type.scale, type.zero_point)
            if type.name != spec.type or (type.scale, type.zero_point) != quantized:
                return False
            value = (example.inputs if other in example.inputs else example.outputs).get(other)
            if value is None or len(value.shape) != type.rank:
                return False
            if any(size not in (0, found) for size, found in zip(type.dimensions, value.shape, strict=True)):
                return False
    return True
