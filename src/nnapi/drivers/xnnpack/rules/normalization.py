"""Numbers relative to those around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.graph import Tensor, constant
from nnapi.drivers.xnnpack.lowering import lower
from nnapi.drivers.xnnpack.site import Site, need
from nnapi.ops.shapes import axis_of


@lower(Op.SOFTMAX)
def softmax(site: Site, input: Tensor, beta: float, axis: int) -> Tensor:
    """In float32 also for codes: the engine's kernel for those is slow, and aborts on some scales."""
    return site.stored(_along_last(site, site.real(input), axis, lambda x: _emit(site, "SOFTMAX", x, beta=beta)))


@lower(Op.LOG_SOFTMAX)
def log_softmax(site: Site, input: Tensor, beta: float, axis: int) -> Tensor:
    need(beta > 0, f"beta is {beta}, the engine needs it above 0")
    x = input
    if beta != 1:
        x = site.emit("MUL", [input, site.filled(input, beta)], input.like(), activation=0)
    return _along_last(site, x, axis, lambda x: _emit(site, "LOG_SOFTMAX", x))


@lower(Op.L2_NORMALIZATION)
def l2_normalization(site: Site, input: Tensor, axis: int) -> Tensor:
    real = _along_last(site, site.real(input), axis, lambda x: _emit(site, "L2_NORMALIZATION", x, activation=0))
    return site.stored(real)


@lower(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    site: Site, input: Tensor, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Tensor:
    def normalise(x: Tensor) -> Tensor:
        image = site.reshaped(x, (1,) * (4 - len(x.shape)) + x.shape)
        image = _emit(
            site, "LOCAL_RESPONSE_NORMALIZATION", image, radius=radius, bias=bias, alpha=alpha, beta=beta
        )  # fmt: skip
        return site.reshaped(image, x.shape)

    need(alpha >= 0, f"alpha is {alpha}: the engine loses precision where sums come near 0")
    need(len(input.shape) <= 4, f"input has rank {len(input.shape)}, the engine takes at most 4")
    return _along_last(site, input, axis, normalise)


@lower(Op.INSTANCE_NORMALIZATION)
def instance_normalization(site: Site, input: Tensor, gamma: float, beta: float, epsilon: float) -> Tensor:
    """(x - mean) · gamma / √(variance + epsilon) + beta, over each image's height and width."""
    means = input.like(shape=(input.shape[0], 1, 1, input.shape[3]))
    image = constant([1, 2])

    def binary(kind: str, a: Tensor, b: Tensor, like: Tensor) -> Tensor:
        return site.emit(kind, [a, b], like.like(), activation=0)

    centred = binary("SUB", input, site.emit("MEAN", [input, image], means, keep_dims=1), input)
    squares = binary("MUL", centred, centred, input)
    variance = site.emit("MEAN", [squares, image], means.like(), keep_dims=1)
    factor = site.emit("RSQRT", [binary("ADD", variance, site.filled(input, epsilon), means)], means.like())
    factor = binary("MUL", factor, site.filled(input, gamma), means)
    return binary("ADD", binary("MUL", centred, factor, input), site.filled(input, beta), input)


def _emit(site: Site, kind: str, x: Tensor, **options: Any) -> Tensor:
    return site.emit(kind, [x], x.like(), **options)


def _along_last(site: Site, x: Tensor, axis: int, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """Compute along the last axis, where the engine does, with the wanted one moved there and back."""
    rank = len(x.shape)
    order = list(range(rank))
    order[axis_of(axis, rank)], order[-1] = order[-1], order[axis_of(axis, rank)]
    return site.transposed(compute(site.transposed(x, order)), order)
