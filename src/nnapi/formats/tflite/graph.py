"""Tensors, operators and graphs of the engine.

Quantized activations are signed: 128 is subtracted from the values and zero point of unsigned tensors. Inputs and
outputs of the graph are converted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nnapi.model.operand import Array, Shape
from nnapi.rewriting.dataflow import select_needed

DTYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "i16": np.dtype(np.int16),
    "u8": np.dtype(np.uint8),
    "i8": np.dtype(np.int8),
    "bool": np.dtype(np.bool_),
    "c64": np.dtype(np.complex64),
}


@dataclass(eq=False, slots=True, weakref_slot=True)
class Tensor:
    """A tensor. ``scale`` is a float or, for filters, a float32 array along ``axis``; it is 0 if not quantized.

    ``data`` is the value of a constant. A variable is memory that its reader updates, such as a cell's state.
    """

    type: str
    shape: Shape
    scale: float | Array = 0.0
    zero_point: int = 0
    axis: int = 0
    data: Array | None = None
    name: str = ""
    is_variable: bool = False
    origin: int | None = None
    """The number of the model's operation that computes the tensor."""
    signature: Shape | None = None
    """The shape with -1 for dynamic dimensions; None if there are none. Only exporters set it."""
    write: Callable[[Array], None] | None = None
    """A function that writes a large constant into the file's memory; used instead of ``data``."""
    block_scales: Tensor | None = None
    """For weights of 4 bits, whose ``data`` is packed: a scale for each block of a row, as an intermediate of the
    operator."""

    @property
    def is_constant(self) -> bool:
        return self.data is not None or self.write is not None

    @property
    def value(self) -> Array:
        if self.data is None:
            raise TypeError(f"{self} is computed")
        return self.data

    @property
    def is_quantized(self) -> bool:
        return not isinstance(self.scale, float) or self.scale != 0

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def unit(self) -> float:
        assert isinstance(self.scale, float)
        return self.scale

    def same_quantization(self, other: Tensor) -> bool:
        return self.type == other.type and self.scale == other.scale and self.zero_point == other.zero_point

    def like(
        self,
        *,
        type: str | None = None,
        shape: Shape | None = None,
        scale: float | Array | None = None,
        zero_point: int | None = None,
        axis: int | None = None,
        data: Array | None = None,
        is_variable: bool = False,
    ) -> Tensor:
        """Return a tensor with changed attributes; it is computed unless ``data`` is given."""
        return Tensor(
            self.type if type is None else type,
            self.shape if shape is None else shape,
            self.scale if scale is None else scale,
            self.zero_point if zero_point is None else zero_point,
            self.axis if axis is None else axis,
            data,
            self.name,
            is_variable,
            self.origin,
        )

    def __str__(self) -> str:
        return f"{self.name or 'a tensor'} ({self.type}{list(self.shape)})"


@dataclass(eq=False, slots=True)
class Operator:
    """One operator; ``kind`` is its name in the schema. An omitted input is None.

    ``intermediates`` are tensors that only carry the scales of values inside the operator.
    """

    kind: str
    inputs: list[Tensor | None]
    outputs: list[Tensor]
    options: dict[str, Any] = field(default_factory=dict)
    intermediates: list[Tensor] = field(default_factory=list)

    def input(self, position: int) -> Tensor:
        tensor = self.inputs[position]
        if tensor is None:
            raise TypeError(f"{self.kind} has no input {position}")
        return tensor

    @property
    def output(self) -> Tensor:
        return self.outputs[0]

    @property
    def tensors(self) -> list[Tensor]:
        return [tensor for tensor in (*self.inputs, *self.outputs) if tensor is not None]

    def like(self, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor] | None = None) -> Operator:
        outputs = self.outputs if outputs is None else list(outputs)
        return Operator(self.kind, list(inputs), outputs, self.options, self.intermediates)


@dataclass(eq=False, slots=True)
class Graph:
    """Operators in topological order, inputs and outputs.

    ``flipped`` tells, for each input and then each output, whether it is unsigned in the model but signed here.
    """

    operators: list[Operator] = field(default_factory=list)
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    flipped: tuple[bool, ...] = ()
    name: str = ""
    subgraphs: list[Graph] = field(default_factory=list)
    """The graphs to which the operators of control flow refer, from index 1 on."""
    turns: tuple[int, ...] = ()
    """Of each loop that counts its turns, how many it may take at first; these are the last inputs and outputs."""
    spared: int = 0
    """MACs that its convolutions need less than direct ones."""

    @property
    def inputs_and_outputs(self) -> list[Tensor]:
        return [*self.inputs, *self.outputs]

    def with_operators(self, operators: list[Operator]) -> Graph:
        return replace(self, operators=operators)

    def rewrite(self, replace: Callable[[Operator], Sequence[Operator] | None]) -> Graph:
        """Return the graph with operators replaced; those for which ``replace`` returns None stay."""
        made = ((old, replace(old)) for old in self.operators)
        return self.with_operators([new for old, found in made for new in ([old] if found is None else found)])

    def tensors(self) -> list[Tensor]:
        """Return each tensor once: inputs first, others in the order of the operators."""
        named: list[Tensor | None] = [*self.inputs]
        for operator in self.operators:
            named += operator.inputs
            named += operator.outputs
            named += operator.intermediates
        return [tensor for tensor in dict.fromkeys(named) if tensor is not None]


def remove_dead_operators(graph: Graph) -> Graph:
    """Return the graph without operators whose results are unused."""
    return graph.with_operators(select_needed(graph.operators, graph.outputs))


def constant(values: Any, type: str = "i32", name: str = "") -> Tensor:
    array = np.array(values, DTYPES[type])
    return Tensor(type, array.shape, data=array, name=name)
