"""Find the first operation whose result differs between two devices that get the same inputs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

import numpy as np

from nnapi.compiling import compile
from nnapi.errors import NnapiError
from nnapi.model.graph import OperationCall
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.choice.judge import Distance, measure
from nnapi.runtime.device import Device, device
from nnapi.runtime.verdicts.verdicts import need_verdicts
from nnapi.testing.build import build, run_example
from nnapi.testing.example import Example, OperandSource, OperandSpec, with_tolerance
from nnapi.testing.random.graphs import UNSURE
from nnapi.testing.random.judging import REFERENCE, Outcome, judge_outputs
from nnapi.testing.random.subgraphs import CONSTANTS, keep_operations
from nnapi.testing.record import example_of

Values = dict[int, Array | None]


class Closeness(StrEnum):
    SAME = "same"
    NEAR = "within tolerance"
    DIFFERS = "differs"
    UNJUDGED = "not judged"
    """Finite floats differ, but inputs or outputs contain NaN or infinity, for which NNAPI defines no result."""
    REFUSED = "refused"
    FAILED = "failed"
    """The device claims support for the operation, but fails to run it."""


@dataclass(frozen=True)
class Step:
    """One operation. ``alone`` is its difference on equal inputs; ``grown`` is the difference in the whole model."""

    number: int
    operation: str
    results: tuple[str, ...]
    verdict: Closeness
    reason: str
    alone: Distance | None
    grown: Distance | None = None


@dataclass(frozen=True)
class Divergence:
    """The operations in run order. ``failure`` is the reason why the whole model does not run, or ""."""

    steps: tuple[Step, ...]
    failure: str = ""

    @property
    def first(self) -> Step | None:
        return next((step for step in self.steps if step.verdict is Closeness.DIFFERS), None)

    @property
    def is_complete(self) -> bool:
        """Return whether every operation that the device claims ran and was compared."""
        return not self.failure and not any(
            step.verdict in (Closeness.UNJUDGED, Closeness.FAILED) for step in self.steps
        )


def find_divergence(
    model: Model,
    inputs: Sequence[Array | None],
    tried: Device,
    base: Device | None = None,
    progress: Callable[[OperationCall], None] = lambda call: None,
) -> Divergence:
    """Compare each operation on ``tried`` with ``base`` (by default the reference); call ``progress`` before each."""
    example = as_example(model, inputs)
    values: Values = {}
    steps = []
    for call, part in run_each(example, model, base or device(REFERENCE)):
        progress(call)
        indices = sorted(call.outputs)
        found = dict(zip(indices, part.outputs.values(), strict=True))
        values |= found
        verdict, reason, outputs = _try(part, tried)
        names = tuple(model.operands[index].name or f"operand {index}" for index in call.outputs)
        pairs = [(example.main.operands[i], found[i], each) for i, each in zip(indices, outputs, strict=False)]
        alone = _measure(pairs) if pairs else None
        if verdict is Closeness.NEAR and alone:
            given = [array for array in (*part.inputs.values(), *found.values()) if array is not None]
            is_beyond = any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in given)
            verdict = Closeness.SAME if not alone.largest else Closeness.UNJUDGED if is_beyond else verdict
            if unlike := _find_unlike(pairs):
                verdict, reason = Closeness.DIFFERS, unlike
        steps.append(Step(call.number, call.name, names, verdict, reason, alone))
    kept, failure = _run_whole(model, inputs, tried, any(step.verdict is Closeness.REFUSED for step in steps))
    for number, call in enumerate(model.operations):
        if all(i in kept for i in call.outputs):
            grown = _measure([(example.main.operands[i], values[i], kept[i]) for i in call.outputs])
            steps[number] = replace(steps[number], grown=grown)
    return Divergence(tuple(steps), failure)


def each_alone(model: Model, inputs: Sequence[Array | None]) -> Iterator[tuple[OperationCall, Example]]:
    """Yield each operation of a finished model, with an example of it alone on the reference's intermediate results."""
    return run_each(as_example(model, inputs), model, device(REFERENCE))


def run_each(
    example: Example, model: Model, base: Device, known: Mapping[int, Array] = MappingProxyType({})
) -> Iterator[tuple[OperationCall, Example]]:
    """Yield each operation with an example of it alone. Its inputs are the ``known`` values, else the results of the
    operations before it."""
    values: Values = {index: operand.data for index, operand in enumerate(example.main.operands)}
    values |= example.inputs
    for position, call in enumerate(model.operations):
        part = _with_input(keep_operations(example, [position], values))
        found = run_example(part, base)
        values |= {i: known.get(i, array) for i, array in zip(sorted(call.outputs), found, strict=True)}
        yield call, replace(part, outputs=dict(zip(part.main.outputs, found, strict=True)))


def _with_input(part: Example) -> Example:
    """Return the example; if it has no input, make its first constant tensor one, as a model needs an input."""
    if part.main.inputs:
        return part
    operands = part.main.operands
    index = next(i for i, o in enumerate(operands) if o.lifetime in CONSTANTS and o.dimensions)
    part = part.with_operands({index: replace(operands[index], lifetime=OperandSource.SUBGRAPH_INPUT, data=None)})
    return replace(part, main=replace(part.main, inputs=(index,)), inputs={index: operands[index].data})


def measure_outputs(model: Model, right: Sequence[Array], found: Sequence[Array]) -> Distance:
    """Return the distance between a model's outputs ``found`` and the expected outputs ``right``."""
    operands = example_of(model, model.name, {}, {}).main.operands
    return _measure([(operands[i], a, b) for i, a, b in zip(model.outputs, right, found, strict=True)])


def as_example(model: Model, inputs: Sequence[Array | None]) -> Example:
    """Return the model as an example with the tolerance of its precision. Random outputs are ignored."""
    example = with_tolerance(example_of(model, model.name, dict(zip(model.inputs, inputs, strict=True)), {}))
    operands = example.main.operands
    drawn = [i for call in model.operations if call.name in UNSURE for i in call.outputs]
    return example.with_operands({i: replace(operands[i], is_ignored=True) for i in drawn})


def _try(part: Example, tried: Device) -> tuple[Closeness, str, list[Array]]:
    """Run one operation on a device; return the verdict, its reason and the results."""
    model = build(part)
    (answer,) = need_verdicts(tried.driver, model)
    if not answer.supported:
        return Closeness.REFUSED, answer.reason, []
    try:
        outputs = run_example(part, tried)
    except NnapiError as error:
        return Closeness.FAILED, str(error), []
    judgement = judge_outputs(part, tried, dict(zip(part.main.outputs, outputs, strict=True)))
    is_wrong = judgement.outcome is Outcome.FAILED
    return Closeness.DIFFERS if is_wrong else Closeness.NEAR, judgement.reason, outputs


def _find_unlike(pairs: Sequence[tuple[OperandSpec, Array | None, Array]]) -> str:
    """Describe the first NaN or infinity that only one of two results has; "" if there is none."""
    for operand, right, found in pairs:
        if right is None or right.dtype.kind != "f" or right.shape != found.shape or operand.is_ignored:
            continue
        both = np.isfinite(right) & np.isfinite(found)
        unlike = ~(both | (right == found) | (np.isnan(right) & np.isnan(found)))
        if unlike.any():
            index = tuple(np.argwhere(unlike)[0].tolist())
            where = list(index) or ""
            count = f"{int(unlike.sum())} of {unlike.size}"
            return f"{operand.name or operand.type}{where} is {found[index]}, expected {right[index]}; {count} differ"
    return ""


def _run_whole(
    model: Model, inputs: Sequence[Array | None], tried: Device, is_helped: bool
) -> tuple[dict[int, Array], str]:
    """Run the whole model, ``is_helped`` by the reference for refused operations. Return all results and an error."""
    helpers = [device(REFERENCE)] if is_helped and tried.name != REFERENCE else []
    wanted = [index for call in model.operations for index in call.outputs]
    try:
        compilation = compile(model, [tried, *helpers], threads=1)
        if tried not in compilation.devices:
            return {}, ""
        kept = compilation.run(*inputs, keep=wanted)[len(model.outputs) :]
    except NnapiError as error:
        return {}, str(error)
    return dict(zip(wanted, kept, strict=True)), ""


def _measure(pairs: Sequence[tuple[OperandSpec, Array | None, Array]]) -> Distance:
    return measure((operand.scale or 0.0, operand.zero_point, right, found) for operand, right, found in pairs)
