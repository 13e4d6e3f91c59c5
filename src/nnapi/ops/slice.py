"""Slice a tensor: a block, or every n-th element.

STRIDED_SLICE: every n-th element between bounds along each axis.
SLICE: a block of the tensor.
"""

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import HIGH, Scalar, Tensor, Values, upto
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.signature_types import numbers, reals
from nnapi.shapes.size import Positions, count_positions, make_positions

SLICE = Operation(
    OperationCode.SLICE,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(Tensor("input", numbers(3, int32=3)), Values("begin", since=3), Values("size", since=3)),
    outputs=(Tensor("out", like="input", quant="input"),),
    zero_sized=True,
)

STRIDED_SLICE = Operation(
    OperationCode.STRIDED_SLICE,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(
        Tensor("input", reals(2), rank=upto(4), high=HIGH),
        *(Values(name, since=2) for name in ("begin", "end", "strides")),
        *(Scalar(name, OperandCode.INT32, since=2) for name in ("begin_mask", "end_mask", "shrink_axis_mask")),
    ),
    outputs=(Tensor("out", like="input", quant="input"),),
)


def _need_one_per_axis(rank: int, **values: Array) -> None:
    for name, given in values.items():
        need(len(given) == rank, f"{name} holds {len(given)} values, must hold {rank}, one for each axis of input")


@SLICE.shape
def infer_slice_shape(input: OperandType, begin: Array, size: Array) -> Shape:
    _need_one_per_axis(input.rank, begin=begin, size=size)
    for axis, (dimension, first, count) in enumerate(zip(input.shape, begin, size, strict=True)):
        need(
            0 <= first <= dimension and -1 <= count <= dimension - first,
            f"begin {first} and size {count} leave axis {axis}, which has dimension {dimension}",
        )
    return tuple(
        c if c >= 0 else dimension - b
        for dimension, b, c in zip(input.shape, begin.tolist(), size.tolist(), strict=True)
    )


@SLICE.kernel(kind="raw")
def slice_block(input: Array, begin: Array, size: Array) -> Array:
    return input[tuple(slice(b, b + c if c >= 0 else None) for b, c in zip(begin.tolist(), size.tolist(), strict=True))]


@STRIDED_SLICE.shape
def infer_strided_slice_shape(
    input: OperandType, begin: Array, end: Array, strides: Array, begin_mask: int, end_mask: int, shrink_axis_mask: int
) -> Shape:
    _need_one_per_axis(input.rank, begin=begin, end=end, strides=strides)
    need(bool(strides.all()), f"strides are {strides.tolist()}, must not be 0")
    shape = []
    for axis, steps in enumerate(slice_steps(input.shape, begin, end, strides, begin_mask, end_mask)):
        if shrink_axis_mask >> axis & 1:
            length = count_positions(steps)
            need(
                steps.step > 0 and length == 1,
                f"axis {axis} is dropped by shrink_axis_mask, but is sliced to {length} with stride {steps.step}, "
                "must be sliced to 1 with a stride above 0",
            )
        else:
            shape.append(count_positions(steps))
    return tuple(shape) or (1,)


@STRIDED_SLICE.kernel(kind="raw")
def strided_slice(
    input: Array, begin: Array, end: Array, strides: Array, begin_mask: int, end_mask: int, shrink_axis_mask: int
) -> Array:
    steps = slice_steps(input.shape, begin, end, strides, begin_mask, end_mask)
    out = input[tuple(_as_slice(s) for s in steps)]
    shape = tuple(count_positions(s) for axis, s in enumerate(steps) if not shrink_axis_mask >> axis & 1)
    return out.reshape(shape or (1,))


def slice_steps(
    shape: Shape, begin: Array, end: Array, strides: Array, begin_mask: int, end_mask: int
) -> list[range | Positions]:
    ranges = []
    for axis, (dimension, first, last, step) in enumerate(
        zip(shape, begin.tolist(), end.tolist(), strides.tolist(), strict=True)
    ):
        low, high = (0, dimension) if step > 0 else (-1, dimension - 1)
        from_end, to_end = (low, high) if step > 0 else (high, low)
        start = from_end if begin_mask >> axis & 1 else min(max(first + dimension * (first < 0), low), high)
        stop = to_end if end_mask >> axis & 1 else min(max(last + dimension * (last < 0), low), high)
        ranges.append(make_positions(start, stop, step))
    return ranges


def _as_slice(steps: range | Positions) -> slice:
    """Return indices as a slice for NumPy; a stop of -1 becomes None, because NumPy's -1 is the last element."""
    if not count_positions(steps):
        return slice(0)
    return slice(steps.start, steps.stop if steps.stop >= 0 else None, steps.step)


@SLICE.proposal
def propose_slice(draw: Draw) -> Proposal:
    shape = draw.shape()
    begin = [draw.upto(dimension - 1) for dimension in shape]
    size = [draw.pick(-1, 1 + draw.upto(dimension - first - 1)) for dimension, first in zip(shape, begin, strict=True)]
    return Proposal({"input": shape}, numbers={"begin": begin, "size": size})


@STRIDED_SLICE.proposal
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
