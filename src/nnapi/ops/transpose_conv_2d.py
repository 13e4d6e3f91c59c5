"""TRANSPOSE_CONV_2D: the transpose of a convolution, plus bias and activation."""

import numpy as np

from nnapi.codes import OperationCode, PaddingCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Arguments, Operation, Overload
from nnapi.model.parameter import REQUIRED, Activation, Layout, Tensor, Values
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.convolution_parameters import check_bias, declare_filter, explicit_padding, implicit_padding, strides
from nnapi.ops.shapes import NO_PADDING, PAD_NAMES, Padding, Pair, describe_padding, need_image, pop_explicit_padding
from nnapi.ops.windows import taps


def _explicit(arguments: Arguments) -> Arguments:
    arguments = dict(arguments)
    stride = (arguments.pop("stride_h"), arguments.pop("stride_w"))
    padding = pop_explicit_padding(arguments)
    for (name, _), (before, _) in zip(PAD_NAMES, padding, strict=True):
        need(before >= 0, f"{name} is {before}, must not be negative")
    return arguments | {"padding": padding, "stride": stride}


def _implicit(arguments: Arguments) -> Arguments:
    """Return the arguments with the padding that a convolution from the wanted output to the input has."""
    arguments = dict(arguments)
    stride = (arguments.pop("stride_h"), arguments.pop("stride_w"))
    wanted = arguments.pop("output_shape")
    need(wanted.shape == (4,), f"output_shape has {wanted.size} numbers, must have 4")
    dimensions = wanted[2:4] if arguments["layout"] else wanted[1:3]
    scheme = arguments.pop("padding_scheme")
    legal = (PaddingCode.PADDING_SAME, PaddingCode.PADDING_VALID)
    need(scheme in legal, f"padding_scheme is {scheme}, must be 1 (SAME) or 2 (VALID)")
    padding: tuple[Pair, ...] = NO_PADDING
    if scheme == PaddingCode.PADDING_SAME:
        sizes = arguments["filter"].shape[1:3]
        padding = tuple(_same(int(e), size, step) for e, size, step in zip(dimensions, sizes, stride, strict=True))
    return arguments | {"padding": padding, "stride": stride}


def _same(wanted: int, size: int, stride: int) -> Pair:
    """Return SAME padding. The tail may be negative: output cells outside every filter window."""
    total = (-(-wanted // stride) - 1) * stride + size - wanted
    before = max(total, 0) // 2
    return before, total - before


TAIL = (*strides(3), Activation(since=3), Layout(default=REQUIRED))
OPERANDS = declare_filter(channel=0, level=3)

TRANSPOSE_CONV_2D = Operation(
    OperationCode.TRANSPOSE_CONV_2D,
    facts=Facts(Kind.CONVOLUTION, summed=slice(1, None)),
    overloads=(
        Overload("explicit_padding", (*OPERANDS, *explicit_padding(3), *TAIL), _explicit),
        Overload(
            "implicit_padding", (*OPERANDS, Values("output_shape", since=3), *implicit_padding(3), *TAIL), _implicit
        ),
    ),
    outputs=(Tensor("out", like="input", image=True),),
    zero_sized=True,
)


@TRANSPOSE_CONV_2D.shape
def infer_shape(input: OperandType, filter: OperandType, bias: OperandType, padding: Padding, stride: Pair) -> Shape:
    n, *image, depth = need_image("input", input)
    channels, *size, filter_depth = filter.shape
    need(depth == filter_depth, f"filter has depth {filter_depth}, input has {depth}")
    check_bias(bias, channels, input, filter)
    out = tuple(map(_dimension, image, size, stride, padding))
    need(min(out) > 0, f"out would be {out[0]} × {out[1]}, must not be empty: {describe_padding(padding)}")
    return (n, *out, channels)


def _dimension(dimension: int, size: int, stride: int, padding: Pair) -> int:
    return (dimension - 1) * stride + size - sum(padding)


@TRANSPOSE_CONV_2D.kernel(scaled=("input", "filter"))
def transpose_conv_2d(input: Array, filter: Array, bias: Array, padding: Padding, stride: Pair) -> Array:
    (n, h, w, _), (channels, kh, kw, _) = input.shape, filter.shape
    rows, columns = _dimension(h, kh, stride[0], padding[0]), _dimension(w, kw, stride[1], padding[1])
    y = np.empty((n, rows, columns, channels), input.dtype)
    y[:] = bias
    for i, (of_row, to_row) in taps(rows, kh, stride[0], padding[0][0], h):
        for j, (of_column, to_column) in taps(columns, kw, stride[1], padding[1][0], w):
            y[:, to_row, to_column] += input[:, of_row, of_column] @ filter[:, i, j].T
    return y


@TRANSPOSE_CONV_2D.proposal
def propose_transpose_conv(draw: Draw) -> Proposal:
    from nnapi.ops.window_proposals import WORK  # only random tests need it

    proposal, scheme = draw.proposal, draw.padding_scheme()
    small = [draw.pick(1, 1, 2, 3, 5, 8, 13) for _ in "hw"]
    n, h, w, depth = draw.image(n=draw.pick(1, 1, 2), h=small[0], w=small[1], c=draw.pick(1, draw.dimension(33)))
    wanted, sizes = [], []
    for name, dimension in (("h", h), ("w", w)):
        size, stride = draw.pick(1, 2, 3, 3, 4, 5), draw.pick(1, 1, 2, 2, 3, 5)
        whole = (dimension - 1) * stride + size
        proposal.scalars[f"stride_{name}"] = stride
        sizes.append(size)
        wanted.append((dimension - 1) * stride + 1 + draw.upto(stride - 1) if scheme == 1 else whole)
        sides = ("pad_top", "pad_bottom") if name == "h" else ("pad_left", "pad_right")
        if scheme is None:
            proposal.scalars |= dict.fromkeys(sides, 0)
            proposal.scalars[sides[0]] = draw.pick(0, draw.upto(min(size, whole) - 1))
            proposal.scalars[sides[1]] = draw.pick(0, draw.upto(min(size, whole - proposal.scalars[sides[0]]) - 1))
    units = draw.dimension(max(1, min(64, WORK // (n * h * w * sizes[0] * sizes[1] * depth))))
    proposal.shapes |= {"filter": (units, *sizes, depth), "bias": (units,)}
    if scheme is not None:
        proposal.numbers["output_shape"] = draw.store((n, wanted[0], wanted[1], units))
    return proposal
