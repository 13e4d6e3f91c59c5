"""SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION, INSTANCE_NORMALIZATION."""

from __future__ import annotations

import math

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.sketch import Sketch, decomposition
from nnapi.model.builder import Tensor
from nnapi.ops.shapes import axis_of


def _below_largest(s: Sketch, x: Tensor, beta: float, axis: int) -> Tensor:
    """Return the elements less their maximum along an axis, times beta."""
    return s.mul(s.sub(x, s.reduce_max(x, [axis], True), 0), s.number(x, beta), 0)


@decomposition(Op.SOFTMAX)
def softmax(s: Sketch, input: Tensor, beta: float, axis: int) -> Tensor:
    powers = s.exp(_below_largest(s, input, beta, axis))
    return s.div(powers, s.reduce_sum(powers, [axis], True), 0)


@decomposition(Op.LOG_SOFTMAX)
def log_softmax(s: Sketch, input: Tensor, beta: float, axis: int) -> Tensor:
    below = _below_largest(s, input, beta, axis)
    return s.sub(below, s.log(s.reduce_sum(s.exp(below), [axis], True)), 0)


@decomposition(Op.L2_NORMALIZATION)
def l2_normalization(s: Sketch, input: Tensor, axis: int) -> Tensor:
    length = s.sqrt(s.reduce_sum(s.mul(input, input, 0), [axis], True))
    return s.div(input, s.maximum(length, s.number(input, 1e-6)), 0)


@decomposition(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    s: Sketch, input: Tensor, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Tensor:
    """Sum neighboring squares as products with a band of ones."""
    rank = len(input.shape)
    axis = axis_of(axis, rank)
    order = [*(i for i in range(rank) if i != axis), axis]
    x = s.permute(input, order)
    size = x.shape[-1]
    indices = np.arange(size)
    band = (np.abs(indices - indices[:, None]) <= radius).astype(np.float32)
    rows = s.restate(s.mul(x, x, 0), (math.prod(x.shape) // size, size))
    sums = s.restate(s.fully_connected(rows, s.constant(band), s.constant(np.zeros(size, np.float32)), 0), x.shape)
    base = s.add(s.mul(sums, s.number(x, alpha), 0), s.number(x, bias), 0)
    made = s.mul(x, s.pow(base, s.number(x, -beta)), 0)
    return s.permute(made, [int(i) for i in np.argsort(order)])


@decomposition(Op.INSTANCE_NORMALIZATION)
def instance_normalization(s: Sketch, input: Tensor, gamma: float, beta: float, epsilon: float) -> Tensor:
    centered = s.sub(input, s.mean(input, [1, 2], 1), 0)
    variance = s.mean(s.mul(centered, centered, 0), [1, 2], 1)
    scale = s.div(s.number(input, gamma), s.sqrt(s.add(variance, s.number(input, epsilon), 0)), 0)
    return s.add(s.mul(centered, scale, 0), s.number(input, beta), 0)
