"""Weights with a scale for each block."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.formats.tflite.reader import OMITTED, Blocks, Tensor
from nnapi.importers.refusals import Refused, expressible
from nnapi.importers.tflite.tensors import dequantize_blocks, read_constant, read_stored
from nnapi.model.operand import Array


class Packed(NamedTuple):
    """A matrix of weights as BLOCKWISE_FULLY_CONNECTED has it."""

    values: Array
    scales: Array
    bits: int
    block_size: int


BITS = {"INT4": 4, "INT8": 8}


def read_packed(tensor: Tensor, tensors: Sequence[Tensor], content: memoryview) -> Packed | None:
    """Return a constant matrix without unpacking it; its integers become unsigned. None for other weights."""
    blocks, bits = tensor.blocks, BITS.get(tensor.type, 0)
    if blocks is None or not bits or not tensor.region or tensor.sparsity or len(tensor.shape) != 2:
        return None
    units, depth = tensor.shape
    if blocks.size <= 0 or depth % blocks.size or blocks.size * bits % 8:
        return None
    scales = _read_scales(tensor, blocks, tensors, content)
    if scales.shape != (units, depth // blocks.size):
        return None
    sign = np.uint8(0x88 if bits == 4 else 0x80)
    values = (read_stored(tensor, content).view(np.uint8) ^ sign).reshape(*scales.shape, blocks.size * bits // 8)
    return Packed(values, scales.astype(np.float32), bits, blocks.size)


def read_in_blocks(tensor: Tensor, blocks: Blocks, tensors: Sequence[Tensor], content: memoryview) -> Array:
    """Return the real values of a tensor, whose scales are in another one of ``tensors``."""
    values, _ = read_constant(tensor, content)
    return dequantize_blocks(values, _read_scales(tensor, blocks, tensors, content), blocks.size, str(tensor))


def _read_scales(tensor: Tensor, blocks: Blocks, tensors: Sequence[Tensor], content: memoryview) -> Array:
    scales, points = (_read_part(tensor, index, tensors, content) for index in (blocks.scales, blocks.zero_points))
    if scales is None:
        raise Refused(f"{tensor} has no scales")
    expressible(points is None or not points.any(), f"{tensor} has a zero point for each block")
    return scales


def _read_part(tensor: Tensor, index: int, tensors: Sequence[Tensor], content: memoryview) -> Array | None:
    if index == OMITTED:
        return None
    is_there = 0 <= index < len(tensors)
    need(is_there, f"{tensor} refers to tensor {index}, the subgraph has {len(tensors)}", BadDataError)
    part = tensors[index]
    need(
        part.type in ("FLOAT16", "FLOAT32", "INT32") and part.region,
        f"{tensor} has its scales or zero points in {part}, which holds none",
        BadDataError,
    )
    return read_constant(part, content)[0]
