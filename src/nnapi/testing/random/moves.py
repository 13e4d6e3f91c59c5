"""Proposals for operations that move elements, or look them up."""

from __future__ import annotations

import math

import numpy as np

from nnapi.testing.random.fitting import Draw, Fit, fits


@fits("TRANSPOSE")
def permuted(draw: Draw) -> Fit:
    shape = draw.shape()
    return Fit({"input": shape}, numbers={"perm": draw.rng.permutation(len(shape))})


@fits("RESHAPE")
def reshaped(draw: Draw) -> Fit:
    shape = draw.shape()
    left = math.prod(shape)
    wanted: list[int] = []
    for _ in range(draw.upto(3)):
        wanted.append(draw.pick(*(n for n in range(1, min(left, 64) + 1) if left % n == 0)))
        left //= wanted[-1]
    wanted = draw.rng.permutation([*wanted, left]).tolist()
    if draw.chance(0.3):
        wanted[draw.upto(len(wanted) - 1)] = -1
    return Fit({"input": shape}, numbers={"shape": wanted})


@fits("SQUEEZE")
def squeezed(draw: Draw) -> Fit:
    shape = draw.shape()
    if draw.taste.given is None:
        kept = draw.upto(len(shape) - 1)
        shape = tuple(dimension if axis < kept and draw.chance(0.6) else 1 for axis, dimension in enumerate(shape))
    ones = draw.rng.permutation([axis for axis, dimension in enumerate(shape) if dimension == 1])
    return Fit({"input": shape}, numbers={"dims": ones[: 1 + draw.upto(len(ones) - 1)]} if len(ones) else {})


@fits("TILE")
def tiled(draw: Draw) -> Fit:
    shape = draw.bounded(draw.shape(), 5000) if draw.taste.given is None else draw.shape()
    return Fit({"input": shape}, numbers={"multiples": [draw.pick(1, 1, 2, 3) for _ in shape]})


@fits("PAD", "PAD_V2", "MIRROR_PAD")
def padded(draw: Draw) -> Fit:
    shape = draw.shape()
    most = (lambda dimension: min(dimension - 1, 3)) if "mode" in draw.names else (lambda dimension: 3)
    paddings = [[draw.pick(0, draw.upto(most(dimension))) for _ in "<>"] for dimension in shape]
    return Fit({"input": shape}, {"mode": draw.upto(1)} if "mode" in draw.names else {}, {"paddings": paddings})


@fits("SLICE")
def sliced(draw: Draw) -> Fit:
    shape = draw.shape()
    begin = [draw.upto(dimension - 1) for dimension in shape]
    size = [draw.pick(-1, 1 + draw.upto(dimension - first - 1)) for dimension, first in zip(shape, begin, strict=True)]
    return Fit({"input": shape}, numbers={"begin": begin, "size": size})


@fits("STRIDED_SLICE")
def stepped(draw: Draw) -> Fit:
    """Forwards and backwards, ends beyond the tensor, masks."""
    shape = draw.shape()
    begin, end, strides = [], [], []
    for dimension in shape:
        low = draw.upto(dimension - 1)
        high = low + 1 + draw.upto(dimension - low - 1)
        step = draw.pick(1, 1, 2, 3, dimension + 1)
        if draw.chance(0.25):
            low, high, step = high - 1, low - 1 if low else -dimension - 1, -step
        begin.append(low - dimension if draw.chance(0.2) else low)
        end.append(high + draw.pick(0, 0, 7) if high == dimension else high)
        strides.append(step)
    masks = {name: draw.pick(0, 0, draw.upto(15)) for name in ("begin_mask", "end_mask", "shrink_axis_mask")}
    return Fit({"input": shape}, masks, {"begin": begin, "end": end, "strides": strides})


@fits("FILL")
def filled(draw: Draw) -> Fit:
    return Fit(numbers={"dims": draw.bounded(tuple(draw.dimension(64) for _ in range(draw.pick(1, 2, 3, 4))))})


@fits("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def blocks(draw: Draw) -> Fit:
    fit, block = Fit(), draw.pick(1, 2, 2, 3)
    h, w, c = draw.dimension(11), draw.dimension(11), draw.dimension(8)
    draw.image(fit, h=h * block, w=w * block, c=c * block * block)
    fit.scalars["block_size"] = block
    return fit


@fits("BATCH_TO_SPACE_ND")
def spread(draw: Draw) -> Fit:
    fit, block = Fit(), [draw.pick(1, 2, 3), draw.pick(1, 2, 3)]
    draw.image(
        fit, n=draw.pick(1, 2) * block[0] * block[1], h=draw.dimension(11), w=draw.dimension(11), c=draw.dimension(17)
    )
    fit.numbers["block_shape"] = block
    return fit


@fits("SPACE_TO_BATCH_ND")
def batched(draw: Draw) -> Fit:
    fit, block = Fit(), [draw.pick(1, 2, 3), draw.pick(1, 2, 3)]
    shape = draw.image(fit, h=draw.dimension(17), w=draw.dimension(17), c=draw.dimension(17))
    paddings = []
    for dimension, size in zip(shape[1:3], block, strict=True):
        before = draw.upto(2)
        paddings.append([before, -(dimension + before) % size + draw.pick(0, 0, size)])
    fit.numbers |= {"block_shape": block, "paddings": paddings}
    return fit


@fits("INSTANCE_NORMALIZATION")
def one_image(draw: Draw) -> Fit:
    fit = Fit()
    draw.image(fit)
    return fit


@fits("EMBEDDING_LOOKUP")
def looked_up(draw: Draw) -> Fit:
    values = draw.bounded((draw.dimension(), *(draw.dimension(64) for _ in range(draw.pick(1, 2, 3)))))
    return Fit({"values": values}, numbers={"lookups": draw.rng.integers(0, values[0], draw.dimension(17), np.int32)})


@fits("HASHTABLE_LOOKUP")
def hashed(draw: Draw) -> Fit:
    values = draw.bounded((draw.dimension(127), *(draw.dimension(64) for _ in range(draw.pick(0, 1, 2)))))
    keys = np.sort(draw.rng.choice(np.arange(-500, 500), values[0], replace=False))
    lookups = draw.rng.choice([*keys, 501], draw.dimension(17))
    return Fit({"values": values}, numbers={"lookups": lookups, "keys": keys})
