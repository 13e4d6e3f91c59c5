"""Proposals for element-wise operations of one tensor or two."""

from nnapi.testing.random.proposals.proposal import Draw, Proposal, proposes


@proposes(
    "ABS", "EXP", "FLOOR", "LOG", "NEG", "RSQRT", "SIN", "SQRT", "RELU", "RELU1", "RELU6", "TANH", "LOGISTIC", "ELU"
)
@proposes("CONVERT", "QUANTIZE_TO_EVEN", "ERF", "GELU", "MISH", "SOFTPLUS", "ROUND", "CEIL", "SIGN")
@proposes("HARD_SWISH", "CAST", "QUANTIZE", "DEQUANTIZE", "RANK", "LOGICAL_NOT", "SELECT")
def propose_equal_shapes(draw: Draw) -> Proposal:
    return Proposal(dict.fromkeys(draw.tensors, draw.shape()))


@proposes("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "POW", "PRELU", "LOGICAL_AND", "LOGICAL_OR")
@proposes("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
def propose_two_tensors(draw: Draw) -> Proposal:
    """Propose equal dimensions, or one tensor that broadcasts: along some axes, or by a lower rank."""
    shape = draw.shape()
    first, second = draw.tensors
    if draw.chance(0.3):
        return Proposal({first: shape, second: shape})
    other = tuple(1 if draw.chance(0.4) else dimension for dimension in shape)[
        draw.pick(0, 0, draw.upto(len(shape) - 1)) :
    ]
    if draw.chance(0.5):
        other = (1,) * draw.pick(1, len(shape))
    if draw.ranges.given is None and draw.chance(0.5):
        shape, other = other, shape
    return Proposal({first: shape, second: other})
