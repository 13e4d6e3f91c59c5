"""Convolutions of volumes, images of three dimensions, plus bias and activation.

CONV_3D: a volume convolved with filters in groups of channels, plus bias and activation.
TRANSPOSE_CONV_3D: the transpose of a convolution of a volume, plus bias and activation.

A volume is [batches, depth, height, width, channels], a filter [channels, depth, height, width, channels of a group].
``paddings`` has a row for each of the three axes: the cells before the volume and behind it.
"""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Activation, Scalar, Tensor, Values, positive
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.convolution_parameters import need_groups
from nnapi.ops.shapes import count_windows_in, need_image, need_numbers, need_shape
from nnapi.ops.signature_types import floats

OPERANDS = (
    Tensor("input", floats(3), rank=5, late_rank=True),
    Tensor("filter", like="input", rank=5, late_rank=True, since=3),
    Tensor("bias", like="input", rank=1, late_rank=True, since=3),
    Values("paddings", rank=2, since=3),
    Values("strides", since=3),
)
FACTS = Facts(Kind.CONVOLUTION, summed=slice(1, None))

CONV_3D = Operation(
    CompositeCode.CONV_3D,
    facts=FACTS,
    inputs=(
        *OPERANDS,
        Values("dilations", since=3),
        Scalar("groups", OperandCode.INT32, since=3, check=positive),
        Activation(since=3),
    ),
    outputs=(Tensor("out", like="input"),),
)
TRANSPOSE_CONV_3D = Operation(
    CompositeCode.TRANSPOSE_CONV_3D,
    facts=FACTS,
    inputs=(*OPERANDS, Activation(since=3)),
    outputs=(Tensor("out", like="input"),),
)


@CONV_3D.shape
def infer_shape(
    input: OperandType,
    filter: OperandType,
    bias: OperandType,
    paddings: Array,
    strides: Array,
    dilations: Array,
    groups: int,
) -> Shape:
    n, *volume, depth = need_image("input", input)
    units, *size, filter_depth = filter.shape
    need_groups(groups, depth, filter_depth, units)
    need_shape("bias", bias, (units,))
    return (n, *count_windows_in(volume, size, paddings, strides, dilations), units)


@CONV_3D.kernel
def conv_3d(
    input: Array, filter: Array, bias: Array, paddings: Array, strides: Array, dilations: Array, groups: int
) -> Array:
    """Multiply the cells at each filter tap by its weights, and add the products."""
    units, *size, depth = filter.shape
    x = np.pad(input, [(0, 0), *paddings, (0, 0)])
    out = count_windows_in(input.shape[1:4], size, paddings, strides, dilations)
    y = np.zeros((groups, len(x) * np.prod(out), units // groups), x.dtype)
    for tap in np.ndindex(*size):
        steps = zip(np.multiply(tap, dilations), out, strides, strict=True)
        cells = x[:, *(slice(first, first + count * stride, stride) for first, count, stride in steps)]
        weights = filter[:, *tap].reshape(groups, -1, depth)
        y += cells.reshape(-1, groups, depth).swapaxes(0, 1) @ weights.swapaxes(1, 2)
    return y.swapaxes(0, 1).reshape(len(x), *out, units) + bias


@TRANSPOSE_CONV_3D.shape
def infer_transposed_shape(
    input: OperandType, filter: OperandType, bias: OperandType, paddings: Array, strides: Array
) -> Shape:
    """Negative paddings behind the volume append cells that no filter tap reaches."""
    n, *volume, depth = need_image("input", input)
    units, *size, filter_depth = filter.shape
    need(depth == filter_depth, f"filter has depth {filter_depth}, input has {depth}")
    need_shape("bias", bias, (units,))
    need_numbers("paddings", paddings, (3, 2))
    need_numbers("strides", strides, (3,), least=1)
    need(bool((paddings[:, 0] >= 0).all()), f"paddings {paddings.tolist()} must not be negative before the volume")
    out = _measure(volume, size, paddings, strides)
    need(min(out) > 0, f"out would be {' × '.join(map(str, out))}, must not be empty")
    return (n, *out, units)


def _measure(volume: Shape | list[int], size: Shape | list[int], paddings: Array, strides: Array) -> Shape:
    whole = (np.array(volume) - 1) * strides + size
    return tuple((whole - paddings.sum(1)).tolist())


@TRANSPOSE_CONV_3D.kernel
def transpose_conv_3d(input: Array, filter: Array, bias: Array, paddings: Array, strides: Array) -> Array:
    """Add the cells times the weights of each filter tap where the tap puts them in the whole result; cut that."""
    (n, *volume, _), (units, *size, _) = input.shape, filter.shape
    out = _measure(volume, size, paddings, strides)
    whole = np.maximum((np.array(volume) - 1) * strides + size, paddings[:, 0] + out)
    y = np.zeros((n, *whole, units), input.dtype)
    for tap in np.ndindex(*size):
        steps = zip(tap, volume, strides, strict=True)
        where = tuple(slice(first, first + (count - 1) * stride + 1, stride) for first, count, stride in steps)
        y[:, *where] += input @ filter[:, *tap].T
    kept = tuple(slice(first, first + count) for first, count in zip(paddings[:, 0], out, strict=True))
    return y[:, *kept] + bias


@CONV_3D.proposal
def propose_convolution(draw: Draw) -> Proposal:
    from nnapi.ops.volume_proposals import draw_windows  # only random tests need it

    groups = draw.pick(1, 1, 1, 2, 3)
    shape, size = draw_windows(draw, groups * draw.pick(1, 2, 3, 8), dilates=True)
    if shape[-1] % groups:
        groups = 1
    units = groups * draw.pick(1, 2, 5, 8)
    draw.proposal.scalars["groups"] = groups
    draw.proposal.shapes |= {"filter": (units, *size, shape[-1] // groups), "bias": (units,)}
    return draw.proposal


@TRANSPOSE_CONV_3D.proposal
def propose_transposed(draw: Draw) -> Proposal:
    given = draw.need_rank(5)
    volume = [draw.pick(1, 1, 2, 3, 5) for _ in range(3)]
    shape = given or (draw.pick(1, 1, 2), *volume, draw.pick(1, 2, 3, 8))
    size, strides = ([draw.pick(1, 2, 3, 3, 4) for _ in range(3)], [draw.pick(1, 1, 2, 3) for _ in range(3)])
    paddings = [
        [draw.upto(cells // 2), draw.pick(0, draw.upto(cells // 2), -draw.upto(step - 1))]
        for cells, step in zip(size, strides, strict=True)
    ]
    units = draw.pick(1, 2, 5, 8)
    draw.proposal.shapes |= {"input": shape, "filter": (units, *size, shape[-1]), "bias": (units,)}
    draw.proposal.numbers |= {"paddings": np.array(paddings, np.int32), "strides": np.array(strides, np.int32)}
    return draw.proposal
