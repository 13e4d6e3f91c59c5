"""Examples: a model, its inputs and the expected outputs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from nnapi.codes import OperandCode
from nnapi.model.operand import Array, ChannelQuantization, OperandType, Shape

LEVELS = {"V1_0": 1, "V1_1": 2, "V1_2": 3, "V1_3": 4, "AIDL_V1": 5, "AIDL_V2": 6, "AIDL_V3": 7, "AIDL_V4": 8}
"""Feature level of each version that ``min_feature`` and the folders name."""


class OperandSource(StrEnum):
    TEMPORARY_VARIABLE = "TEMPORARY_VARIABLE"
    SUBGRAPH_INPUT = "SUBGRAPH_INPUT"
    SUBGRAPH_OUTPUT = "SUBGRAPH_OUTPUT"
    CONSTANT_COPY = "CONSTANT_COPY"
    CONSTANT_REFERENCE = "CONSTANT_REFERENCE"
    NO_VALUE = "NO_VALUE"
    SUBGRAPH = "SUBGRAPH"


@dataclass(frozen=True)
class ChannelSpec:
    """Scales along a dimension. ``hide`` marks scales that were used to compute data but are not passed to the API."""

    channel_dim: int
    scales: tuple[float, ...]
    hide: bool = False


@dataclass(frozen=True, eq=False)
class OperandSpec:
    """One operand. ``dimensions`` are those passed to the API; 0 is an unspecified dimension."""

    type: str
    dimensions: Shape = ()
    scale: float = 0.0
    zero_point: int = 0
    lifetime: OperandSource = OperandSource.TEMPORARY_VARIABLE
    data: Array | None = None
    subgraph: int | None = None
    channel_quant: ChannelSpec | None = None
    is_ignored: bool = False
    name: str = ""

    @property
    def code(self) -> OperandCode:
        return OperandCode.MODEL if self.type == "SUBGRAPH" else OperandCode[self.type]

    @property
    def operand_type(self) -> OperandType:
        """Return the argument of add_operand; per-channel scales are set by a separate call."""
        return OperandType(self.code, self.dimensions, self.scale, self.zero_point)

    @property
    def full_type(self) -> OperandType:
        quant = self.channel_quant
        channel = ChannelQuantization(quant.channel_dim, quant.scales) if quant else None
        return self.operand_type.replace(channel=channel)


@dataclass(frozen=True)
class OperationSpec:
    type: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ExampleGraph:
    """A model: operands, operations in run order, inputs and outputs."""

    operands: tuple[OperandSpec, ...]
    operations: tuple[OperationSpec, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    name: str | None = None
    empty_tensors: bool = False
    """Whether operations take tensors without elements, as in models of files."""


def find_operands(operands: Sequence[OperandSpec], lifetime: OperandSource) -> tuple[int, ...]:
    return tuple(index for index, operand in enumerate(operands) if operand.lifetime == lifetime)


@dataclass(frozen=True)
class Criterion:
    """The float tolerance (``fp32`` or ``fp16``), and the permitted quantization steps of 8-bit values."""

    float: str = "fp32"
    quant8_atol: int = 1


@dataclass(frozen=True)
class Harness:
    generated: bool = True
    dynamic_output_shape: bool = False
    validation: bool = False
    infinite_loop_timeout: bool = False
    quantization_coupling: bool = False
    device_memory: bool = False
    fenced: bool = False
    compliance: bool = False


@dataclass(frozen=True, eq=False)
class Example:
    """A model with inputs (None if omitted) and expected outputs, by operand index of ``main``.

    Arrays are read-only and have exactly the operand's shape. ``file`` is relative to the corpus.
    """

    name: str
    main: ExampleGraph
    inputs: Mapping[int, Array | None]
    outputs: Mapping[int, Array]
    referenced: tuple[ExampleGraph, ...] = ()
    spec: str = ""
    min_feature: str = "UNKNOWN"
    relaxed: bool = False
    expect_failure: bool = False
    multinomial_tolerance: float = 0.0
    tolerance: Criterion = Criterion()
    harness: Harness = Harness()
    file: str = ""
    high_ranks: bool = False
    """Whether operations may have ranks beyond NNAPI's."""

    @property
    def graphs(self) -> tuple[ExampleGraph, ...]:
        return (self.main, *self.referenced)

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(sorted({operation.type for graph in self.graphs for operation in graph.operations}))

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(sorted({operand.type for graph in self.graphs for operand in graph.operands}))

    @property
    def input_type(self) -> str:
        """Return the type of the last operation's first tensor, or of its first input if it has none. In examples with
        several operations, the last one is tested."""
        types = [self.main.operands[index].type for index in self.main.operations[-1].inputs]
        return next((type for type in types if type.startswith("TENSOR_")), types[0])

    @property
    def level(self) -> int | None:
        """Return the feature level of the stated version, or of the folder; None if neither states one."""
        folder = Path(self.file).parent.name.removesuffix("_cts_only")
        return LEVELS.get(self.min_feature, LEVELS.get(folder))

    @property
    def output_buffer_bytes(self) -> tuple[int, ...]:
        """Return the buffer length of each model output in bytes: that of the expected data, at least 1."""
        return tuple(max(1, self.outputs[index].nbytes) for index in self.main.outputs)

    def with_operands(self, others: Mapping[int, OperandSpec]) -> "Example":
        """Return the example with other operands of ``main`` at these indices."""
        operands = tuple(others.get(index, operand) for index, operand in enumerate(self.main.operands))
        return replace(self, main=replace(self.main, operands=operands))

    def with_dimensions(self, shapes: Mapping[int, Shape]) -> "Example":
        """Return the example with other dimensions of the operands of ``main`` at these indices."""
        operands = self.main.operands
        return self.with_operands({i: replace(operands[i], dimensions=shape) for i, shape in shapes.items()})


def with_expected(example: Example, results: Mapping[int, Array]) -> Example:
    """Return the example with these results, by operand index, as expected outputs; dimensions follow from them."""
    return replace(example.with_dimensions({i: result.shape for i, result in results.items()}), outputs=results)


def with_tolerance(example: Example) -> Example:
    """Return the example with the float tolerance that follows from its precision."""
    half = example.relaxed or "TENSOR_FLOAT16" in example.types
    return replace(example, tolerance=Criterion("fp16" if half else "fp32"))


def with_dynamic_outputs(example: Example) -> Example:
    """Return the example with every dimension of its outputs unspecified; ranks remain."""
    return _with_unspecified(example, example.main.outputs)


def with_unknown_dimensions(example: Example) -> Example:
    """Return the example with unspecified dimensions of all inputs and results without per-channel scales."""
    known = (OperandSource.CONSTANT_COPY, OperandSource.CONSTANT_REFERENCE, OperandSource.NO_VALUE)
    operands = enumerate(example.main.operands)
    return _with_unspecified(example, [i for i, o in operands if o.lifetime not in known and not o.channel_quant])


def _with_unspecified(example: Example, indices: Iterable[int]) -> Example:
    return example.with_dimensions({i: (0,) * len(example.main.operands[i].dimensions) for i in indices})


def as_signed(example: Example) -> Example:
    """Return the example with TENSOR_QUANT8_ASYMM operands made signed: 128 is subtracted from zero points and data."""
    operands, inputs, outputs = dict[int, OperandSpec](), dict(example.inputs), dict(example.outputs)
    for index, operand in enumerate(example.main.operands):
        if operand.type == "TENSOR_QUANT8_ASYMM":
            signed = replace(operand, type="TENSOR_QUANT8_ASYMM_SIGNED", zero_point=operand.zero_point - 128)
            operands[index] = signed if operand.data is None else replace(signed, data=_less_128(operand.data))
            if (given := inputs.get(index)) is not None:
                inputs[index] = _less_128(given)
            if index in outputs:
                outputs[index] = _less_128(outputs[index])
    return replace(example.with_operands(operands), inputs=inputs, outputs=outputs)


def _less_128(codes: Array) -> Array:
    return np.asarray(codes ^ np.uint8(0x80)).view(np.int8)
