"""The table of rules: for every TFLite operation, how NNAPI expresses it.

A rule is a function of one :class:`~nnapi.importers.tflite.node.TfliteNode` that appends NNAPI operations writing the
node's outputs, or raises Refused with the reason why they cannot. Rules register themselves by name when their module
is imported, which happens when a file first has one of its operations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from nnapi.importers.tflite.node import TfliteNode

Rule = Callable[[TfliteNode], object]
RULES: dict[str, Rule] = {}


def rule(*kinds: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the rule of these operations."""

    def register(function: Rule) -> Rule:
        for kind in kinds:
            assert kind not in RULES, kind
            RULES[kind] = function
        return function

    return register


def rule_for(kind: str) -> Rule | None:
    """The rule of an operation by its TFLite name, None where there is none."""
    return _import(kind) if kind in HOMES else None


@cache
def _import(kind: str) -> Rule:
    import_module(f"{__name__}.{HOMES[kind]}")  # waits where another thread is at it
    return RULES[kind]


def reason_without_rule(kind: str) -> str:
    """Why an operation has no rule."""
    from nnapi.importers.tflite.rules.inexpressible import REASONS

    return REASONS.get(kind, "NNAPI has no such operation")


FAMILIES = {
    "arithmetic": "FLOOR_DIV FLOOR_MOD CEIL ROUND SIGN COS STABLEHLO_COSINE GELU CUMSUM",
    "control_flow": "IF WHILE STABLEHLO_COMPOSITE CALL",
    "convolution": "CONV_2D DEPTHWISE_CONV_2D TRANSPOSE_CONV CUSTOM:Convolution2DTransposeBias FULLY_CONNECTED",
    "detection": "CUSTOM:TFLite_Detection_PostProcess",
    "elementwise": "DIV MUL SUB ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_SUBTRACT STABLEHLO_ADD ABS NEG EXP LOG SIN "
    "SQRT RSQRT FLOOR LOGISTIC TANH HARD_SWISH LOGICAL_NOT STABLEHLO_ABS STABLEHLO_NEGATE "
    "STABLEHLO_EXPONENTIAL STABLEHLO_LOG STABLEHLO_RSQRT STABLEHLO_FLOOR STABLEHLO_LOGISTIC STABLEHLO_TANH "
    "EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL LOGICAL_AND LOGICAL_OR MAXIMUM MINIMUM POW PRELU "
    "STABLEHLO_AND STABLEHLO_OR STABLEHLO_MAXIMUM STABLEHLO_MINIMUM STABLEHLO_POWER STABLEHLO_COMPARE RELU "
    "RELU_N1_TO_1 RELU6 RELU_0_TO_1 STABLEHLO_CLAMP ELU LEAKY_RELU SOFTMAX LOG_SOFTMAX ADD_N SQUARE "
    "SQUARED_DIFFERENCE STABLEHLO_SELECT SELECT_V2 SELECT MULTINOMIAL",
    "indexing": "SLICE STRIDED_SLICE GATHER GATHER_ND REVERSE_SEQUENCE ARG_MIN ARG_MAX TOPK_V2 EMBEDDING_LOOKUP "
    "HASHTABLE_LOOKUP LSH_PROJECTION",
    "pooling": "AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION L2_NORMALIZATION RESIZE_BILINEAR "
    "RESIZE_NEAREST_NEIGHBOR SPACE_TO_DEPTH DEPTH_TO_SPACE SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND",
    "quantization": "QUANTIZE DEQUANTIZE CAST STABLEHLO_CONVERT FAKE_QUANT DENSIFY",
    "recurrent": "UNIDIRECTIONAL_SEQUENCE_LSTM LSTM BIDIRECTIONAL_SEQUENCE_LSTM RNN UNIDIRECTIONAL_SEQUENCE_RNN "
    "BIDIRECTIONAL_SEQUENCE_RNN SVDF",
    "reduction": "SUM REDUCE_PROD REDUCE_MAX REDUCE_MIN REDUCE_ANY REDUCE_ALL MEAN BUCKETIZE BATCH_MATMUL",
    "scatter": "SCATTER_ND SPARSE_TO_DENSE UNSORTED_SEGMENT_SUM SEGMENT_SUM DYNAMIC_UPDATE_SLICE",
    "shape": "RESHAPE SQUEEZE EXPAND_DIMS TRANSPOSE CONCATENATION PACK UNPACK SPLIT SPLIT_V TILE BROADCAST_TO "
    "REVERSE_V2 PAD PADV2 MIRROR_PAD SHAPE RANK FILL ZEROS_LIKE RANGE BROADCAST_ARGS ONE_HOT MATRIX_DIAG "
    "MATRIX_SET_DIAG",
    "stablehlo": "STABLEHLO_CONCATENATE STABLEHLO_RESHAPE STABLEHLO_TRANSPOSE STABLEHLO_SLICE STABLEHLO_BROADCAST_IN_DIM "
    "STABLEHLO_IOTA STABLEHLO_PAD",
}
"""The operations that have a rule, by the module in which it stands."""

HOMES = {kind: module for module, kinds in FAMILIES.items() for kind in kinds.split()}
"""The module of each of them."""
