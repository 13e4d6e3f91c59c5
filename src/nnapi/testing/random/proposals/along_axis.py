"""Proposals for operations along an axis or several: reductions, lookups, concatenations, splits."""

import numpy as np

from nnapi.model.operand import Shape
from nnapi.testing.random.proposals.proposal import Draw, Proposal, proposes


@proposes("ARGMAX", "ARGMIN", "SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION")
@proposes("CUMSUM")
def propose_along_axis(draw: Draw) -> Proposal:
    shape = draw.shape()
    return Proposal({"input": shape}, {"axis": draw.axis(len(shape))})


@proposes("LAYER_NORM", "RMS_NORM")
def propose_layer_norm(draw: Draw) -> Proposal:
    shape = draw.shape()
    axis = draw.axis(len(shape))
    factors = dict.fromkeys(("gamma", "beta"), draw.pick(shape[axis:], shape[-1:]))
    return Proposal({"input": shape, **factors}, {"axis": axis, "epsilon": draw.pick(1e-5, 1e-3)})


@proposes("GROUP_NORM")
def propose_group_norm(draw: Draw) -> Proposal:
    shape = draw.shape(2, 3, 4)
    channels = shape[-1]
    groups = draw.pick(*(count for count in range(1, channels + 1) if channels % count == 0))
    factors = dict.fromkeys(("gamma", "beta"), (channels,))
    return Proposal({"input": shape, **factors}, {"groups": groups, "epsilon": draw.pick(1e-5, 1e-3)})


@proposes("EXPAND_DIMS")
def propose_new_axis(draw: Draw) -> Proposal:
    shape = draw.shape(1, 2, 3)
    return Proposal({"input": shape}, {"axis": draw.axis(len(shape) + 1)})


@proposes("GATHER")
def propose_gather(draw: Draw) -> Proposal:
    shape = draw.shape()
    axis = draw.axis(len(shape))
    indices = tuple(draw.dimension(8) for _ in range(draw.pick(1, 1, 2)))
    numbers = draw.rng.integers(0, shape[axis], indices, np.int32)
    return Proposal({"input": shape}, {"axis": axis}, {"indices": numbers})


@proposes("SPLIT")
def propose_split(draw: Draw) -> Proposal:
    count = draw.pick(1, 2, 2, 3, 4)
    shape, axis = _divisible(draw, draw.shape(), count)
    return Proposal({"input": shape}, {"axis": axis, "num_splits": count}, outputs=count)


@proposes("CHANNEL_SHUFFLE")
def propose_channel_shuffle(draw: Draw) -> Proposal:
    shape, count = draw.shape(), draw.pick(1, 2, 3, 4)
    shape, axis = _divisible(draw, shape, count)
    return Proposal({"input": shape}, {"axis": axis, "num_groups": count})


def _divisible(draw: Draw, shape: Shape, count: int) -> tuple[Shape, int]:
    """Draw an axis; unless the shape is given, make it divisible by ``count`` along this axis."""
    axis = draw.axis(len(shape))
    if draw.ranges.given is None:
        shape = tuple(e * count if i == axis % len(shape) else e for i, e in enumerate(draw.bound(shape, 5000)))
    return shape, axis


@proposes("REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_SUM", "MEAN")
def propose_reduction(draw: Draw) -> Proposal:
    shape = draw.shape()
    axes = draw.rng.permutation(len(shape))[: 1 + draw.upto(len(shape) - 1)]
    signed = [axis - len(shape) if draw.chance(0.3) else axis for axis in axes.tolist()]
    return Proposal({"input": shape}, {"keep_dims": draw.upto(1)}, {"axes": signed})


@proposes("REVERSE")
def propose_reverse(draw: Draw) -> Proposal:
    shape = draw.shape()
    return Proposal({"input": shape}, numbers={"axis": [draw.upto(len(shape) - 1)]})


@proposes("TOPK_V2")
def propose_topk(draw: Draw) -> Proposal:
    shape = draw.shape()
    return Proposal({"input": shape}, {"k": draw.pick(1, shape[-1], 1 + draw.upto(shape[-1] - 1))})


@proposes("CONCATENATION")
def propose_concatenation(draw: Draw) -> Proposal:
    shape = draw.shape()
    return Proposal({"inputs": shape}, {"axis": draw.upto(len(shape) - 1)})


@proposes("PACK")
def propose_pack(draw: Draw) -> Proposal:
    shape = draw.shape(1, 2, 3)
    return Proposal({"inputs": shape}, {"axis": draw.upto(len(shape))})


@proposes("UNIQUE")
def propose_unique(draw: Draw) -> Proposal:
    shape = draw.shape()
    return Proposal({"input": shape}, {"axis": draw.axis(len(shape))})
