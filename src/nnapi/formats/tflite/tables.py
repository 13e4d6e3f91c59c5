"""Layouts of the tables of a .tflite file that is written."""

import struct
from collections.abc import Callable
from functools import cache

from nnapi.formats.tflite import schema
from nnapi.formats.tflite.layout import REFERENCE, Layout, layout_of

RECORD = 8
"""Alignment of records, because of the 64-bit zero points."""

R = REFERENCE
_MODEL = {"version": "I", "operator_codes": R, "subgraphs": R, "buffers": R}
MODELS = {
    (has_signature, has_metadata): layout_of(
        schema.Model,
        **_MODEL,
        **({"signature_defs": R} if has_signature else {}),
        **({"metadata": R} if has_metadata else {}),
    )
    for has_signature in (False, True)
    for has_metadata in (False, True)
}
METADATA = layout_of(schema.Metadata, name=R, buffer="I")
_CODE = {"deprecated_builtin_code": "b", "version": "i", "builtin_code": "i"}
CODE, CUSTOM_CODE = layout_of(schema.OperatorCode, **_CODE), layout_of(schema.OperatorCode, custom_code=R, **_CODE)
_SUBGRAPH = {"tensors": R, "inputs": R, "outputs": R, "operators": R}
SUBGRAPH, NAMED_SUBGRAPH = layout_of(schema.SubGraph, **_SUBGRAPH), layout_of(schema.SubGraph, **_SUBGRAPH, name=R)
TENSOR = {"shape": R, "type": "b", "buffer": "I", "is_variable": "?"}
PLAIN, QUANTIZED = layout_of(schema.Tensor, **TENSOR), layout_of(schema.Tensor, **TENSOR, quantization=R)
QUANTIZATION = layout_of(schema.QuantizationParameters, scale=R, zero_point=R, quantized_dimension="i")
IN_BLOCKS = layout_of(schema.QuantizationParameters, details_type="b", details=R)
BLOCKS = layout_of(schema.BlockwiseQuantization, scales="i", zero_points="i", block_size="i")
_OPERATOR = {"opcode_index": "I", "inputs": R, "outputs": R}
OPERATOR = layout_of(schema.Operator, **_OPERATOR)
_OPTIONS = {"builtin_options_type": "b", "builtin_options": R}
OPERATOR_WITH_OPTIONS = layout_of(schema.Operator, **_OPERATOR, **_OPTIONS)
OPERATOR_WITH_INTERMEDIATES = layout_of(schema.Operator, **_OPERATOR, **_OPTIONS, intermediates=R)
CUSTOM_OPERATOR = layout_of(schema.Operator, **_OPERATOR, custom_options=R)
COMPOSITE_OPERATOR = layout_of(schema.Operator, **_OPERATOR, builtin_options_2_type="b", builtin_options_2=R)
_COMPOSITE = {"name": R, "decomposition_subgraph_index": "i", "composite_attributes": R}
COMPOSITE_OPTIONS = layout_of(schema.StableHLOCompositeOptions, **_COMPOSITE)
COMPOSITE = "STABLEHLO_COMPOSITE"
EMPTY_BUFFER, BUFFER = Layout({}), layout_of(schema.Buffer, data=R)


@cache
def plain_packer(rank: int) -> tuple[Callable[..., bytes], int]:
    """Return the packing function for an unquantized tensor, and the offset of its dimensions."""
    end = PLAIN.size + 4 + 4 * rank
    return struct.Struct(f"<iIIb?xxI{rank}i{-end % RECORD}x").pack, PLAIN.size - PLAIN.at["shape"]


@cache
def quantized_packer(rank: int, count: int) -> tuple[Callable[..., bytes], tuple[int, int, int, int], int]:
    """Return the packing function for a tensor with ``count`` scales, its vectors' offsets, and its table's."""
    table = QUANTIZED.size + 4 + 4 * rank
    scales = table + QUANTIZATION.size
    end = scales + 4 + 4 * count
    zeros = end + -(end + 4) % RECORD
    pack = struct.Struct(f"<iIIIb?xxI{rank}iiIIiI{4 * count}s{zeros - end}xI{8 * count}s").pack
    shape, quantization = QUANTIZED.size - QUANTIZED.at["shape"], table - QUANTIZED.at["quantization"]
    scale = scales - table - QUANTIZATION.at["scale"]
    return pack, (shape, quantization, scale, zeros - table - QUANTIZATION.at["zero_point"]), table
