"""The part of the schema of .tflite files that is read, as data: numbers of fields, names and numbers of enumerations.

Fields are numbered in the order in which the schema declares them.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple


class Model:
    VERSION, OPERATOR_CODES, SUBGRAPHS, BUFFERS = 0, 1, 2, 4


class OperatorCode:
    DEPRECATED_BUILTIN_CODE, CUSTOM_CODE, BUILTIN_CODE = 0, 1, 3


class SubGraph:
    TENSORS, INPUTS, OUTPUTS, OPERATORS, NAME = range(5)


class Buffer:
    DATA, OFFSET, SIZE = range(3)


class Tensor:
    SHAPE, TYPE, BUFFER, NAME, QUANTIZATION, IS_VARIABLE, SPARSITY, SHAPE_SIGNATURE = range(8)


class QuantizationParameters:
    SCALE, ZERO_POINT, DETAILS_TYPE, DETAILS, QUANTIZED_DIMENSION = range(2, 7)


BLOCKWISE = 2
"""DETAILS_TYPE where DETAILS are a BlockwiseQuantization."""


class SparsityParameters:
    TRAVERSAL_ORDER, BLOCK_MAP, DIM_METADATA = range(3)


class DimensionMetadata:
    FORMAT, DENSE_SIZE, ARRAY_SEGMENTS_TYPE, ARRAY_SEGMENTS, ARRAY_INDICES_TYPE, ARRAY_INDICES = range(6)


class BlockwiseQuantization:
    SCALES, ZERO_POINTS, BLOCK_SIZE = range(3)


class Operator:
    OPCODE_INDEX, INPUTS, OUTPUTS, BUILTIN_OPTIONS_TYPE, BUILTIN_OPTIONS, CUSTOM_OPTIONS = range(6)
    INTERMEDIATES, BUILTIN_OPTIONS_2_TYPE, BUILTIN_OPTIONS_2 = 8, 11, 12


class Field(NamedTuple):
    """A field of a table of parameters: its number, how it is stored (the struct module's letter), whether it is a
    vector of such numbers, and its value where the file leaves it out."""

    number: int
    code: str
    is_vector: bool
    default: Any


class Layout(NamedTuple):
    """A table of parameters: its number in the union ``BuiltinOptions``, or in ``BuiltinOptions2``; its fields."""

    member: int
    is_second: bool
    fields: dict[str, Field]


@cache
def layout(kind: str) -> Layout:
    """The table of parameters of that name in the schema."""
    place, _, fields = LAYOUTS[kind].partition(": ")
    return Layout(
        int(place.removeprefix("second ")),
        place.startswith("second"),
        {name: field for number, text in enumerate(fields.split(", ")) for name, field in [_field(number, text)]},
    )


def _field(number: int, text: str) -> tuple[str, Field]:
    """``name code``, ``name code default`` or, for a vector, ``name [code]``; ``_`` for a field that nobody reads."""
    name, code, *default = text.split()
    if code.startswith("["):
        return name, Field(number, code[1:-1], True, ())
    value: Any = False if code == "?" else 0.0 if code == "f" else 0
    return name, Field(number, code, False, type(value)(int(default[0])) if default else value)


LAYOUTS = {
    "AddOptions": "11: fused_activation_function b",
    "ArgMaxOptions": "40: output_type b",
    "ArgMinOptions": "57: output_type b",
    "BatchMatMulOptions": "101: adj_x ?, adj_y ?",
    "BidirectionalSequenceLSTMOptions": "69: fused_activation_function b, cell_clip f, proj_clip f, merge_outputs ?, time_major ? 1",
    "BidirectionalSequenceRNNOptions": "70: time_major ?, fused_activation_function b, merge_outputs ?",
    "BucketizeOptions": "115: boundaries [f]",
    "CallOptions": "16: subgraph I",
    "ConcatenationOptions": "10: axis i, fused_activation_function b",
    "Conv2DOptions": "1: padding b, stride_w i, stride_h i, fused_activation_function b, dilation_w_factor i 1, "
    "dilation_h_factor i 1",
    "CumsumOptions": "102: exclusive ?, reverse ?",
    "DepthToSpaceOptions": "94: block_size i",
    "DepthwiseConv2DOptions": "2: padding b, stride_w i, stride_h i, depth_multiplier i, fused_activation_function b, dilation_w_factor i 1, "
    "dilation_h_factor i 1",
    "DivOptions": "29: fused_activation_function b",
    "FakeQuantOptions": "58: min f, max f, num_bits i, narrow_range ?",
    "FullyConnectedOptions": "8: fused_activation_function b, weights_format b, keep_num_dims ?",
    "GatherOptions": "23: axis i, batch_dims i",
    "GeluOptions": "116: approximate ?",
    "IfOptions": "92: then_subgraph_index i, else_subgraph_index i",
    "L2NormOptions": "12: fused_activation_function b",
    "LSHProjectionOptions": "4: type b",
    "LSTMOptions": "14: fused_activation_function b, cell_clip f, proj_clip f, kernel_type b",
    "LeakyReluOptions": "75: alpha f",
    "LocalResponseNormalizationOptions": "13: radius i, bias f, alpha f, beta f",
    "MirrorPadOptions": "77: mode b",
    "MulOptions": "21: fused_activation_function b",
    "OneHotOptions": "61: axis i",
    "PackOptions": "59: values_count i, axis i",
    "Pool2DOptions": "5: padding b, stride_w i, stride_h i, filter_width i, filter_height i, fused_activation_function b",
    "RNNOptions": "7: fused_activation_function b",
    "RandomOptions": "114: seed q, seed2 q",
    "ReducerOptions": "27: keep_dims ?",
    "ReshapeOptions": "17: new_shape [i]",
    "ResizeBilinearOptions": "15: _ i, _ i, align_corners ?, half_pixel_centers ?",
    "ResizeNearestNeighborOptions": "74: align_corners ?, half_pixel_centers ?",
    "ReverseSequenceOptions": "87: seq_dim i, batch_dim i",
    "SVDFOptions": "6: rank i, fused_activation_function b",
    "SequenceRNNOptions": "31: time_major ?, fused_activation_function b",
    "SoftmaxOptions": "9: beta f",
    "SpaceToDepthOptions": "19: block_size i",
    "SplitOptions": "35: num_splits i",
    "SqueezeOptions": "30: squeeze_dims [i]",
    "StableHLOCompositeOptions": "second 21: _ I, decomposition_subgraph_index i",
    "StablehloBroadcastInDimOptions": "second 2: broadcast_dimensions [q]",
    "StablehloCompareOptions": "second 8: comparison_direction I",
    "StablehloConcatenateOptions": "second 1: dimension q",
    "StablehloIotaOptions": "second 11: iota_dimension q",
    "StablehloPadOptions": "second 10: edge_padding_low [q], edge_padding_high [q], interior_padding [q]",
    "StablehloSliceOptions": "second 3: start_indices [q], limit_indices [q], strides [q]",
    "StablehloTransposeOptions": "second 17: permutation [q]",
    "StridedSliceOptions": "32: begin_mask i, end_mask i, ellipsis_mask i, new_axis_mask i, shrink_axis_mask i, offset ?",
    "SubOptions": "28: fused_activation_function b",
    "TransposeConvOptions": "49: padding b, stride_w i, stride_h i, fused_activation_function b",
    "UnidirectionalSequenceLSTMOptions": "71: fused_activation_function b, cell_clip f, proj_clip f, time_major ?, asymmetric_quantize_inputs ?, "
    "diagonal_recurrent_tensors ?",
    "UnpackOptions": "64: num i, axis i",
    "WhileOptions": "93: cond_subgraph_index i, body_subgraph_index i",
}
"""Parameters of operations, by the name of their table: number in the union, then the fields."""

TYPES = (
    "FLOAT32",
    "FLOAT16",
    "INT32",
    "UINT8",
    "INT64",
    "STRING",
    "BOOL",
    "INT16",
    "COMPLEX64",
    "INT8",
    "FLOAT64",
    "COMPLEX128",
    "UINT64",
    "RESOURCE",
    "VARIANT",
    "UINT32",
    "UINT16",
    "INT4",
    "BFLOAT16",
)
"""Names of element types by number."""

_OPERATIONS = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC
LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH
SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER
BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM
ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE
TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK
LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL
FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL
REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND
HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM
BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS
HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE
ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU
DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2
UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE
STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE
STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE
STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG
STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT
STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT
STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL
STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE
STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT
"""
OPERATIONS = tuple(_OPERATIONS.split())
"""Names of built-in operations by number."""
