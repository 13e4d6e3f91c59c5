"""The part of the schema of .tflite files that is read or written, as data: numbers of fields, names of enumerations.

Fields are numbered in the order in which the schema declares them.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple


class Model:
    VERSION, OPERATOR_CODES, SUBGRAPHS, BUFFERS, METADATA, SIGNATURE_DEFS = 0, 1, 2, 4, 6, 7


class Metadata:
    NAME, BUFFER = range(2)


class SignatureDef:
    INPUTS, OUTPUTS, SIGNATURE_KEY = range(3)
    SUBGRAPH_INDEX = 4


class TensorMap:
    NAME, TENSOR_INDEX = range(2)


class OperatorCode:
    DEPRECATED_BUILTIN_CODE, CUSTOM_CODE, VERSION, BUILTIN_CODE = range(4)


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
    head, _, fields = LAYOUTS[kind].partition(": ")
    is_second = head.startswith("second")
    return Layout(
        int(head.split()[is_second]),
        is_second,
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
    "AddOptions": "11 ADD: activation b",
    "ArgMaxOptions": "40 ARG_MAX: type b",
    "ArgMinOptions": "57 ARG_MIN: type b",
    "BatchMatMulOptions": "101 BATCH_MATMUL: adj_x ?, adj_y ?",
    "BidirectionalSequenceLSTMOptions": "69 BIDIRECTIONAL_SEQUENCE_LSTM: activation b, cell_clip f, proj_clip f, merge_outputs ?, time_major ? 1",
    "BidirectionalSequenceRNNOptions": "70 BIDIRECTIONAL_SEQUENCE_RNN: time_major ?, activation b, merge_outputs ?",
    "BucketizeOptions": "115 BUCKETIZE: boundaries [f]",
    "CallOptions": "16 CALL: subgraph I",
    "CastOptions": "37 CAST: source b, target b",
    "ConcatenationOptions": "10 CONCATENATION: axis i, activation b",
    "Conv2DOptions": "1 CONV_2D: padding b, stride_w i, stride_h i, activation b, dilation_w i 1, dilation_h i 1",
    "CumsumOptions": "102 CUMSUM: exclusive ?, reverse ?",
    "DepthToSpaceOptions": "94 DEPTH_TO_SPACE: block_size i",
    "DepthwiseConv2DOptions": "2 DEPTHWISE_CONV_2D: padding b, stride_w i, stride_h i, multiplier i, activation b, dilation_w i 1, "
    "dilation_h i 1",
    "DivOptions": "29 DIV: activation b",
    "FakeQuantOptions": "58 FAKE_QUANT: min f, max f, num_bits i, narrow_range ?",
    "FullyConnectedOptions": "8 FULLY_CONNECTED: activation b, weights_format b, keep_dims ?",
    "GatherOptions": "23 GATHER: axis i, batch_dims i",
    "GeluOptions": "116 GELU: approximate ?",
    "IfOptions": "92 IF: then_subgraph_index i, else_subgraph_index i",
    "L2NormOptions": "12 L2_NORMALIZATION: activation b",
    "LSHProjectionOptions": "4 LSH_PROJECTION: type b",
    "LSTMOptions": "14 LSTM: activation b, cell_clip f, proj_clip f, kernel_type b",
    "LeakyReluOptions": "75 LEAKY_RELU: alpha f",
    "LocalResponseNormalizationOptions": "13 LOCAL_RESPONSE_NORMALIZATION: radius i, bias f, alpha f, beta f",
    "MirrorPadOptions": "77 MIRROR_PAD: mode b",
    "MulOptions": "21 MUL: activation b",
    "OneHotOptions": "61 ONE_HOT: axis i",
    "PackOptions": "59 PACK: count i, axis i",
    "Pool2DOptions": "5 AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D: padding b, stride_w i, stride_h i, filter_w i, filter_h i, "
    "activation b",
    "RNNOptions": "7 RNN: activation b",
    "RandomOptions": "114 MULTINOMIAL: seed q, seed2 q",
    "ReducerOptions": "27 MEAN SUM REDUCE_PROD REDUCE_MAX REDUCE_MIN REDUCE_ANY REDUCE_ALL: keep_dims ?",
    "ReshapeOptions": "17 RESHAPE: new_shape [i]",
    "ResizeBilinearOptions": "15 RESIZE_BILINEAR: _ i, _ i, align_corners ?, half_pixel_centers ?",
    "ResizeNearestNeighborOptions": "74 RESIZE_NEAREST_NEIGHBOR: align_corners ?, half_pixel_centers ?",
    "ReverseSequenceOptions": "87 REVERSE_SEQUENCE: seq_dim i, batch_dim i",
    "SVDFOptions": "6 SVDF: rank i, activation b",
    "SequenceRNNOptions": "31 UNIDIRECTIONAL_SEQUENCE_RNN: time_major ?, activation b",
    "SoftmaxOptions": "9 SOFTMAX: beta f",
    "SpaceToDepthOptions": "19 SPACE_TO_DEPTH: block_size i",
    "SplitOptions": "35 SPLIT: num_splits i",
    "SqueezeOptions": "30 SQUEEZE: squeeze_dims [i]",
    "StableHLOCompositeOptions": "second 21 STABLEHLO_COMPOSITE: _ I, decomposition_subgraph_index i",
    "StablehloBroadcastInDimOptions": "second 2 STABLEHLO_BROADCAST_IN_DIM: broadcast_dimensions [q]",
    "StablehloCompareOptions": "second 8 STABLEHLO_COMPARE: comparison_direction I",
    "StablehloConcatenateOptions": "second 1 STABLEHLO_CONCATENATE: dimension q",
    "StablehloIotaOptions": "second 11 STABLEHLO_IOTA: iota_dimension q",
    "StablehloPadOptions": "second 10 STABLEHLO_PAD: edge_padding_low [q], edge_padding_high [q], interior_padding [q]",
    "StablehloSliceOptions": "second 3 STABLEHLO_SLICE: start_indices [q], limit_indices [q], strides [q]",
    "StablehloTransposeOptions": "second 17 STABLEHLO_TRANSPOSE: permutation [q]",
    "StridedSliceOptions": "32 STRIDED_SLICE: begin_mask i, end_mask i, ellipsis_mask i, new_axis_mask i, shrink_axis_mask i, offset ?",
    "SubOptions": "28 SUB: activation b",
    "TransposeConvOptions": "49 TRANSPOSE_CONV: padding b, stride_w i, stride_h i, activation b",
    "UnidirectionalSequenceLSTMOptions": "71 UNIDIRECTIONAL_SEQUENCE_LSTM: activation b, cell_clip f, proj_clip f, time_major ?, "
    "asymmetric_quantize_inputs ?, diagonal_recurrent_tensors ?",
    "UnpackOptions": "64 UNPACK: num i, axis i",
    "WhileOptions": "93 WHILE: cond_subgraph_index i, body_subgraph_index i",
}
"""Parameters of operations, by the name of their table: number in the union, the operations that have it, then the
fields. Names are those of the published schema, shortened where the builder's methods say the same in fewer letters."""

OPTIONS = {kind: table for table, text in LAYOUTS.items() for kind in text.partition(":")[0].split() if kind.isupper()}
"""The table of an operation's parameters; operations that are not here have none that anybody reads or writes."""

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
ELEMENTS = {"f32": 0, "f16": 1, "i32": 2, "u8": 3, "bool": 6, "i16": 7, "i8": 9}
"""Numbers of the element types that graphs are written with, by the names that their tensors carry."""

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

CUSTOM = "CUSTOM:"
"""What the names of operations begin with that are none of these; their parameters are bytes, called ``content``."""
DETECTION = f"{CUSTOM}TFLite_Detection_PostProcess"
SAME, VALID = 0, 1
"""Padding schemes."""
