"""The parameters of operators as LiteRT hands them to delegates: C structures, by the names of the file's schema.

LiteRT only adds members at the ends of these structures, so what is read here lies where it does in every version.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

from nnapi.formats.tflite import schema
from nnapi.importers.tflite.reader import Options

_CONVOLUTION = "padding i, stride_w i, stride_h i"
LAYOUTS = {
    "ADD SUB MUL DIV L2_NORMALIZATION": "activation i",
    "ARG_MAX ARG_MIN": "_ i",
    "BATCH_MATMUL": "adj_x ?, adj_y ?",
    "BIDIRECTIONAL_SEQUENCE_LSTM": "activation i, cell_clip f, proj_clip f, merge_outputs ?, time_major ?",
    "BIDIRECTIONAL_SEQUENCE_RNN": "time_major ?, activation i, merge_outputs ?",
    "CAST": "_ i, _ i",
    "CONCATENATION": "axis i, activation i",
    "CONV_2D": f"{_CONVOLUTION}, activation i, dilation_w i, dilation_h i",
    "CUMSUM": "exclusive ?, reverse ?",
    "DEPTHWISE_CONV_2D": f"{_CONVOLUTION}, multiplier i, activation i, dilation_w i, dilation_h i",
    "DEPTH_TO_SPACE SPACE_TO_DEPTH": "block_size i",
    "FAKE_QUANT": "min f, max f, num_bits i, narrow_range ?",
    "FULLY_CONNECTED": "activation i, weights_format i, keep_dims ?",
    "GATHER": "axis i, batch_dims i",
    "GELU": "approximate ?",
    "LEAKY_RELU": "alpha f",
    "LOCAL_RESPONSE_NORMALIZATION": "radius i, bias f, alpha f, beta f",
    "LSH_PROJECTION": "type i",
    "LSTM": "activation i, cell_clip f, proj_clip f, kernel_type i",
    "AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D": f"{_CONVOLUTION}, filter_w i, filter_h i, activation i",
    "MEAN SUM REDUCE_PROD REDUCE_MAX REDUCE_MIN REDUCE_ANY REDUCE_ALL": "keep_dims ?",
    "MIRROR_PAD": "mode i",
    "ONE_HOT": "axis i",
    "PACK": "count i, axis i",
    "RESHAPE": "new_shape 8i, length i",
    "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR": "align_corners ?, half_pixel_centers ?",
    "REVERSE_SEQUENCE": "seq_dim i, batch_dim i",
    "RNN": "activation i",
    "SOFTMAX": "beta f",
    "SPLIT": "num_splits i",
    "SQUEEZE": "squeeze_dims 8i, length i",
    "STRIDED_SLICE": "begin_mask i, end_mask i, ellipsis_mask i, new_axis_mask i, shrink_axis_mask i, offset ?",
    "SVDF": "rank i, activation i",
    "TRANSPOSE_CONV": f"{_CONVOLUTION}, activation i",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "activation i, cell_clip f, proj_clip f, time_major ?, "
    "asymmetric_quantize_inputs ?, diagonal_recurrent_tensors ?",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "time_major ?, activation i",
    "UNPACK": "num i, axis i",
}
"""The members that are read and those in front of them, by the operations that have the structure."""
_TEXTS = {kind: text for kinds, text in LAYOUTS.items() for kind in kinds.split()}
FROM_ONE = "padding", "mode"
"""What LiteRT numbers from one, with zero for what is not known, and the schema from zero."""


@cache
def _layout(kind: str) -> tuple[struct.Struct, list[tuple[str, int]]]:
    """The structure of an operation's parameters, and each member's name and length."""
    members = [member.split() for member in _TEXTS[kind].split(", ")]
    lengths = [(name, int(code[:-1] or 1)) for name, code in members]
    return struct.Struct("@" + "".join(code for _, code in members)), lengths


def has_layout(kind: str) -> bool:
    """Whether the parameters of an operation can be read: it has none, or they are known here."""
    return kind in _TEXTS or kind not in schema.OPTIONS


def size_of(kind: str) -> int:
    """The bytes that :func:`read_parameters` reads."""
    return _layout(kind)[0].size


def read_parameters(kind: str, content: Any) -> Options:
    """The parameters as the file has them; ``content`` are the bytes of the C structure."""
    layout, members = _layout(kind)
    numbers = iter(layout.unpack(content))
    found: dict[str, Any] = {}
    for name, length in members:
        taken = tuple(next(numbers) for _ in range(length))
        found[name] = taken if length > 1 else taken[0] - 1 if name in FROM_ONE else taken[0]
    if "length" in found:
        length = found.pop("length")
        found = {name: values[: max(length, 0)] for name, values in found.items()}
    return Options(**found)
