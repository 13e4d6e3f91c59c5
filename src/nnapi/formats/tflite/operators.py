"""One row per operator of TensorFlow Lite: how a file stores its options and what graphs need to know of its kind.

Importers, exporters, the delegate and the drivers of LiteRT's engines read this table; nobody else lists operators.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

OPTION = -1
"""As the position of axes: the option ``axis``."""
COPY, CLAMP, CONVERT = ("Copy", "Concatenate", "Static Reshape"), ("Clamp",), ("Convert",)
"""Beginnings of names in XNNPACK's profiles that several operators share."""


class Row(NamedTuple):
    """One kind of operator. Everything beyond the name has a default, which also holds for custom operators."""

    name: str
    rule: str = ""
    """The module of the importer's rules that reads it; empty for an operator that is not read."""
    options: str = ""
    """The table of options in the schema, its number in the union, then its fields, in schema order, which is the order
    of the members of LiteRT's C structure too: :func:`options_table`."""
    high_rank: bool = False
    """The importer reads it on more dimensions than NNAPI's operations take."""
    broadcasts: bool = False
    """Inputs of other shapes are repeated to the output's."""
    sums: bool = False
    """It sums products of its first two inputs."""
    channelwise: int = 0
    """Number of inputs, where it treats every channel of them alike."""
    rounds: bool = False
    """XNNPACK may round a quantized value that lies halfway between two the other way than NNAPI."""
    unsigned: bool = False
    """XNNPACK computes it on unsigned quantized values as on signed ones."""
    weights: tuple[int, ...] = ()
    """Inputs that may be constant signed values of 8 bits while the first input is float32."""
    axis: int | None = None
    """The input that holds the axes it works along, or OPTION."""
    states: tuple[int, ...] = ()
    """Inputs that are variables, which it changes."""
    states_out: tuple[int, ...] = ()
    """Those of the states whose new values follow the output where graphs have them as functions."""
    persistent: bool = False
    """It reads or writes something that outlives a run."""
    subgraphs: bool = False
    """It runs other subgraphs of its file."""
    events: tuple[str, ...] = ()
    """Beginnings of its names in XNNPACK's profiles; by default the first three letters of its own."""


_TABLE = """
ADD | elementwise | high_rank broadcasts channelwise=2 unsigned | AddOptions 11: activation b
AVERAGE_POOL_2D | pooling | channelwise=1 rounds unsigned | Pool2DOptions 5: padding b, stride_w i, stride_h i, filter_w i, filter_h i, activation b
CONCATENATION | shape | high_rank unsigned axis=option events=Copy+Concatenate+Static_Reshape | ConcatenationOptions 10: axis i, activation b
CONV_2D | convolution | sums unsigned weights=1 events=Convolution+Fully_Connected | Conv2DOptions 1: padding b, stride_w i, stride_h i, activation b, dilation_w i 1, dilation_h i 1
DEPTHWISE_CONV_2D | convolution | sums unsigned events=Convolution | DepthwiseConv2DOptions 2: padding b, stride_w i, stride_h i, multiplier i, activation b, dilation_w i 1, dilation_h i 1
DEPTH_TO_SPACE | pooling | | DepthToSpaceOptions 94: block_size i
DEQUANTIZE | quantization | high_rank channelwise=1 unsigned events=Convert
EMBEDDING_LOOKUP | indexing
FLOOR | elementwise | high_rank
FULLY_CONNECTED | convolution | sums unsigned weights=1 | FullyConnectedOptions 8: activation b, weights_format b, keep_dims ?
HASHTABLE_LOOKUP | indexing
L2_NORMALIZATION | pooling | | L2NormOptions 12: activation b
L2_POOL_2D | pooling | | Pool2DOptions 5: padding b, stride_w i, stride_h i, filter_w i, filter_h i, activation b
LOCAL_RESPONSE_NORMALIZATION | pooling | | LocalResponseNormalizationOptions 13: radius i, bias f, alpha f, beta f
LOGISTIC | elementwise | high_rank channelwise=1 unsigned events=Sigmoid
LSH_PROJECTION | indexing | | LSHProjectionOptions 4: type b
LSTM | recurrent | weights=1,2,3,4,5,6,7,8 states=18,19 states_out=19 | LSTMOptions 14: activation b, cell_clip f, proj_clip f, kernel_type b
MAX_POOL_2D | pooling | channelwise=1 unsigned | Pool2DOptions 5: padding b, stride_w i, stride_h i, filter_w i, filter_h i, activation b
MUL | elementwise | high_rank broadcasts channelwise=2 unsigned | MulOptions 21: activation b
RELU | elementwise | high_rank channelwise=1 unsigned events=Clamp
RELU_N1_TO_1 | elementwise | high_rank channelwise=1 events=Clamp
RELU6 | elementwise | high_rank channelwise=1 unsigned events=Clamp
RESHAPE | shape | high_rank unsigned events=Copy+Concatenate+Static_Reshape | ReshapeOptions 17: new_shape [i]
RESIZE_BILINEAR | pooling | channelwise=1 rounds unsigned | ResizeBilinearOptions 15: _ i, _ i, align_corners ?, half_pixel_centers ?
RNN | recurrent | | RNNOptions 7: activation b
SOFTMAX | elementwise | | SoftmaxOptions 9: beta f
SPACE_TO_DEPTH | pooling | | SpaceToDepthOptions 19: block_size i
SVDF | recurrent | | SVDFOptions 6: rank i, activation b
TANH | elementwise | high_rank channelwise=1
CONCAT_EMBEDDINGS
SKIP_GRAM
CALL | control_flow | subgraphs | CallOptions 16: subgraph I
CUSTOM
EMBEDDING_LOOKUP_SPARSE
PAD | shape | unsigned events=Constant_Pad
UNIDIRECTIONAL_SEQUENCE_RNN | recurrent | states=4 | SequenceRNNOptions 31: time_major ?, activation b
GATHER | indexing | axis=option | GatherOptions 23: axis i, batch_dims i
BATCH_TO_SPACE_ND | pooling
SPACE_TO_BATCH_ND | pooling
TRANSPOSE | shape | high_rank unsigned
MEAN | reduction | high_rank rounds unsigned axis=1 | ReducerOptions 27: keep_dims ?
SUB | elementwise | high_rank broadcasts channelwise=2 unsigned | SubOptions 28: activation b
DIV | elementwise | high_rank broadcasts | DivOptions 29: activation b
SQUEEZE | shape | high_rank | SqueezeOptions 30: squeeze_dims [i]
UNIDIRECTIONAL_SEQUENCE_LSTM | recurrent | weights=1,2,3,4,5,6,7,8 states=18,19 states_out=19 | UnidirectionalSequenceLSTMOptions 71: activation b, cell_clip f, proj_clip f, time_major ?, asymmetric_quantize_inputs ?, diagonal_recurrent_tensors ?
STRIDED_SLICE | indexing | events=Slice | StridedSliceOptions 32: begin_mask i, end_mask i, ellipsis_mask i, new_axis_mask i, shrink_axis_mask i, offset ?
BIDIRECTIONAL_SEQUENCE_RNN | recurrent | | BidirectionalSequenceRNNOptions 70: time_major ?, activation b, merge_outputs ?
EXP | elementwise | high_rank
TOPK_V2 | indexing
SPLIT | shape | high_rank axis=0 events=Split+Even_Split+Copy+Slice | SplitOptions 35: num_splits i
LOG_SOFTMAX | elementwise
DELEGATE
BIDIRECTIONAL_SEQUENCE_LSTM | recurrent | | BidirectionalSequenceLSTMOptions 69: activation b, cell_clip f, proj_clip f, merge_outputs ?, time_major ? 1
CAST | quantization | high_rank | CastOptions 37: source b, target b
PRELU | elementwise | broadcasts
MAXIMUM | elementwise | high_rank broadcasts
ARG_MAX | indexing | unsigned axis=1 | ArgMaxOptions 40: type b
MINIMUM | elementwise | high_rank broadcasts
LESS | elementwise | high_rank broadcasts
NEG | elementwise | high_rank
PADV2 | shape | events=Constant_Pad
GREATER | elementwise | high_rank broadcasts
GREATER_EQUAL | elementwise | high_rank broadcasts
LESS_EQUAL | elementwise | high_rank broadcasts
SELECT | elementwise | high_rank broadcasts
SLICE | indexing | high_rank unsigned
SIN | elementwise | high_rank
TRANSPOSE_CONV | convolution | sums events=Deconvolution | TransposeConvOptions 49: padding b, stride_w i, stride_h i, activation b
SPARSE_TO_DENSE | scatter
TILE | shape | high_rank
EXPAND_DIMS | shape | high_rank
EQUAL | elementwise | high_rank broadcasts
NOT_EQUAL | elementwise | high_rank broadcasts
LOG | elementwise | high_rank
SUM | reduction | high_rank axis=1 | ReducerOptions 27: keep_dims ?
SQRT | elementwise | high_rank
RSQRT | elementwise | high_rank events=Reciprocal
SHAPE | shape
POW | elementwise | high_rank broadcasts
ARG_MIN | indexing | axis=1 | ArgMinOptions 57: type b
FAKE_QUANT | quantization | | FakeQuantOptions 58: min f, max f, num_bits i, narrow_range ?
REDUCE_PROD | reduction | high_rank axis=1 | ReducerOptions 27: keep_dims ?
REDUCE_MAX | reduction | high_rank axis=1 | ReducerOptions 27: keep_dims ?
PACK | shape | high_rank axis=option events=Copy+Concatenate+Static_Reshape | PackOptions 59: count i, axis i
LOGICAL_OR | elementwise | high_rank broadcasts
ONE_HOT | shape | | OneHotOptions 61: axis i
LOGICAL_AND | elementwise | high_rank broadcasts
LOGICAL_NOT | elementwise | high_rank
UNPACK | shape | high_rank | UnpackOptions 64: num i, axis i
REDUCE_MIN | reduction | high_rank axis=1 | ReducerOptions 27: keep_dims ?
FLOOR_DIV | arithmetic | broadcasts
REDUCE_ANY | reduction | axis=1 | ReducerOptions 27: keep_dims ?
SQUARE | elementwise | high_rank
ZEROS_LIKE | shape
FILL | shape
FLOOR_MOD | arithmetic | broadcasts
RANGE | shape
RESIZE_NEAREST_NEIGHBOR | pooling | channelwise=1 | ResizeNearestNeighborOptions 74: align_corners ?, half_pixel_centers ?
LEAKY_RELU | elementwise | high_rank | LeakyReluOptions 75: alpha f
SQUARED_DIFFERENCE | elementwise | high_rank broadcasts
MIRROR_PAD | shape | | MirrorPadOptions 77: mode b
ABS | elementwise | high_rank
SPLIT_V | shape
UNIQUE
CEIL | arithmetic
REVERSE_V2 | shape | axis=1
ADD_N | elementwise
GATHER_ND | indexing
COS | arithmetic
WHERE
RANK | shape
ELU | elementwise | high_rank
REVERSE_SEQUENCE | indexing | | ReverseSequenceOptions 87: seq_dim i, batch_dim i
MATRIX_DIAG | shape
QUANTIZE | quantization | high_rank channelwise=1 unsigned events=Convert
MATRIX_SET_DIAG | shape
ROUND | arithmetic
HARD_SWISH | elementwise | high_rank channelwise=1
IF | control_flow | subgraphs | IfOptions 92: then_subgraph_index i, else_subgraph_index i
WHILE | control_flow | subgraphs | WhileOptions 93: cond_subgraph_index i, body_subgraph_index i
NON_MAX_SUPPRESSION_V4
NON_MAX_SUPPRESSION_V5
SCATTER_ND | scatter
SELECT_V2 | elementwise | high_rank broadcasts
DENSIFY | quantization
SEGMENT_SUM | scatter
BATCH_MATMUL | reduction | sums | BatchMatMulOptions 101: adj_x ?, adj_y ?
PLACEHOLDER_FOR_GREATER_OP_CODES
CUMSUM | arithmetic | | CumsumOptions 102: exclusive ?, reverse ?
CALL_ONCE | | persistent subgraphs
BROADCAST_TO | shape | high_rank
RFFT2D
CONV_3D
IMAG
REAL
COMPLEX_ABS
HASHTABLE | | persistent
HASHTABLE_FIND | | persistent
HASHTABLE_IMPORT | | persistent
HASHTABLE_SIZE | | persistent
REDUCE_ALL | reduction | axis=1 | ReducerOptions 27: keep_dims ?
CONV_3D_TRANSPOSE
VAR_HANDLE | | persistent
READ_VARIABLE | | persistent
ASSIGN_VARIABLE | | persistent
BROADCAST_ARGS | shape
RANDOM_STANDARD_NORMAL
BUCKETIZE | reduction | | BucketizeOptions 115: boundaries [f]
RANDOM_UNIFORM
MULTINOMIAL | elementwise | | RandomOptions 114: seed q, seed2 q
GELU | arithmetic | high_rank | GeluOptions 116: approximate ?
DYNAMIC_UPDATE_SLICE | scatter
RELU_0_TO_1 | elementwise | high_rank
UNSORTED_SEGMENT_PROD
UNSORTED_SEGMENT_MAX
UNSORTED_SEGMENT_SUM | scatter
ATAN2
UNSORTED_SEGMENT_MIN
SIGN | arithmetic
BITCAST
BITWISE_XOR
RIGHT_SHIFT
STABLEHLO_LOGISTIC | elementwise
STABLEHLO_ADD | elementwise
STABLEHLO_DIVIDE | elementwise
STABLEHLO_MULTIPLY | elementwise
STABLEHLO_MAXIMUM | elementwise
STABLEHLO_RESHAPE | stablehlo
STABLEHLO_CLAMP | elementwise
STABLEHLO_CONCATENATE | stablehlo | | StablehloConcatenateOptions second 1: dimension q
STABLEHLO_BROADCAST_IN_DIM | stablehlo | | StablehloBroadcastInDimOptions second 2: broadcast_dimensions [q]
STABLEHLO_CONVOLUTION
STABLEHLO_SLICE | stablehlo | | StablehloSliceOptions second 3: start_indices [q], limit_indices [q], strides [q]
STABLEHLO_CUSTOM_CALL
STABLEHLO_REDUCE
STABLEHLO_ABS | elementwise
STABLEHLO_AND | elementwise
STABLEHLO_COSINE | arithmetic
STABLEHLO_EXPONENTIAL | elementwise
STABLEHLO_FLOOR | elementwise
STABLEHLO_LOG | elementwise
STABLEHLO_MINIMUM | elementwise
STABLEHLO_NEGATE | elementwise
STABLEHLO_OR | elementwise
STABLEHLO_POWER | elementwise
STABLEHLO_REMAINDER
STABLEHLO_RSQRT | elementwise
STABLEHLO_SELECT | elementwise
STABLEHLO_SUBTRACT | elementwise
STABLEHLO_TANH | elementwise
STABLEHLO_SCATTER
STABLEHLO_COMPARE | elementwise | | StablehloCompareOptions second 8: comparison_direction I
STABLEHLO_CONVERT | quantization
STABLEHLO_DYNAMIC_SLICE
STABLEHLO_DYNAMIC_UPDATE_SLICE
STABLEHLO_PAD | stablehlo | | StablehloPadOptions second 10: edge_padding_low [q], edge_padding_high [q], interior_padding [q]
STABLEHLO_IOTA | stablehlo | | StablehloIotaOptions second 11: iota_dimension q
STABLEHLO_DOT_GENERAL
STABLEHLO_REDUCE_WINDOW
STABLEHLO_SORT
STABLEHLO_WHILE | | subgraphs
STABLEHLO_GATHER
STABLEHLO_TRANSPOSE | stablehlo | | StablehloTransposeOptions second 17: permutation [q]
DILATE
STABLEHLO_RNG_BIT_GENERATOR
REDUCE_WINDOW
STABLEHLO_COMPOSITE | control_flow | subgraphs | StableHLOCompositeOptions second 21: _ I, decomposition_subgraph_index i
STABLEHLO_SHIFT_LEFT
STABLEHLO_CBRT
"""
"""In the order of the schema's ``BuiltinOperator``: name | rule | what else is true | options.

Options are named as in the published schema, shortened where the builder's methods say the same in fewer letters.
"""


def _row(line: str) -> Row:
    name, rule, words, options = (f"{line} | | | ").split(" |")[:4]
    return Row(name, rule.strip(), options.strip(), **dict(map(_fact, words.split())))


def _fact(word: str) -> tuple[str, Any]:
    """``fact``, ``fact=number``, ``fact=number,number`` or, of events, ``fact=A_name+Another``."""
    name, _, value = word.partition("=")
    if name == "events":
        return name, tuple(value.replace("_", " ").split("+"))
    if name in ("weights", "states", "states_out"):
        return name, tuple(map(int, value.split(",")))
    return name, OPTION if value == "option" else int(value) if value else True


OPERATORS = tuple(map(_row, _TABLE.strip().splitlines()))
"""The rows: an index is the operator's number."""
BY_NAME = {row.name: row for row in OPERATORS}
UNKNOWN = Row("")


def facts(kind: str) -> Row:
    """The row of an operator; one of nothing but defaults for a custom operator."""
    return BY_NAME.get(kind, UNKNOWN)


class Field(NamedTuple):
    """A field of a table of options: its number, how it is stored (the struct module's letter), whether it is a vector
    of such numbers, and its value where the file omits it."""

    number: int
    code: str
    is_vector: bool
    default: Any


class OptionsTable(NamedTuple):
    """A table of options: its name, its number in the union ``BuiltinOptions`` or ``BuiltinOptions2``, its fields."""

    name: str
    member: int
    is_second: bool
    fields: dict[str, Field]


NONE = OptionsTable("NONE", 0, False, {})
"""The union's first member: no options."""


@cache
def options_table(kind: str) -> OptionsTable:
    """The table of an operator's options; NONE for an operator without options that anybody reads or writes."""
    text = facts(kind).options
    if not text:
        return NONE
    head, _, fields = text.partition(": ")
    name, *union, member = head.split()
    named = [_field(number, field) for number, field in enumerate(fields.split(", "))]
    return OptionsTable(name, int(member), bool(union), dict(named))


def _field(number: int, text: str) -> tuple[str, Field]:
    """Parse ``name code``, ``name code default`` or, for a vector, ``name [code]``; ``_`` is a deprecated field."""
    name, code, *default = text.split()
    if code.startswith("["):
        return name, Field(number, code[1:-1], True, ())
    value: Any = False if code == "?" else 0.0 if code == "f" else 0
    return name, Field(number, code, False, type(value)(int(default[0])) if default else value)
