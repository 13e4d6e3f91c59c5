"""What the engine's operators are: facts about each kind in one table, and typed views of single ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from nnapi.formats.tflite.graph import Operator, Tensor

COPY, CLAMP, CONVERT = ("Copy", "Concatenate", "Static Reshape"), ("Clamp",), ("Convert",)


class Facts(NamedTuple):
    """What passes, the interpreter and the profiler need to know of a kind of operator."""

    sums: bool = False
    """It sums products of its first two inputs."""
    channelwise: int = 0
    """How many inputs it has, where it treats every channel of them alike."""
    rounds: bool = False
    """A code that lies halfway between two may be rounded the other way than the specification has it."""
    events: tuple[str, ...] = ()
    """What names in a profile begin with; by default the first three letters of the kind."""


OTHER = Facts()
FACTS: dict[str, Facts] = {
    "ADD": Facts(channelwise=2),
    "AVERAGE_POOL_2D": Facts(channelwise=1, rounds=True),
    "BATCH_MATMUL": Facts(sums=True),
    "CONCATENATION": Facts(events=COPY),
    "CONV_2D": Facts(sums=True, events=("Convolution", "Fully Connected")),
    "DEPTHWISE_CONV_2D": Facts(sums=True, events=("Convolution",)),
    "DEQUANTIZE": Facts(channelwise=1, events=CONVERT),
    "FULLY_CONNECTED": Facts(sums=True),
    "HARD_SWISH": Facts(channelwise=1),
    "LOGISTIC": Facts(channelwise=1, events=("Sigmoid",)),
    "MAX_POOL_2D": Facts(channelwise=1),
    "MEAN": Facts(rounds=True),
    "MUL": Facts(channelwise=2),
    "PACK": Facts(events=COPY),
    "PAD": Facts(events=("Constant Pad",)),
    "PADV2": Facts(events=("Constant Pad",)),
    "QUANTIZE": Facts(channelwise=1, events=CONVERT),
    "RELU": Facts(channelwise=1, events=CLAMP),
    "RELU6": Facts(channelwise=1, events=CLAMP),
    "RELU_N1_TO_1": Facts(channelwise=1, events=CLAMP),
    "RESHAPE": Facts(events=COPY),
    "RESIZE_BILINEAR": Facts(channelwise=1, rounds=True),
    "RESIZE_NEAREST_NEIGHBOR": Facts(channelwise=1),
    "RSQRT": Facts(events=("Reciprocal",)),
    "SPLIT": Facts(events=("Split", "Even Split", "Copy", "Slice")),
    "STRIDED_SLICE": Facts(events=("Slice",)),
    "SUB": Facts(channelwise=2),
    "TANH": Facts(channelwise=1),
    "TRANSPOSE_CONV": Facts(sums=True, events=("Deconvolution",)),
}
LONGEST_ROW = 4096
"""Codes in a row that are added up as codes: sums of twice as many overflow on some processors."""


def count_row(shape: Sequence[int], axes: Collection[int]) -> int:
    """How many numbers that lie in a row become one along those axes."""
    count = 1
    for axis in reversed(range(len(shape))):
        if axis not in axes and shape[axis] > 1:
            break
        count *= shape[axis]
    return count


def facts(kind: str) -> Facts:
    """What is known of a kind of operator; nothing but the defaults of most."""
    return FACTS.get(kind, OTHER)


class Conv:
    """A convolution, or another operator with a filter and a bias, by the names of what it is given."""

    __slots__ = ("operator",)

    def __init__(self, operator: Operator) -> None:
        self.operator = operator

    @property
    def position(self) -> int:
        """Where the input is among those of the operator."""
        return 2 if self.operator.kind == "TRANSPOSE_CONV" else 0

    @property
    def input(self) -> Tensor:
        return self.operator.input(self.position)

    @property
    def filter(self) -> Tensor:
        return self.operator.input(1)

    @property
    def bias(self) -> Tensor:
        return self.operator.input(-1)

    @property
    def output(self) -> Tensor:
        return self.operator.output

    @property
    def options(self) -> dict[str, Any]:
        return self.operator.options

    @property
    def unsigned_filter(self) -> Tensor | None:
        """The filter if it is there, constant and unsigned, for codes that are signed."""
        inputs = self.operator.inputs
        filter = inputs[1] if len(inputs) > 1 else None
        if filter is None or filter.type != "u8" or filter.data is None:
            return None
        x = inputs[self.position]
        return None if x is not None and x.type == "u8" else filter

    @property
    def is_depthwise(self) -> bool:
        return self.operator.kind == "DEPTHWISE_CONV_2D"

    @property
    def is_constant_dense(self) -> bool:
        """Whether it is a convolution of one group with constant filter and bias."""
        return self._is_constant("CONV_2D") and self.input.shape[3] == self.filter.shape[3]

    @property
    def is_constant_depthwise(self) -> bool:
        """Whether it convolves each channel with a constant filter of its own."""
        return self._is_constant("DEPTHWISE_CONV_2D") and self.input.shape[3] == self.output.shape[3]

    def _is_constant(self, kind: str) -> bool:
        operator = self.operator
        if operator.kind != kind:
            return False
        x, filter, bias = operator.inputs
        if x is None or filter is None or bias is None:
            return False
        return filter.data is not None and bias.data is not None
