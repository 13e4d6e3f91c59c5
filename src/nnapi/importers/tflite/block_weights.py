"""Weights with a scale for each block."""

from collections.abc import Sequence

from nnapi.errors import BadDataError, need
from nnapi.formats.tflite.reader import OMITTED, Blocks, Tensor
from nnapi.importers.refusals import Refused, expressible
from nnapi.importers.tflite.tensors import dequantize_blocks, read_constant
from nnapi.model.operand import Array


def read_in_blocks(tensor: Tensor, blocks: Blocks, tensors: Sequence[Tensor], content: memoryview) -> Array:
    """Return the real values of a tensor, whose scales are in another one of ``tensors``."""
    scales, points = (_read_part(tensor, index, tensors, content) for index in (blocks.scales, blocks.zero_points))
    if scales is None:
        raise Refused(f"{tensor} has no scales")
    expressible(points is None or not points.any(), f"{tensor} has a zero point for each block")
    values, _ = read_constant(tensor, content)
    return dequantize_blocks(values, scales, blocks.size, str(tensor))


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
