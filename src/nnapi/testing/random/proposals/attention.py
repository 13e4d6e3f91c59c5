"""Proposals for ATTENTION and ROTARY_EMBEDDING."""

import math

from nnapi.errors import BadDataError, need
from nnapi.testing.random.proposals.proposal import MOST, Draw, Proposal, proposes


@proposes("ATTENTION")
def propose_attention(draw: Draw) -> Proposal:
    *batches, rows, width = draw.shape(2, 3, 4)
    keys = draw.dimension(max(1, MOST // math.prod((*batches, max(rows, width)))))
    value = (*batches, keys, draw.dimension(max(1, MOST // math.prod((*batches, keys)))))
    scores = (*batches, rows, keys)
    mask = draw.pick(scores, scores[-2:], (keys,), tuple(draw.pick(1, size) for size in scores))
    shapes = {"query": (*batches, rows, width), "key": (*batches, keys, width), "value": value, "mask": mask}
    return Proposal(shapes, {"score_scale": draw.pick(1.0, width**-0.5)})


@proposes("ROTARY_EMBEDDING")
def propose_rotary_embedding(draw: Draw) -> Proposal:
    shape = draw.shape()
    if draw.ranges.given is None:
        *outer, width = draw.bound((*shape[:-1], 2 * shape[-1]))
        shape = (*outer, width + width % 2)
    need(shape[-1] % 2 == 0, "the rows of the tensor do not form pairs", BadDataError)
    angles = draw.pick(shape, shape[-2:], shape[-1:])
    return Proposal({"input": shape, "cos": angles, "sin": angles})
