"""Pooling: one number for each window of an image."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.graph import Tensor, constant
from nnapi.drivers.xnnpack.lowering import lower
from nnapi.drivers.xnnpack.rules.convolution import same
from nnapi.drivers.xnnpack.schema import SAME, VALID
from nnapi.drivers.xnnpack.site import Site, need
from nnapi.ops.shapes import Padding, Pair


@lower(Op.AVERAGE_POOL_2D, Op.L2_POOL_2D)
def mean_of_window(site: Site, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    """In float32 also for codes: the engine's own kernel for those is ten times slower."""
    scheme = VALID if not any(map(any, padding)) else SAME
    need(
        scheme == VALID or tuple(padding) == same(input, size, stride),
        f"padding {padding} is neither SAME nor VALID, and its cells must not count",
    )
    return site.stored(_pooled(site, site.operation_name, site.real(input), site.real_result(), scheme, stride, size))


@lower(Op.MAX_POOL_2D)
def max_pool_2d(site: Site, input: Tensor, padding: Padding, stride: Pair, size: Pair) -> Tensor:
    x, scheme = input, SAME if tuple(padding) == same(input, size, stride) else VALID
    if scheme == VALID and any(map(any, padding)):
        lowest = input.like(shape=(1,))
        lowest.data = np.array([-np.inf if input.type == "f32" else -128]).astype(np.float32 if input.type == "f32" else np.int8)
        around = [(0, 0), *padding, (0, 0)]
        shape = tuple(extent + sum(pair) for extent, pair in zip(input.shape, around, strict=True))
        x = site.emit("PADV2", [input, constant(around), lowest], input.like(shape=shape))
    return _pooled(site, "MAX_POOL_2D", x, site.result(), scheme, stride, size)


def _pooled(site: Site, kind: str, x: Tensor, out: Tensor, scheme: int, stride: Pair, size: Pair) -> Tensor:
    return site.emit(
        kind, [x], out, padding=scheme, stride_h=stride[0], stride_w=stride[1], filter_h=size[0], filter_w=size[1],
        activation=site.activation,
    )  # fmt: skip


