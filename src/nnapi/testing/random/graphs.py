"""Draw random graphs: call by call, on results of earlier calls."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import NnapiError
from nnapi.model.facts import Trait
from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY, Operation
from nnapi.testing.example import (
    Example,
    ExampleGraph,
    OperandSource,
    OperandSpec,
    OperationSpec,
    find_operands,
    with_tolerance,
    with_unknown_dimensions,
)
from nnapi.testing.random.calls import NoCall, is_control_flow, random_call
from nnapi.testing.random.operation_sets import find_operations
from nnapi.testing.random.subgraphs import renumber
from nnapi.testing.random.values import pick

GRAPHS = 0.4
MASKED = 0.06
OPEN = 0.08
LONGEST = (2, 2, 3, 3, 4, 5, 8, 13, 20)
TRIES = 12
"""Draws for each call to add; if none fits, the call is left out."""
LAST = 0.6
"""Probability that a call reads the previous result."""
CONVERTED = 0.06
"""Share of graphs that begin with a DEQUANTIZE and a function whose result shows whether 0 stays exact."""
AT_ZERO = frozenset({"LOG", "RSQRT", "SQRT"})
"""Functions whose domain ends at 0: near 0 their results change fast or become NaN."""
UNSURE = find_operations(Trait.DRAWS)
"""Operations whose results may differ between two correct devices."""
CALLABLE = tuple(sorted(REGISTRY.values(), key=lambda operation: operation.name))
JOINABLE = tuple(each for each in CALLABLE if not is_control_flow(each) and each.name not in UNSURE)
VIEWS = tuple(each for each in JOINABLE if each.name in ("EXPAND_DIMS", "RESHAPE", "SQUEEZE"))
"""Operations whose result an engine may leave in the memory of the input."""
DEQUANTIZE, QUANTIZE = REGISTRY[OperationCode.DEQUANTIZE], REGISTRY[OperationCode.QUANTIZE]
IMAGES = tuple(
    each for each in JOINABLE if any(slot.name == "layout" for call in each.overloads for slot in call.inputs)
)
"""Operations whose images may be NCHW; in models with quantized values, engines compute these differently."""
BETWEEN = [REGISTRY[OperationCode[name]] for name in ("ADD", "MUL", *["PAD"] * 5, "PAD_V2", "RELU")]
WINDOWS = [
    REGISTRY[OperationCode[name]]
    for name in (*["CONV_2D"] * 6, "DEPTHWISE_CONV_2D", "GROUPED_CONV_2D", "TRANSPOSE_CONV_2D", "MAX_POOL_2D")
]
"""Operations of a chain: windows that slide over images, and operations that engines fuse into them."""
FUSED, POINTS, SPATIAL = 0.6, 0.5, 0.9
"""Shares of windows with an operation before them, of windows of 1 × 1, and of paddings of rows and columns only."""
LIKE_NETWORKS = 0.8
CHOICES = 6
"""Draws of the first call, of which one with floats is taken: there are more types with quantized values."""
LAYERS = (2, 2, 3, 3, 4)
VIEWED = 0.2
"""Share of the graphs with an output that is a view of a value that other operations read."""
PAIRED = 4
"""Every fourth example is an operation and several that read its result; all pairs of operations take turns."""
READERS = 5
"""The number of operations that read the result in one turn, if they fit."""
READS = 3
SHOWN = 0.7
"""Probability that a view of the result is an output too."""
PAIR_TRIES = 40
QUANTIZED = 0.3
"""Share that begins with a DEQUANTIZE, and share with a QUANTIZE as reader; engines compute such floats differently."""


def random_example(rng: np.random.Generator, special: float = 0.0, only: tuple[Operation, ...] = ()) -> Example:
    """Draw a single operation or a graph; ``only`` narrows the operations. Raises NoCall."""
    operations = only or CALLABLE
    if rng.random() < GRAPHS:
        example = random_graph(rng, pick(rng, LONGEST), special, operations)
    else:
        example = random_single(rng, special, operations)
    return _vary(example, rng)


def _vary(example: Example, rng: np.random.Generator) -> Example:
    """Sometimes mask rows of the inputs, or leave their dimensions unspecified."""
    if rng.random() < MASKED:
        example = with_masked_rows(example, rng)
    return with_unknown_dimensions(example) if rng.random() < OPEN and not example.referenced else example


def with_masked_rows(example: Example, rng: np.random.Generator) -> Example:
    """Return the example with rows, columns or blocks of float inputs set to an infinity, mostly -∞, like a mask."""
    return replace(example, inputs={index: _mask(array, rng) for index, array in example.inputs.items()})


def _mask(array: Array | None, rng: np.random.Generator) -> Array | None:
    if array is None or array.dtype.kind != "f" or not array.ndim:
        return array
    blocks = [1 if rng.random() < 0.5 else dimension for dimension in array.shape]  # 1: the whole dimension
    filler = array.dtype.type(pick(rng, (-np.inf, -np.inf, np.inf)))
    return np.where(rng.random(blocks) < 0.4, filler, array)


def find_readers(turn: int) -> tuple[Operation, tuple[Operation, ...]]:
    """Return an operation and readers of its result. All turns together cover each pair of operations."""
    count = len(JOINABLE)
    position = turn % count
    start = turn // count * READERS + position
    return JOINABLE[position], tuple(JOINABLE[(start + offset) % count] for offset in range(READERS))


def find_image_readers(turn: int) -> tuple[Operation, tuple[Operation, ...]]:
    """Return an operation, and readers of its result: the operations on images, and a QUANTIZE."""
    return JOINABLE[turn % len(JOINABLE)], (*IMAGES, QUANTIZE)


def random_readers(
    rng: np.random.Generator, first: Operation, readers: Sequence[Operation], special: float = 0.0
) -> Example:
    """Draw an operation and readers of its result, mostly with a view of the result as an output. Raises NoCall."""
    chain = (DEQUANTIZE, first) if rng.random() < QUANTIZED else (first,)
    readers = (*readers, QUANTIZE) if rng.random() < QUANTIZED else readers
    for _ in range(PAIR_TRIES):
        grown = _Grown(rng, special)
        if grown.begin(chain) and grown.read_last(readers):
            return _vary(_relax(grown.finish(), rng), rng)
    raise NoCall(f"none of {PAIR_TRIES} results of {first.name} is taken by {', '.join(each.name for each in readers)}")


def random_image_chain(rng: np.random.Generator, special: float = 0.0) -> Example:
    """Draw a chain as in a network: windows over images, with other operations between. Raises NoCall.

    Mostly it has one layout, constants for all other operands, and no outputs on the way, which prevent fusion.
    """
    constants = 1.0 if rng.random() < LIKE_NETWORKS else 0.5
    shares = {"points": POINTS, "spatial": SPATIAL, "constants": constants, "nchw": pick(rng, (0.0, 0.0, 1.0, 0.3))}
    grown = _Grown(rng, special, **shares)
    calls = [grown.call(pick(rng, WINDOWS)) for _ in range(CHOICES)]
    grown.add(next((each for each in calls if each.main.operands[0].type == "TENSOR_FLOAT32"), calls[0]))
    for _ in range(pick(rng, LAYERS)):
        if rng.random() < FUSED:
            grown.read_last_value(pick(rng, BETWEEN))
        grown.read_last_value(pick(rng, WINDOWS))
    return _relax(grown.finish(shown=0.0 if rng.random() < LIKE_NETWORKS else 0.3), rng)


def random_single(rng: np.random.Generator, special: float, operations: tuple[Operation, ...]) -> Example:
    operation = _pick_operation(rng, operations)
    example = random_call(operation, rng, special=special)
    if operation.name in UNSURE:
        operands = example.main.operands
        example = example.with_operands({i: replace(operands[i], is_ignored=True) for i in example.main.outputs})
    return _relax(example, rng)


def _pick_operation(rng: np.random.Generator, operations: tuple[Operation, ...]) -> Operation:
    """Draw an operation; those with more parameters or fused activations are more probable."""
    longest = np.array([max(len(overload.inputs) for overload in operation.overloads) for operation in operations])
    fused = [any(overload.fuses for overload in operation.overloads) for operation in operations]
    weights = (8.0 + np.minimum(13, longest)) * np.where(fused, 3, 1)
    return operations[int(rng.choice(len(operations), p=weights / weights.sum()))]


def _relax(example: Example, rng: np.random.Generator) -> Example:
    return with_tolerance(replace(example, relaxed=rng.random() < 0.05))


def random_graph(
    rng: np.random.Generator, count: int, special: float = 0.0, operations: tuple[Operation, ...] = CALLABLE
) -> Example:
    """Draw a graph of up to ``count`` calls. Raises NoCall if not even the first one fits."""
    usable = tuple(each for each in operations if each in JOINABLE)
    if not usable:
        raise NoCall("graphs do not contain operations that refer to other models")
    grown = _Grown(rng, special)
    bent = [each for each in usable if each.name in AT_ZERO]
    if DEQUANTIZE in usable and bent and rng.random() < CONVERTED:
        grown.add(grown.call(DEQUANTIZE))
        grown.extend(pick(rng, bent))
    else:
        grown.add(grown.call(_pick_operation(rng, usable)))
    while len(grown.calls) < count:
        for _ in range(TRIES):
            if grown.extend(_pick_operation(rng, usable) if rng.random() < 0.5 else pick(rng, usable)):
                break
        else:
            break
    if rng.random() < VIEWED:
        grown.show_view()
    return _relax(grown.finish(), rng)


class _Grown:
    """A growing graph. Operands are named by their indices."""

    def __init__(self, rng: np.random.Generator, special: float, **shares: float) -> None:
        """``special`` and ``shares`` are those of :func:`random_call`."""
        self.rng = rng
        self._shares: dict[str, Any] = {"special": special, **shares}
        self.operands: list[OperandSpec] = []
        self.inputs: dict[int, np.ndarray] = {}
        self.calls: list[OperationSpec] = []

    def _values(self) -> list[OperandSpec]:
        """List the tensors that a call may read, the last results first."""
        lifetimes = (OperandSource.TEMPORARY_VARIABLE, OperandSource.SUBGRAPH_INPUT)
        usable = [o for o in self.operands if o.lifetime in lifetimes and o.type.startswith("TENSOR")]
        return [o for o in reversed(usable) if o.dimensions and 0 not in o.dimensions and not o.is_ignored]

    def call(self, operation: Operation) -> Example:
        """Draw a call that reads no value of the graph. Raises NoCall."""
        return random_call(operation, self.rng, **self._shares)

    def extend(self, operation: Operation) -> bool:
        """Try one draw of a call that reads a value of the graph; return whether it fits and was added."""
        values = self._values()
        if not values:
            return False
        return self._read(operation, values[0] if self.rng.random() < LAST else pick(self.rng, values))

    def _read(self, operation: Operation, first: OperandSpec) -> bool:
        """Try one draw of a call whose first tensor is ``first``; return whether it fits and was added."""
        others = [value for value in self._values() if value is not first]
        try:
            self.add(random_call(operation, self.rng, 1, given=[first, *others], **self._shares))
        except (NnapiError, NoCall):
            return False
        return True

    def read_last_value(self, operation: Operation) -> bool:
        """Try a few draws of a call that reads the last result; return whether one fits and was added."""
        return any(self._read(operation, value) for value in self._values()[:1] for _ in range(TRIES))

    def begin(self, operations: Sequence[Operation]) -> bool:
        """Add a chain of calls; return whether all draws fit."""
        first, *others = operations
        try:
            self.add(self.call(first))
        except NoCall:
            return False
        return all(self._read(operation, self._values()[0]) for operation in others)

    def read_last(self, operations: Sequence[Operation]) -> bool:
        """Add readers of one result of the last call; return whether any of them fits."""
        results = [value for value in self._values() if int(value.name[1:]) in self.calls[-1].outputs]
        if not results:
            return False
        shared = pick(self.rng, results)
        fitting = [each for each in operations if any(self._read(each, shared) for _ in range(READS))]
        if fitting and self.rng.random() < SHOWN:
            self._view(shared)
        return bool(fitting)

    def show_view(self) -> None:
        """Add a view of a value that a call reads; the view is unread, so it becomes an output."""
        read = {i for call in self.calls for i in call.inputs}
        shared = [value for value in self._values() if int(value.name[1:]) in read]
        if shared:
            self._view(pick(self.rng, shared))

    def _view(self, shared: OperandSpec) -> bool:
        return any(self._read(pick(self.rng, VIEWS), shared) for _ in range(TRIES))

    def add(self, example: Example) -> None:
        """Add the call of an example; operands named ``#INDEX`` are in the graph already."""
        position = {}
        for index, operand in enumerate(example.main.operands):
            if operand.name.startswith("#"):
                position[index] = int(operand.name[1:])
                continue
            position[index] = len(self.operands)
            lifetime = OperandSource.TEMPORARY_VARIABLE if index in example.main.outputs else operand.lifetime
            self.operands.append(replace(operand, name=f"#{len(self.operands)}", lifetime=lifetime))
            if operand.lifetime == OperandSource.SUBGRAPH_INPUT:
                self.inputs[position[index]] = example.inputs[index]  # type: ignore[assignment]  # no input of this lifetime is omitted
        self.calls += [renumber(call, position) for call in example.main.operations]

    def finish(self, shown: float | None = None) -> Example:
        """Return the example. Unread results are outputs; the share ``shown`` of the others too, drawn by default."""
        read = {i for call in self.calls for i in call.inputs}
        written = [i for call in self.calls for i in call.outputs]
        shown = pick(self.rng, (0.0, 0.3, 1.0)) if shown is None else shown
        outputs = [i for i in written if i not in read or self.rng.random() < shown]
        unknown = self.rng.random() < 0.1
        operands = []
        for index, operand in enumerate(self.operands):
            if index in outputs:
                operand = replace(operand, lifetime=OperandSource.SUBGRAPH_OUTPUT)
            elif index in written and unknown:
                operand = replace(operand, dimensions=(0,) * len(operand.dimensions))
            operands.append(operand)
        inputs = find_operands(operands, OperandSource.SUBGRAPH_INPUT)
        graph = ExampleGraph(tuple(operands), tuple(self.calls), inputs, tuple(outputs))
        return Example("random_graph", graph, dict(self.inputs), {}, high_ranks=True)
