"""The discrete Fourier transform."""

from math import prod

import numpy as np

from nnapi.exporters.tflite.context import ExportContext, lower
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.refusal import require
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import axis_of

LONG = 1024
"""The least length of transforms that LiteRT's RFFT2D computes faster than a product with a matrix: of 2048 elements in
a fifth of the time, of 512 in 1.5 times, of 64 in 9 times. Its results for one element are wrong."""


@lower(Composite.DFT)
def dft(context: ExportContext, input: Tensor, axis: int, length: int, inverse: bool, onesided: bool) -> Tensor:
    """Emit RFFT2D of rows, which are images of one row; put the parts of its complex numbers into the last axis."""
    along = axis_of(axis, len(input.shape))
    length = length or input.shape[along]
    is_half = onesided and not inverse and input.shape[-1] == 1
    require(is_half, "TensorFlow Lite transforms real signals to half of the frequencies")
    require(length & (length - 1) == 0, f"LiteRT's RFFT2D takes powers of 2, not {length} elements")
    require(length >= LONG, f"LiteRT's RFFT2D of {length} elements is slower than a product")
    require(input.type == "f32", "LiteRT's RFFT2D takes float32")
    cells = input.shape[:-1]
    order = [*(each for each in range(len(cells)) if each != along), along]
    rows = context.transpose(context.reshape(input, cells), order)
    images = context.reshape(rows, (prod(rows.shape[:-1]), 1, rows.shape[-1]))
    bins = length // 2 + 1
    spectra = images.like(type="c64", shape=(*images.shape[:2], bins))
    found = context.emit("RFFT2D", [images, constant([1, length])], spectra)
    parts = [context.emit(kind, [found], found.like(type="f32")) for kind in ("REAL", "IMAG")]
    back = np.argsort(order).tolist()
    moved = [context.transpose(context.reshape(each, (*rows.shape[:-1], bins)), back) for each in parts]
    return context.concatenate([context.reshape(each, (*each.shape, 1)) for each in moved], len(cells))
