"""DFT: the discrete Fourier transform along an axis; the last axis has the real and the imaginary part.

If the last axis has one element, the input is real. Along the axis, the input is cut or extended with zeros to
``length`` elements; a length of 0 is the size of the axis. With ``onesided``, the result has the ``length`` // 2 + 1
frequencies from 0 on. The ``inverse`` divides by ``length``. With ``onesided``, it reads these frequencies and gives a
real result; a length of 0 is then twice the size of the axis minus 2.
"""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import floats

LARGEST_MATRIX = 1 << 23
"""The largest number of elements of the matrix of a transform that is computed as a product."""

DFT = Operation(
    CompositeCode.DFT,
    facts=Facts(Kind.PRODUCT),
    inputs=(
        Tensor("input", floats(3)),
        Scalar("axis", OperandCode.INT32, since=3),
        Scalar("length", OperandCode.INT32, since=3),
        Scalar("inverse", OperandCode.BOOL, since=3),
        Scalar("onesided", OperandCode.BOOL, since=3),
    ),
    outputs=(Tensor("out", like="input"),),
)


def find_length(size: int, length: int, is_real_inverse: bool) -> int:
    """Return the number of elements of the signal; ``size`` is that of the input's axis."""
    return length or (2 * (size - 1) if is_real_inverse else size)


@DFT.shape
def infer_shape(input: OperandType, axis: int, length: int, inverse: bool, onesided: bool) -> Shape:
    need(input.rank > 1, "input has one axis, must have one before that of the real and imaginary part")
    need(input.shape[-1] in (1, 2), f"the last axis of input has {input.shape[-1]} elements, must be 1 or 2")
    axis = axis_of(axis, input.rank)
    need(axis < input.rank - 1, f"axis {axis} has the real and imaginary part")
    count = find_length(input.shape[axis], length, inverse and onesided)
    need(count > 0, f"length is {length}, must be above 0")
    size = count // 2 + 1 if onesided and not inverse else count
    return (*input.shape[:axis], size, *input.shape[axis + 1 : -1], 1 if inverse and onesided else 2)


@DFT.kernel
def transform(input: Array, axis: int, length: int, inverse: bool, onesided: bool) -> Array:
    axis, parts = axis_of(axis, input.ndim), input.astype(np.float64)
    count = find_length(input.shape[axis], length, inverse and onesided)
    signal = parts[..., 0] + 1j * parts[..., 1] if input.shape[-1] == 2 else parts[..., 0]
    if inverse and onesided:
        return np.fft.irfft(signal, count, axis)[..., np.newaxis]
    found = (np.fft.ifft if inverse else np.fft.fft)(signal, count, axis)
    if onesided:
        found = found.take(range(count // 2 + 1), axis)
    return np.stack([found.real, found.imag], -1)


def make_matrix(size: int, parts: int, length: int, *, inverse: bool, onesided: bool) -> Array:
    """Return the matrix of the transform of ``size`` elements of 1 or 2 ``parts``, one row for each part of the input.

    The parts of an element are neighbors, in rows and in columns.
    """
    each = np.eye(size * parts).reshape(-1, size, parts)
    return transform(each, 1, length, inverse, onesided).reshape(size * parts, -1)


@DFT.proposal
def propose(draw: Draw) -> Proposal:
    shape = (*draw.shape(1, 2, 3), draw.pick(1, 2)) if draw.given is None else draw.shape(2, 3, 4)
    axis = draw.upto(len(shape) - 2)
    return Proposal({"input": shape}, {"axis": axis, "length": draw.pick(0, 0, draw.dimension(64))})
