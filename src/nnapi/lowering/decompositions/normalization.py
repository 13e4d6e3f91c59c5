"""SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION, INSTANCE_NORMALIZATION."""

import math

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.model.builder import Tensor
from nnapi.ops.shapes import axis_of


def _below_largest(b: Decomposition, x: Tensor, beta: float, axis: int) -> Tensor:
    """Return (x - maximum along ``axis``) · beta."""
    return b.mul(b.sub(x, b.reduce_max(x, [axis], True), 0), b.number(x, beta), 0)


@decomposition(Op.SOFTMAX)
def softmax(b: Decomposition, input: Tensor, beta: float, axis: int) -> Tensor:
    powers = b.exp(_below_largest(b, input, beta, axis))
    return b.div(powers, b.reduce_sum(powers, [axis], True), 0)


@decomposition(Op.LOG_SOFTMAX)
def log_softmax(b: Decomposition, input: Tensor, beta: float, axis: int) -> Tensor:
    below = _below_largest(b, input, beta, axis)
    return b.sub(below, b.log(b.reduce_sum(b.exp(below), [axis], True)), 0)


@decomposition(Op.L2_NORMALIZATION)
def l2_normalization(b: Decomposition, input: Tensor, axis: int) -> Tensor:
    length = b.sqrt(b.reduce_sum(b.mul(input, input, 0), [axis], True))
    return b.div(input, b.maximum(length, b.number(input, 1e-6)), 0)


@decomposition(Op.LOCAL_RESPONSE_NORMALIZATION)
def local_response_normalization(
    b: Decomposition, input: Tensor, radius: int, bias: float, alpha: float, beta: float, axis: int
) -> Tensor:
    """Sum the squares of neighboring channels by a product with a band matrix of ones."""
    rank = len(input.shape)
    axis = axis_of(axis, rank)
    order = [*(i for i in range(rank) if i != axis), axis]
    x = b.permute(input, order)
    size = x.shape[-1]
    indices = np.arange(size)
    band = (np.abs(indices - indices[:, None]) <= radius).astype(np.float32)
    rows = b.restate(b.mul(x, x, 0), (math.prod(x.shape) // size, size))
    sums = b.restate(b.fully_connected(rows, b.constant(band), b.constant(np.zeros(size, np.float32)), 0), x.shape)
    base = b.add(b.mul(sums, b.number(x, alpha), 0), b.number(x, bias), 0)
    made = b.mul(x, b.pow(base, b.number(x, -beta)), 0)
    return b.permute(made, [int(i) for i in np.argsort(order)])


@decomposition(Op.INSTANCE_NORMALIZATION)
def instance_normalization(b: Decomposition, input: Tensor, gamma: float, beta: float, epsilon: float) -> Tensor:
    centered = b.sub(input, b.mean(input, [1, 2], 1), 0)
    variance = b.mean(b.mul(centered, centered, 0), [1, 2], 1)
    scale = b.div(b.number(input, gamma), b.sqrt(b.add(variance, b.number(input, epsilon), 0)), 0)
    return b.add(b.mul(centered, scale, 0), b.number(input, beta), 0)
