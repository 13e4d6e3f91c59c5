"""One row per operator of TensorFlow Lite: how a file stores its options and what graphs need to know of its kind.

Importers, exporters, the delegate and the drivers of LiteRT's engines read this table; nobody else lists operators.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

OPTION = -1
"""As the position of axes: the option ``axis``."""
FILTER, GATES = (1,), tuple(range(1, 9))
"""Positions of weights: a filter, and the matrices of a recurrent cell."""
COPY, CLAMP, CONVERT = ("Copy", "Concatenate", "Static Reshape"), ("Clamp",), ("Convert",)
"""Beginnings of names in XNNPACK's profiles."""


class Row(NamedTuple):
    """One kind of operator. Everything beyond the name has a default, which also holds for custom operators."""

    name: str
    options: str = ""
    """The table of options in the schema, its number in the union, then its fields, in schema order, which is the order
    of the members of LiteRT's C structure too: :func:`options_table`."""
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


def _plain(names: str) -> list[Row]:
    """Rows of operators without options that anybody reads or writes."""
    return [Row(name) for name in names.split()]


POOLING = "Pool2DOptions 5: padding b, stride_w i, stride_h i, filter_w i, filter_h i, activation b"
REDUCER = "ReducerOptions 27: keep_dims ?"
OPERATORS = (
    Row("ADD", "AddOptions 11: activation b", broadcasts=True, channelwise=2, unsigned=True),
    Row("AVERAGE_POOL_2D", POOLING, channelwise=1, rounds=True, unsigned=True),
    Row("CONCATENATION", "ConcatenationOptions 10: axis i, activation b", unsigned=True, axis=OPTION, events=COPY),
    Row(
        "CONV_2D",
        "Conv2DOptions 1: padding b, stride_w i, stride_h i, activation b, dilation_w i 1, dilation_h i 1",
        sums=True,
        unsigned=True,
        weights=FILTER,
        events=("Convolution", "Fully Connected"),
    ),
    Row(
        "DEPTHWISE_CONV_2D",
        "DepthwiseConv2DOptions 2: padding b, stride_w i, stride_h i, multiplier i, activation b, dilation_w i 1, dilation_h i 1",
        sums=True,
        unsigned=True,
        events=("Convolution",),
    ),
    Row("DEPTH_TO_SPACE", "DepthToSpaceOptions 94: block_size i"),
    Row("DEQUANTIZE", channelwise=1, unsigned=True, events=CONVERT),
    Row("EMBEDDING_LOOKUP"),
    Row("FLOOR"),
    Row(
        "FULLY_CONNECTED",
        "FullyConnectedOptions 8: activation b, weights_format b, keep_dims ?",
        sums=True,
        unsigned=True,
        weights=FILTER,
    ),
    Row("HASHTABLE_LOOKUP"),
    Row("L2_NORMALIZATION", "L2NormOptions 12: activation b"),
    Row("L2_POOL_2D", POOLING),
    Row("LOCAL_RESPONSE_NORMALIZATION", "LocalResponseNormalizationOptions 13: radius i, bias f, alpha f, beta f"),
    Row("LOGISTIC", channelwise=1, unsigned=True, events=("Sigmoid",)),
    Row("LSH_PROJECTION", "LSHProjectionOptions 4: type b"),
    Row(
        "LSTM",
        "LSTMOptions 14: activation b, cell_clip f, proj_clip f, kernel_type b",
        weights=GATES,
        states=(18, 19),
        states_out=(19,),
    ),
    Row("MAX_POOL_2D", POOLING, channelwise=1, unsigned=True),
    Row("MUL", "MulOptions 21: activation b", broadcasts=True, channelwise=2, unsigned=True),
    Row("RELU", channelwise=1, unsigned=True, events=CLAMP),
    Row("RELU_N1_TO_1", channelwise=1, events=CLAMP),
    Row("RELU6", channelwise=1, unsigned=True, events=CLAMP),
    Row("RESHAPE", "ReshapeOptions 17: new_shape [i]", unsigned=True, events=COPY),
    Row(
        "RESIZE_BILINEAR",
        "ResizeBilinearOptions 15: _ i, _ i, align_corners ?, half_pixel_centers ?",
        channelwise=1,
        rounds=True,
        unsigned=True,
    ),
    Row("RNN", "RNNOptions 7: activation b"),
    Row("SOFTMAX", "SoftmaxOptions 9: beta f"),
    Row("SPACE_TO_DEPTH", "SpaceToDepthOptions 19: block_size i"),
    Row("SVDF", "SVDFOptions 6: rank i, activation b"),
    Row("TANH", channelwise=1),
    Row("CONCAT_EMBEDDINGS"),
    Row("SKIP_GRAM"),
    Row("CALL", "CallOptions 16: subgraph I", subgraphs=True),
    Row("CUSTOM"),
    Row("EMBEDDING_LOOKUP_SPARSE"),
    Row("PAD", unsigned=True, events=("Constant Pad",)),
    Row("UNIDIRECTIONAL_SEQUENCE_RNN", "SequenceRNNOptions 31: time_major ?, activation b", states=(4,)),
    Row("GATHER", "GatherOptions 23: axis i, batch_dims i", axis=OPTION),
    Row("BATCH_TO_SPACE_ND"),
    Row("SPACE_TO_BATCH_ND"),
    Row("TRANSPOSE", unsigned=True),
    Row("MEAN", REDUCER, rounds=True, unsigned=True, axis=1),
    Row("SUB", "SubOptions 28: activation b", broadcasts=True, channelwise=2, unsigned=True),
    Row("DIV", "DivOptions 29: activation b", broadcasts=True),
    Row("SQUEEZE", "SqueezeOptions 30: squeeze_dims [i]"),
    Row(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "UnidirectionalSequenceLSTMOptions 71: activation b, cell_clip f, proj_clip f, time_major ?, asymmetric_quantize_inputs ?, diagonal_recurrent_tensors ?",
        weights=GATES,
        states=(18, 19),
        states_out=(19,),
    ),
    Row(
        "STRIDED_SLICE",
        "StridedSliceOptions 32: begin_mask i, end_mask i, ellipsis_mask i, new_axis_mask i, shrink_axis_mask i, offset ?",
        events=("Slice",),
    ),
    Row(
        "BIDIRECTIONAL_SEQUENCE_RNN", "BidirectionalSequenceRNNOptions 70: time_major ?, activation b, merge_outputs ?"
    ),
    Row("EXP"),
    Row("TOPK_V2"),
    Row("SPLIT", "SplitOptions 35: num_splits i", axis=0, events=("Split", "Even Split", "Copy", "Slice")),
    Row("LOG_SOFTMAX"),
    Row("DELEGATE"),
    Row(
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        "BidirectionalSequenceLSTMOptions 69: activation b, cell_clip f, proj_clip f, merge_outputs ?, time_major ? 1",
    ),
    Row("CAST", "CastOptions 37: source b, target b"),
    Row("PRELU", broadcasts=True),
    Row("MAXIMUM", broadcasts=True),
    Row("ARG_MAX", "ArgMaxOptions 40: type b", unsigned=True, axis=1),
    Row("MINIMUM", broadcasts=True),
    Row("LESS", broadcasts=True),
    Row("NEG"),
    Row("PADV2", events=("Constant Pad",)),
    Row("GREATER", broadcasts=True),
    Row("GREATER_EQUAL", broadcasts=True),
    Row("LESS_EQUAL", broadcasts=True),
    Row("SELECT", broadcasts=True),
    Row("SLICE", unsigned=True),
    Row("SIN"),
    Row(
        "TRANSPOSE_CONV",
        "TransposeConvOptions 49: padding b, stride_w i, stride_h i, activation b",
        sums=True,
        events=("Deconvolution",),
    ),
    *_plain("SPARSE_TO_DENSE TILE EXPAND_DIMS"),
    Row("EQUAL", broadcasts=True),
    Row("NOT_EQUAL", broadcasts=True),
    Row("LOG"),
    Row("SUM", REDUCER, axis=1),
    Row("SQRT"),
    Row("RSQRT", events=("Reciprocal",)),
    Row("SHAPE"),
    Row("POW", broadcasts=True),
    Row("ARG_MIN", "ArgMinOptions 57: type b", axis=1),
    Row("FAKE_QUANT", "FakeQuantOptions 58: min f, max f, num_bits i, narrow_range ?"),
    Row("REDUCE_PROD", REDUCER, axis=1),
    Row("REDUCE_MAX", REDUCER, axis=1),
    Row("PACK", "PackOptions 59: count i, axis i", axis=OPTION, events=COPY),
    Row("LOGICAL_OR", broadcasts=True),
    Row("ONE_HOT", "OneHotOptions 61: axis i"),
    Row("LOGICAL_AND", broadcasts=True),
    Row("LOGICAL_NOT"),
    Row("UNPACK", "UnpackOptions 64: num i, axis i"),
    Row("REDUCE_MIN", REDUCER, axis=1),
    Row("FLOOR_DIV", broadcasts=True),
    Row("REDUCE_ANY", REDUCER, axis=1),
    *_plain("SQUARE ZEROS_LIKE FILL"),
    Row("FLOOR_MOD", broadcasts=True),
    Row("RANGE"),
    Row(
        "RESIZE_NEAREST_NEIGHBOR",
        "ResizeNearestNeighborOptions 74: align_corners ?, half_pixel_centers ?",
        channelwise=1,
    ),
    Row("LEAKY_RELU", "LeakyReluOptions 75: alpha f"),
    Row("SQUARED_DIFFERENCE", broadcasts=True),
    Row("MIRROR_PAD", "MirrorPadOptions 77: mode b"),
    *_plain("ABS SPLIT_V UNIQUE CEIL"),
    Row("REVERSE_V2", axis=1),
    *_plain("ADD_N GATHER_ND COS WHERE RANK ELU"),
    Row("REVERSE_SEQUENCE", "ReverseSequenceOptions 87: seq_dim i, batch_dim i"),
    Row("MATRIX_DIAG"),
    Row("QUANTIZE", channelwise=1, unsigned=True, events=CONVERT),
    Row("MATRIX_SET_DIAG"),
    Row("ROUND"),
    Row("HARD_SWISH", channelwise=1),
    Row("IF", "IfOptions 92: then_subgraph_index i, else_subgraph_index i", subgraphs=True),
    Row("WHILE", "WhileOptions 93: cond_subgraph_index i, body_subgraph_index i", subgraphs=True),
    *_plain("NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND"),
    Row("SELECT_V2", broadcasts=True),
    Row("DENSIFY"),
    Row("SEGMENT_SUM"),
    Row("BATCH_MATMUL", "BatchMatMulOptions 101: adj_x ?, adj_y ?", sums=True),
    Row("PLACEHOLDER_FOR_GREATER_OP_CODES"),
    Row("CUMSUM", "CumsumOptions 102: exclusive ?, reverse ?"),
    Row("CALL_ONCE", persistent=True, subgraphs=True),
    *_plain("BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS"),
    Row("HASHTABLE", persistent=True),
    Row("HASHTABLE_FIND", persistent=True),
    Row("HASHTABLE_IMPORT", persistent=True),
    Row("HASHTABLE_SIZE", persistent=True),
    Row("REDUCE_ALL", REDUCER, axis=1),
    Row("CONV_3D_TRANSPOSE"),
    Row("VAR_HANDLE", persistent=True),
    Row("READ_VARIABLE", persistent=True),
    Row("ASSIGN_VARIABLE", persistent=True),
    Row("BROADCAST_ARGS"),
    Row("RANDOM_STANDARD_NORMAL"),
    Row("BUCKETIZE", "BucketizeOptions 115: boundaries [f]"),
    Row("RANDOM_UNIFORM"),
    Row("MULTINOMIAL", "RandomOptions 114: seed q, seed2 q"),
    Row("GELU", "GeluOptions 116: approximate ?"),
    *_plain(
        "DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM "
        "ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD "
        "STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP"
    ),
    Row("STABLEHLO_CONCATENATE", "StablehloConcatenateOptions second 1: dimension q"),
    Row("STABLEHLO_BROADCAST_IN_DIM", "StablehloBroadcastInDimOptions second 2: broadcast_dimensions [q]"),
    Row("STABLEHLO_CONVOLUTION"),
    Row("STABLEHLO_SLICE", "StablehloSliceOptions second 3: start_indices [q], limit_indices [q], strides [q]"),
    *_plain(
        "STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE "
        "STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR "
        "STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT "
        "STABLEHLO_TANH STABLEHLO_SCATTER"
    ),
    Row("STABLEHLO_COMPARE", "StablehloCompareOptions second 8: comparison_direction I"),
    *_plain("STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE"),
    Row(
        "STABLEHLO_PAD",
        "StablehloPadOptions second 10: edge_padding_low [q], edge_padding_high [q], interior_padding [q]",
    ),
    Row("STABLEHLO_IOTA", "StablehloIotaOptions second 11: iota_dimension q"),
    *_plain("STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT"),
    Row("STABLEHLO_WHILE", subgraphs=True),
    Row("STABLEHLO_GATHER"),
    Row("STABLEHLO_TRANSPOSE", "StablehloTransposeOptions second 17: permutation [q]"),
    *_plain("DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW"),
    Row(
        "STABLEHLO_COMPOSITE",
        "StableHLOCompositeOptions second 21: _ I, decomposition_subgraph_index i",
        subgraphs=True,
    ),
    Row("STABLEHLO_SHIFT_LEFT"),
    Row("STABLEHLO_CBRT"),
)
"""In the order of the schema's ``BuiltinOperator``: a row's index is the operator's number. Options are named as in the
published schema, shortened where the builder's methods say the same in fewer letters."""
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
    """``name code``, ``name code default`` or, for a vector, ``name [code]``; ``_`` for a deprecated field."""
    name, code, *default = text.split()
    if code.startswith("["):
        return name, Field(number, code[1:-1], True, ())
    value: Any = False if code == "?" else 0.0 if code == "f" else 0
    return name, Field(number, code, False, type(value)(int(default[0])) if default else value)
