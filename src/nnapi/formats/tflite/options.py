"""Options of operators by their names in the schema, from (height, width) pairs."""

from typing import Any

Pair = tuple[int, int]


def stride_options(padding: int, stride: Pair) -> dict[str, Any]:
    return {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}


def convolution_options(padding: int, stride: Pair, dilation: Pair) -> dict[str, Any]:
    return {**stride_options(padding, stride), "dilation_h": dilation[0], "dilation_w": dilation[1]}


def pooling_options(padding: int, stride: Pair, size: Pair) -> dict[str, Any]:
    return {**stride_options(padding, stride), "filter_h": size[0], "filter_w": size[1]}
