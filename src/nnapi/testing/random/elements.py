"""Proposals for operations on elements, products, and along axes."""

from __future__ import annotations

import math

import numpy as np

from nnapi.testing.random.fitting import MOST, Draw, Fit, fits


@fits("ABS", "EXP", "FLOOR", "LOG", "NEG", "RSQRT", "SIN", "SQRT", "RELU", "RELU1", "RELU6", "TANH", "LOGISTIC", "ELU")
@fits("HARD_SWISH", "CAST", "QUANTIZE", "DEQUANTIZE", "RANK")
def one_tensor(draw: Draw) -> Fit:
    return Fit({"input": draw.shape()})


@fits("LOGICAL_NOT")
def one_truth(draw: Draw) -> Fit:
    return Fit({"x": draw.shape()})


PAIRS = {
    ("lhs", "rhs"): ("ADD", "SUB", "MUL", "DIV"),
    ("x", "y"): ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "LOGICAL_AND", "LOGICAL_OR"),
    ("a", "b"): ("MAXIMUM", "MINIMUM"),
    ("base", "exponent"): ("POW",),
    ("input", "alpha"): ("PRELU",),
}
PAIR_NAMES = {operation: names for names, operations in PAIRS.items() for operation in operations}


@fits(*PAIR_NAMES)
def two_tensors(draw: Draw) -> Fit:
    """Equal dimensions, or either one stretched along some axes, or of a lower rank."""
    shape = draw.shape()
    first, second = next(names for names in PAIRS if set(names) <= draw.names)
    if draw.chance(0.3):
        return Fit({first: shape, second: shape})
    other = tuple(1 if draw.chance(0.4) else dimension for dimension in shape)[
        draw.pick(0, 0, draw.upto(len(shape) - 1)) :
    ]
    if draw.chance(0.5):
        other = (1,) * draw.pick(1, len(shape))
    if draw.taste.given is None and draw.chance(0.5):
        shape, other = other, shape
    return Fit({first: shape, second: other})


@fits("SELECT")
def three_tensors(draw: Draw) -> Fit:
    shape = draw.shape()
    return Fit(dict.fromkeys(("condition", "a", "b"), shape))


@fits("FULLY_CONNECTED")
def product(draw: Draw) -> Fit:
    shape = draw.shape(2, 2, 3, 4)
    size = math.prod(shape)
    width = shape[-1] if draw.chance(0.7) else draw.pick(*(n for n in range(1, size + 1) if size % n == 0))
    units = draw.dimension(max(1, MOST // width))
    return Fit({"input": shape, "weights": (units, width), "bias": (units,)})


@fits("BATCH_MATMUL")
def batch_product(draw: Draw) -> Fit:
    lhs = draw.shape(2, 3, 4)
    adj_x, adj_y = draw.chance(0.4), draw.chance(0.4)
    batches = tuple(1 if draw.chance(0.3) else dimension for dimension in lhs[:-2])
    inner, outer = lhs[-2] if adj_x else lhs[-1], draw.dimension(max(1, MOST // max(1, math.prod(lhs))))
    rhs = (*batches, outer, inner) if adj_y else (*batches, inner, outer)
    return Fit({"lhs": lhs, "rhs": rhs}, {"adj_x": adj_x, "adj_y": adj_y})


@fits("ARGMAX", "ARGMIN", "SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION")
def along_axis(draw: Draw) -> Fit:
    shape = draw.shape()
    return Fit({"input": shape}, {"axis": draw.axis(len(shape))})


@fits("EXPAND_DIMS")
def new_axis(draw: Draw) -> Fit:
    shape = draw.shape(1, 2, 3)
    return Fit({"input": shape}, {"axis": draw.axis(len(shape) + 1)})


@fits("GATHER")
def gathered(draw: Draw) -> Fit:
    shape = draw.shape()
    axis = draw.axis(len(shape))
    indices = tuple(draw.dimension(8) for _ in range(draw.pick(1, 1, 2)))
    numbers = draw.rng.integers(0, shape[axis], indices, np.int32)
    return Fit({"input": shape}, {"axis": axis}, {"indices": numbers})


@fits("SPLIT")
def split(draw: Draw) -> Fit:
    parts = draw.pick(1, 2, 2, 3, 4)
    shape = draw.shape()
    axis = draw.axis(len(shape))
    if draw.taste.given is None:
        shape = tuple(e * parts if i == axis % len(shape) else e for i, e in enumerate(draw.bounded(shape, 5000)))
    return Fit({"input": shape}, {"axis": axis, "num_splits": parts}, outputs=parts)


@fits("CHANNEL_SHUFFLE")
def shuffled(draw: Draw) -> Fit:
    shape, groups = draw.shape(), draw.pick(1, 2, 3, 4)
    axis = draw.axis(len(shape))
    if draw.taste.given is None:
        shape = tuple(e * groups if i == axis % len(shape) else e for i, e in enumerate(draw.bounded(shape, 5000)))
    return Fit({"input": shape}, {"axis": axis, "num_groups": groups})


@fits("REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_SUM", "MEAN")
def reduced(draw: Draw) -> Fit:
    shape = draw.shape()
    axes = draw.rng.permutation(len(shape))[: 1 + draw.upto(len(shape) - 1)]
    signed = [axis - len(shape) if draw.chance(0.3) else axis for axis in axes.tolist()]
    return Fit({"input": shape}, {"keep_dims": draw.upto(1)}, {"axes": signed})


@fits("REVERSE")
def reversed_(draw: Draw) -> Fit:
    shape = draw.shape()
    return Fit({"input": shape}, numbers={"axis": [draw.upto(len(shape) - 1)]})


@fits("TOPK_V2")
def largest(draw: Draw) -> Fit:
    shape = draw.shape()
    return Fit({"input": shape}, {"k": draw.pick(1, shape[-1], 1 + draw.upto(shape[-1] - 1))})


@fits("CONCATENATION")
def joined(draw: Draw) -> Fit:
    shape = draw.shape()
    return Fit({"inputs": shape}, {"axis": draw.upto(len(shape) - 1)})


@fits("PACK")
def packed(draw: Draw) -> Fit:
    shape = draw.shape(1, 2, 3)
    return Fit({"inputs": shape}, {"axis": draw.upto(len(shape))})
