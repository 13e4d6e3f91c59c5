"""Proposals for operations that move elements, or look them up."""

import math

import numpy as np

from nnapi.testing.random.proposals.proposal import Draw, Proposal, proposes

IMAGE = 4
"""The rank of an image, whose rows and columns are padded more often than batches and channels."""


@proposes("TRANSPOSE")
def propose_transpose(draw: Draw) -> Proposal:
    shape = draw.shape()
    return Proposal({"input": shape}, numbers={"perm": draw.rng.permutation(len(shape))})


@proposes("RESHAPE")
def propose_reshape(draw: Draw) -> Proposal:
    shape = draw.shape()
    left = math.prod(shape)
    wanted: list[int] = []
    for _ in range(draw.upto(3)):
        wanted.append(draw.pick(*(n for n in range(1, min(left, 64) + 1) if left % n == 0)))
        left //= wanted[-1]
    wanted = draw.rng.permutation([*wanted, left]).tolist()
    if draw.chance(0.3):
        wanted[draw.upto(len(wanted) - 1)] = -1
    return Proposal({"input": shape}, numbers={"shape": wanted})


@proposes("SQUEEZE")
def propose_squeeze(draw: Draw) -> Proposal:
    shape = draw.shape()
    if draw.ranges.given is None:
        kept = draw.upto(len(shape) - 1)
        shape = tuple(dimension if axis < kept and draw.chance(0.6) else 1 for axis, dimension in enumerate(shape))
    ones = draw.rng.permutation([axis for axis, dimension in enumerate(shape) if dimension == 1])
    return Proposal({"input": shape}, numbers={"dims": ones[: 1 + draw.upto(len(ones) - 1)]} if len(ones) else {})


@proposes("TILE")
def propose_tile(draw: Draw) -> Proposal:
    shape = draw.bound(draw.shape(), 5000) if draw.ranges.given is None else draw.shape()
    return Proposal({"input": shape}, numbers={"multiples": [draw.pick(1, 1, 2, 3) for _ in shape]})


@proposes("PAD", "PAD_V2", "MIRROR_PAD")
def propose_pad(draw: Draw) -> Proposal:
    shape = draw.shape()
    most = (lambda dimension: min(dimension - 1, 3)) if "mode" in draw.names else (lambda dimension: 3)
    is_image = len(shape) == IMAGE and draw.chance(draw.ranges.spatial)
    channels = 1 if draw.chance(draw.ranges.nchw) else 3
    paddings = [
        [0 if is_image and axis in (0, channels) else draw.pick(0, draw.upto(most(dimension))) for _ in "<>"]
        for axis, dimension in enumerate(shape)
    ]
    return Proposal({"input": shape}, {"mode": draw.upto(1)} if "mode" in draw.names else {}, {"paddings": paddings})


@proposes("SLICE")
def propose_slice(draw: Draw) -> Proposal:
    shape = draw.shape()
    begin = [draw.upto(dimension - 1) for dimension in shape]
    size = [draw.pick(-1, 1 + draw.upto(dimension - first - 1)) for dimension, first in zip(shape, begin, strict=True)]
    return Proposal({"input": shape}, numbers={"begin": begin, "size": size})


@proposes("STRIDED_SLICE")
def propose_strided_slice(draw: Draw) -> Proposal:
    """Propose forward and backward slices, ends beyond the tensor, and masks."""
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
    return Proposal({"input": shape}, masks, {"begin": begin, "end": end, "strides": strides})


@proposes("FILL")
def propose_fill(draw: Draw) -> Proposal:
    return Proposal(numbers={"dims": draw.bound(tuple(draw.dimension(64) for _ in range(draw.pick(1, 2, 3, 4))))})


@proposes("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def propose_blocks(draw: Draw) -> Proposal:
    draw.proposal.scalars["block_size"] = block = draw.pick(1, 2, 2, 3)
    h, w, c = draw.dimension(11), draw.dimension(11), draw.dimension(8)
    draw.image(h=h * block, w=w * block, c=c * block * block)
    return draw.proposal


@proposes("BATCH_TO_SPACE_ND")
def propose_batch_to_space(draw: Draw) -> Proposal:
    draw.proposal.numbers["block_shape"] = block = [draw.pick(1, 2, 3), draw.pick(1, 2, 3)]
    batch = draw.pick(1, 2) * block[0] * block[1]
    draw.image(n=batch, h=draw.dimension(11), w=draw.dimension(11), c=draw.dimension(17))
    return draw.proposal


@proposes("SPACE_TO_BATCH_ND")
def propose_space_to_batch(draw: Draw) -> Proposal:
    block = [draw.pick(1, 2, 3), draw.pick(1, 2, 3)]
    shape = draw.image(h=draw.dimension(17), w=draw.dimension(17), c=draw.dimension(17))
    paddings = []
    for dimension, size in zip(shape[1:3], block, strict=True):
        before = draw.upto(2)
        paddings.append([before, -(dimension + before) % size + draw.pick(0, 0, size)])
    draw.proposal.numbers = {"block_shape": block, "paddings": paddings}
    return draw.proposal


@proposes("INSTANCE_NORMALIZATION")
def propose_image(draw: Draw) -> Proposal:
    draw.image()
    draw.proposal.scalars["epsilon"] = draw.pick(0.001, 0.01, 0.5, 1.0, 0.0, -1.0)  # engines refuse values below 0
    return draw.proposal


@proposes("EMBEDDING_LOOKUP")
def propose_embedding_lookup(draw: Draw) -> Proposal:
    values = draw.bound((draw.dimension(), *(draw.dimension(64) for _ in range(draw.pick(1, 2, 3)))))
    return Proposal(
        {"values": values}, numbers={"lookups": draw.rng.integers(0, values[0], draw.dimension(17), np.int32)}
    )


@proposes("HASHTABLE_LOOKUP")
def propose_hashtable_lookup(draw: Draw) -> Proposal:
    values = draw.bound((draw.dimension(127), *(draw.dimension(64) for _ in range(draw.pick(0, 1, 2)))))
    keys = np.sort(draw.rng.choice(np.arange(-500, 500), values[0], replace=False))
    lookups = draw.rng.choice([*keys, 501], draw.dimension(17))
    return Proposal({"values": values}, numbers={"lookups": lookups, "keys": keys})
