"""Measure what each operation of a quantized model loses against the float model that it was made from."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nnapi.compiling import compile
from nnapi.errors import BadDataError, need
from nnapi.model.graph import OperationCall
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.ops.quantized_values import quantize, same_quantization, to_floats
from nnapi.runtime.choice.judge import Distance, measure
from nnapi.runtime.device import Device
from nnapi.testing.divergence import as_example, run_each


@dataclass(frozen=True)
class Loss:
    """The loss of one operation of the quantized model, or of one output; None if the float model lacks its results.

    ``alone`` is the loss if its inputs are the float model's, quantized; ``whole`` is the loss in the quantized model.
    Both are the worst of all samples.
    """

    number: int
    operation: str
    results: tuple[str, ...]
    alone: Distance | None = None
    whole: Distance | None = None


@dataclass(frozen=True)
class ModelLoss:
    """The losses of all operations and outputs. If the output is a row of scores, ``agreeing`` samples have the same
    greatest score; None for other outputs."""

    operations: tuple[Loss, ...]
    outputs: tuple[Loss, ...]
    agreeing: int | None
    samples: int


def measure_loss(
    exact: Model,
    quantized: Model,
    samples: Iterable[Sequence[Array]],
    device: Device,
    progress: Callable[[OperationCall], None] = lambda call: None,
) -> ModelLoss:
    """Measure on ``samples``, the inputs of the float model ``exact``; results with equal names are compared."""
    _need_alike(exact, quantized)
    runs = _Runs(exact, quantized, device)
    operations = [Loss(call.number, call.name, _names(quantized, call.outputs)) for call in quantized.operations]
    outputs = [Loss(number, "output", _names(quantized, [i])) for number, i in enumerate(quantized.outputs)]
    count = agreeing = 0
    for sample in samples:
        right, found = runs.run_whole(sample)
        for number, call in enumerate(quantized.operations):
            operations[number] = _add(operations[number], whole=_measure(right, found, call.outputs))
        for number, index in enumerate(quantized.outputs):
            outputs[number] = _add(outputs[number], whole=_measure(right, found, [index]))
        for call, alone in runs.run_alone(sample, right):
            progress(call)
            operations[call.number] = _add(operations[call.number], alone=_measure(right, alone, call.outputs))
        count += 1
        agreeing += all(right[index].argmax() == found[index].argmax() for index in quantized.outputs)
    return ModelLoss(tuple(operations), tuple(outputs), agreeing if _is_row(exact) else None, count)


def convert_inputs(exact: Model, quantized: Model, sample: Sequence[Array]) -> list[Array]:
    """Return the inputs of the float model as the quantized model stores them."""
    types = ([model.operands[index].type for index in model.inputs] for model in (exact, quantized))
    return [
        array if given.code == own.code and same_quantization(given, own) else quantize(own, to_floats(given, array))
        for given, own, array in zip(*types, sample, strict=True)
    ]


class _Runs:
    """Runs both models; results are float arrays, by operand of the quantized model."""

    def __init__(self, exact: Model, quantized: Model, device: Device) -> None:
        self._exact, self._quantized, self._device = exact, quantized, device
        self._pairs = _pair_results(exact, quantized)
        self._types = [operand.type for operand in quantized.operands]

    def run_whole(self, sample: Sequence[Array]) -> tuple[dict[int, Array], dict[int, Array]]:
        """Return the float model's results and the quantized model's."""
        given = convert_inputs(self._exact, self._quantized, sample)
        right = self._keep(self._exact, sample, list(self._pairs.values()))
        found = self._keep(self._quantized, given, list(self._pairs))
        return dict(zip(self._pairs, right, strict=True)), dict(zip(self._pairs, found, strict=True))

    def _keep(self, model: Model, inputs: Sequence[Array], indices: Sequence[int]) -> list[Array]:
        results = compile(model, [self._device], threads=1).run(*inputs, keep=indices)[len(model.outputs) :]
        return [to_floats(model.operands[i].type, array) for i, array in zip(indices, results, strict=True)]

    def run_alone(
        self, sample: Sequence[Array], right: dict[int, Array]
    ) -> Iterator[tuple[OperationCall, dict[int, Array]]]:
        """Yield each operation of the quantized model with its results, if its inputs are those of the float model."""
        example = as_example(self._quantized, convert_inputs(self._exact, self._quantized, sample))
        known = {index: quantize(self._types[index], array) for index, array in right.items()}
        for call, part in run_each(example, self._quantized, self._device, known):
            results = zip(sorted(call.outputs), part.outputs.values(), strict=True)
            yield call, {index: to_floats(self._types[index], array) for index, array in results}


def _need_alike(exact: Model, quantized: Model) -> None:
    for side in ("inputs", "outputs"):
        shapes = [[model.operands[i].type.dimensions for i in getattr(model, side)] for model in (exact, quantized)]
        words = f"the {side} of {exact.name} have dimensions {shapes[0]}, those of {quantized.name} {shapes[1]}"
        need(
            shapes[0] == shapes[1],
            f"{words}: give the float model that the quantized model was made from",
            BadDataError,
        )


def _is_row(model: Model) -> bool:
    """Return whether the only output is one row of scores."""
    shapes = [model.operands[index].type.dimensions for index in model.outputs]
    return len(shapes) == 1 and len(shapes[0]) > 0 and shapes[0][-1] > 1 and max(shapes[0][:-1], default=1) <= 1


def _pair_results(exact: Model, quantized: Model) -> dict[int, int]:
    """Return the operand of the float model for each result of the quantized model that has an equal one: the outputs,
    and the float results of equal name and dimensions. Names that a model has twice are ambiguous."""
    named, own = _results_by_name(exact), _results_by_name(quantized)
    pairs = {
        own[name]: index
        for name, index in named.items()
        if name in own
        and exact.operands[index].type.dtype.kind == "f"
        and exact.operands[index].type.dimensions == quantized.operands[own[name]].type.dimensions
    }
    return pairs | dict(zip(quantized.outputs, exact.outputs, strict=True))


def _results_by_name(model: Model) -> dict[str, int]:
    results = [(model.operands[index].name, index) for call in model.operations for index in call.outputs]
    counts = Counter(name for name, _ in results)
    return {name: index for name, index in results if name and counts[name] == 1}


def _names(model: Model, indices: Iterable[int]) -> tuple[str, ...]:
    return tuple(model.operands[index].name or f"operand {index}" for index in indices)


def _measure(right: dict[int, Array], found: dict[int, Array], indices: Iterable[int]) -> Distance | None:
    pairs = [(0.0, 0, right[index], found[index]) for index in indices if index in right]
    return measure(pairs) if pairs else None


def _add(loss: Loss, alone: Distance | None = None, whole: Distance | None = None) -> Loss:
    return replace(loss, alone=_find_worse(loss.alone, alone), whole=_find_worse(loss.whole, whole))


def _find_worse(a: Distance | None, b: Distance | None) -> Distance | None:
    if a is None or b is None:
        return a or b
    decibels = [each.decibels for each in (a, b) if each.decibels is not None]
    return Distance(max(a.largest, b.largest), False, min(decibels, default=None))
