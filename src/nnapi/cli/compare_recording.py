"""A model beside a recording of NNAPI_RECORD."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nnapi
from nnapi.errors import Mistake
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, combine
from nnapi.runtime.choice.judge import Distance
from nnapi.testing.compare import judge
from nnapi.testing.corpus import Corpus
from nnapi.testing.divergence import measure_outputs
from nnapi.testing.example import Example, OperandSpec

SUFFIX = ".npz"


@dataclass(frozen=True)
class RecordedRun:
    """One run of a recording: the distance of this model's outputs, and the first value out of tolerance or ""."""

    name: str
    distance: Distance
    reason: str


def compare_recording(model: Model, recording: Path, on: nnapi.Device) -> list[RecordedRun]:
    """Compare with all runs that have the model's input and output types; Mistake if there are none."""
    fitting = [each for each in Corpus(recording).examples() if each.harness.generated and _fits(model, each)]
    if not fitting:
        raise Mistake(f"{recording.name} has no run with the inputs and outputs of {model.name}")
    compilation = nnapi.compile(model, on)
    compared = []
    for example in fitting:
        found = compilation.run(*(example.inputs[index] for index in example.main.inputs))
        right = [example.outputs[index] for index in example.main.outputs]
        reason = str(judge(example, found) or "")
        compared.append(RecordedRun(example.name, measure_outputs(model, right, found), reason))
    return compared


def _fits(model: Model, example: Example) -> bool:
    """Return whether both have the same input and output types; unspecified dimensions match any."""
    values = {**example.outputs, **example.inputs}
    sides = ((model.inputs, example.main.inputs), (model.outputs, example.main.outputs))
    return all(
        len(ours) == len(theirs)
        and all(
            _is_like(model.operands[own].type, example.main.operands[other], values.get(other))
            for own, other in zip(ours, theirs, strict=True)
        )
        for ours, theirs in sides
    )


def _is_like(type: OperandType, spec: OperandSpec, value: Array | None) -> bool:
    if value is None or type.name != spec.type or combine(type.dimensions, value.shape) is None:
        return False
    return not type.is_quantized or (type.scale, type.zero_point) == (spec.scale, spec.zero_point)
