"""Access the inputs of convolutions, and other sums of products, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nnapi.formats.tflite.graph import Operator, Tensor


class Conv:
    __slots__ = ("operator",)

    def __init__(self, operator: Operator) -> None:
        self.operator = operator

    @property
    def position(self) -> int:
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
        """Return the filter if it is constant and unsigned while the input is signed."""
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
        """Return whether this is a convolution of one group, with constant filter and bias."""
        return self._is_constant("CONV_2D") and self.input.shape[3] == self.filter.shape[3]

    @property
    def is_constant_depthwise(self) -> bool:
        """Return whether this convolves each channel with a constant filter of its own."""
        return self._is_constant("DEPTHWISE_CONV_2D") and self.input.shape[3] == self.output.shape[3]

    def _is_constant(self, kind: str) -> bool:
        operator = self.operator
        if operator.kind != kind:
            return False
        x, filter, bias = operator.inputs
        if x is None or filter is None or bias is None:
            return False
        return filter.data is not None and bias.data is not None
