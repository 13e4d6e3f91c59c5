"""Numbers of the engine's file format that the writer needs: types, operators, and the tables of their options."""

from __future__ import annotations

TYPES = {"f32": 0, "f16": 1, "i32": 2, "u8": 3, "bool": 6, "i16": 7, "i8": 9}

SAME, VALID = 0, 1
"""Padding schemes."""

_BIN = {"activation": (0, "b")}
_POOL = {
    "padding": (0, "b"),
    "stride_w": (1, "i"),
    "stride_h": (2, "i"),
    "filter_w": (3, "i"),
    "filter_h": (4, "i"),
    "activation": (5, "b"),
}
_CONV = {
    "padding": (0, "b"),
    "stride_w": (1, "i"),
    "stride_h": (2, "i"),
    "activation": (3, "b"),
    "dilation_w": (4, "i"),
    "dilation_h": (5, "i"),
}
_DEPTHWISE = {
    "padding": (0, "b"),
    "stride_w": (1, "i"),
    "stride_h": (2, "i"),
    "multiplier": (3, "i"),
    "activation": (4, "b"),
    "dilation_w": (5, "i"),
    "dilation_h": (6, "i"),
}
_SLICES = {"begin_mask": (0, "i"), "end_mask": (1, "i"), "shrink_axis_mask": (4, "i")}
_REDUCE = {"keep_dims": (0, "b")}
_CELL = {"activation": (0, "b"), "cell_clip": (1, "f"), "proj_clip": (2, "f")}
_LRN = {"radius": (0, "i"), "bias": (1, "f"), "alpha": (2, "f"), "beta": (3, "f")}

Fields = dict[str, tuple[int, str]]
"""Option to its slot in the table and its struct format."""

OPERATORS: dict[str, tuple[int, int, Fields]] = {
    "ADD": (0, 11, _BIN),
    "AVERAGE_POOL_2D": (1, 5, _POOL),
    "CONCATENATION": (2, 10, {"axis": (0, "i")}),
    "CONV_2D": (3, 1, _CONV),
    "DEPTHWISE_CONV_2D": (4, 2, _DEPTHWISE),
    "DEPTH_TO_SPACE": (5, 94, {"block_size": (0, "i")}),
    "DEQUANTIZE": (6, 0, {}),
    "FLOOR": (8, 0, {}),
    "FULLY_CONNECTED": (9, 8, {"activation": (0, "b"), "weights_format": (1, "b"), "keep_dims": (2, "b")}),
    "HASHTABLE_LOOKUP": (10, 0, {}),
    "L2_NORMALIZATION": (11, 12, _BIN),
    "L2_POOL_2D": (12, 5, _POOL),
    "LOCAL_RESPONSE_NORMALIZATION": (13, 13, _LRN),
    "LOGISTIC": (14, 0, {}),
    "LSTM": (16, 14, _CELL),
    "MAX_POOL_2D": (17, 5, _POOL),
    "MUL": (18, 21, _BIN),
    "RELU": (19, 0, {}),
    "RELU_N1_TO_1": (20, 0, {}),
    "RELU6": (21, 0, {}),
    "RESHAPE": (22, 0, {}),
    "RESIZE_BILINEAR": (23, 15, {"align_corners": (2, "b"), "half_pixel_centers": (3, "b")}),
    "SOFTMAX": (25, 9, {"beta": (0, "f")}),
    "SPACE_TO_DEPTH": (26, 19, {"block_size": (0, "i")}),
    "TANH": (28, 0, {}),
    "PAD": (34, 0, {}),
    "GATHER": (36, 23, {"axis": (0, "i")}),
    "BATCH_TO_SPACE_ND": (37, 0, {}),
    "SPACE_TO_BATCH_ND": (38, 0, {}),
    "TRANSPOSE": (39, 0, {}),
    "MEAN": (40, 27, _REDUCE),
    "SUB": (41, 28, _BIN),
    "DIV": (42, 29, _BIN),
    "STRIDED_SLICE": (45, 32, _SLICES),
    "EXP": (47, 0, {}),
    "REVERSE_V2": (105, 0, {}),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (44, 71, {**_CELL, "time_major": (3, "b")}),
    "UNIDIRECTIONAL_SEQUENCE_RNN": (35, 31, {"time_major": (0, "b"), "activation": (1, "b")}),
    "SELECT_V2": (123, 0, {}),
    "TOPK_V2": (48, 0, {}),
    "SPLIT": (49, 35, {"num_splits": (0, "i")}),
    "LOG_SOFTMAX": (50, 0, {}),
    "CAST": (53, 37, {"source": (0, "b"), "target": (1, "b")}),
    "PRELU": (54, 0, {}),
    "MAXIMUM": (55, 0, {}),
    "ARG_MAX": (56, 40, {"type": (0, "b")}),
    "MINIMUM": (57, 0, {}),
    "LESS": (58, 0, {}),
    "NEG": (59, 0, {}),
    "PADV2": (60, 0, {}),
    "GREATER": (61, 0, {}),
    "GREATER_EQUAL": (62, 0, {}),
    "LESS_EQUAL": (63, 0, {}),
    "SELECT": (64, 0, {}),
    "SLICE": (65, 0, {}),
    "SIN": (66, 0, {}),
    "TRANSPOSE_CONV": (
        67,
        49,
        {"padding": (0, "b"), "stride_w": (1, "i"), "stride_h": (2, "i"), "activation": (3, "b")},
    ),
    "TILE": (69, 0, {}),
    "EQUAL": (71, 0, {}),
    "NOT_EQUAL": (72, 0, {}),
    "LOG": (73, 0, {}),
    "SUM": (74, 27, _REDUCE),
    "SQRT": (75, 0, {}),
    "RSQRT": (76, 0, {}),
    "POW": (78, 0, {}),
    "ARG_MIN": (79, 57, {"type": (0, "b")}),
    "REDUCE_PROD": (81, 27, _REDUCE),
    "REDUCE_MAX": (82, 27, _REDUCE),
    "PACK": (83, 59, {"count": (0, "i"), "axis": (1, "i")}),
    "LOGICAL_OR": (84, 0, {}),
    "LOGICAL_AND": (86, 0, {}),
    "LOGICAL_NOT": (87, 0, {}),
    "REDUCE_MIN": (89, 27, _REDUCE),
    "FLOOR_DIV": (90, 0, {}),
    "REDUCE_ANY": (91, 27, _REDUCE),
    "RESIZE_NEAREST_NEIGHBOR": (97, 74, {"align_corners": (0, "b"), "half_pixel_centers": (1, "b")}),
    "LEAKY_RELU": (98, 75, {"alpha": (0, "f")}),
    "ZEROS_LIKE": (93, 0, {}),
    "ABS": (101, 0, {}),
    "ELU": (111, 0, {}),
    "QUANTIZE": (114, 0, {}),
    "HARD_SWISH": (117, 0, {}),
    "BATCH_MATMUL": (126, 101, {"adj_x": (0, "b"), "adj_y": (1, "b")}),
    "REDUCE_ALL": (140, 27, _REDUCE),
}
"""Operator to its number, the number of its options' table, and that table's fields."""

DETECTION = "TFLite_Detection_PostProcess"
"""The engine's own name for DETECTION_POSTPROCESSING, which is no operator of the schema."""
CUSTOM = 32
"""Number of operators that have a name instead, and options that the writer is given as bytes, called ``content``."""
OPERATORS[DETECTION] = (CUSTOM, 0, {})
