"""Summarize outputs, and rank the classes of a classifier."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Trait
from nnapi.model.model import Model, Operand, OperationCall
from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY
from nnapi.ops.quantized_values import to_floats
from nnapi.ops.softmax import softmax
from nnapi.rewriting.dataflow import find_makers
from nnapi.vision.view import percent

TOP = 3
PROBABILITIES = {OperationCode.SOFTMAX, OperationCode.LOGISTIC}


@dataclass(frozen=True)
class Rank:
    """A class; ``share`` is its probability, computed by softmax if the model outputs ``score``."""

    index: int
    label: str | None
    share: float
    score: float | None = None

    @property
    def name(self) -> str:
        return f"class {self.index}" if self.label is None else self.label.split(",")[0]

    def __str__(self) -> str:
        if self.score is None:
            return f"{self.name} ({percent(self.share)})"
        return f"{self.name} (score {self.score:.3g}, {percent(self.share)} by softmax)"


@dataclass(frozen=True)
class Summary:
    """Minimum, maximum and mean of an output's float values, NaN if empty; ``top`` are the greatest with indices."""

    name: str
    type: str
    shape: tuple[int, ...]
    least: float
    greatest: float
    mean: float
    top: tuple[tuple[tuple[int, ...], float], ...] = ()

    def __str__(self) -> str:
        shape = "×".join(map(str, self.shape)) or "one"
        if np.prod(self.shape, dtype=int) == 1:
            return f"{self.name} is {self.mean:.4g}"
        return f"{self.name} has {shape} values from {self.least:.4g} to {self.greatest:.4g}, mean {self.mean:.4g}"


def output_operands(model: Model) -> list[Operand]:
    return [model.operands[index] for index in model.outputs]


def class_count(model: Model) -> int | None:
    """Return the number of classes; None if the model is not a classifier.

    A classifier has one output, [N] or [1, N] with N of at least 2, and no input of the same dimensions.
    """
    if len(model.outputs) != 1:
        return None
    dimensions = output_operands(model)[0].type.dimensions
    count = dimensions[-1] if dimensions and dimensions[:-1] in ((), (1,), (0,)) else 0
    copies = any(model.operands[index].type.dimensions == dimensions for index in model.inputs)
    return count if count >= 2 and not copies else None


def walk_back(model: Model, index: int) -> Iterator[tuple[int, OperationCall]]:
    """Yield (operand, operation that computes it), from an operand back along the first inputs."""
    writers = find_makers(model.operations)
    while call := writers.get(index):
        yield index, call
        index = call.inputs[0]


def find_producer(model: Model, output: int = 0) -> int | None:
    """Return the code of the operation that computes an output; skip operations that keep its elements in order."""
    for _, call in walk_back(model, model.outputs[output]):
        if call.code not in REGISTRY or not REGISTRY[call.code].does(Trait.RESTATES):
            return call.code
    return None


def rank_classes(model: Model, output: Array, labels: Sequence[str] | None, top: int) -> list[Rank]:
    values = to_floats(output_operands(model)[0].type, output).reshape(-1).astype(np.float64)
    code = find_producer(model)
    shares = values if code in PROBABILITIES else softmax(values, 1.0, -1)
    has_scores = code not in PROBABILITIES and code != OperationCode.LOG_SOFTMAX
    return [
        Rank(i, labels[i] if labels else None, float(shares[i]), float(values[i]) if has_scores else None)
        for i in np.argsort(-values, kind="stable")[:top].tolist()
    ]


def to_shares(model: Model, output: Array) -> Array:
    """Return probabilities (rows, classes) from the first output, whose last dimension is the classes."""
    values = to_floats(output_operands(model)[0].type, output).astype(np.float64)
    values = values.reshape(-1, values.shape[-1])
    return values if find_producer(model) in PROBABILITIES else softmax(values, 1.0, -1)


def summaries(model: Model, outputs: Sequence[Array]) -> list[Summary]:
    found = []
    for number, (operand, array) in enumerate(zip(output_operands(model), outputs, strict=True)):
        values = to_floats(operand.type, array)
        least, greatest, mean = np.nan, np.nan, np.nan
        if values.size:
            least, greatest, mean = float(values.min()), float(values.max()), float(values.mean(dtype=np.float64))
        name = operand.name or f"output {number}"
        found.append(Summary(name, operand.type.name, array.shape, least, greatest, mean, _top(values)))
    return found


def _top(values: Array) -> tuple[tuple[tuple[int, ...], float], ...]:
    flat = values.reshape(-1).astype(np.float64)
    if flat.size < 2:
        return ()
    best = np.argpartition(-flat, min(TOP, flat.size) - 1)[:TOP]
    ordered = best[np.argsort(-flat[best], kind="stable")]
    return tuple((tuple(map(int, np.unravel_index(i, values.shape))), float(flat[i])) for i in ordered.tolist())
