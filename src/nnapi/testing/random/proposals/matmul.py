"""Proposals for FULLY_CONNECTED and BATCH_MATMUL."""

import math

from nnapi.testing.random.proposals.proposal import MOST, Draw, Proposal, proposes


@proposes("FULLY_CONNECTED")
def propose_fully_connected(draw: Draw) -> Proposal:
    shape = draw.shape(2, 2, 3, 4)
    size = math.prod(shape)
    width = shape[-1] if draw.chance(0.7) else draw.pick(*(n for n in range(1, size + 1) if size % n == 0))
    units = draw.dimension(max(1, MOST // width))
    return Proposal({"input": shape, "weights": (units, width), "bias": (units,)})


@proposes("BATCH_MATMUL")
def propose_batch_matmul(draw: Draw) -> Proposal:
    lhs = draw.shape(2, 3, 4)
    adj_x, adj_y = draw.chance(0.4), draw.chance(0.4)
    batches = tuple(1 if draw.chance(0.3) else dimension for dimension in lhs[:-2])
    inner, outer = lhs[-2] if adj_x else lhs[-1], draw.dimension(max(1, MOST // max(1, math.prod(lhs))))
    rhs = (*batches, outer, inner) if adj_y else (*batches, inner, outer)
    return Proposal({"lhs": lhs, "rhs": rhs}, {"adj_x": adj_x, "adj_y": adj_y})
