"""Operations by what a small difference of their operands does to their results."""

MOVING = frozenset(
    {"BATCH_TO_SPACE_ND", "CHANNEL_SHUFFLE", "DEPTH_TO_SPACE", "EXPAND_DIMS", "FILL", "GATHER", "MIRROR_PAD", "PACK"}
    | {
        "EMBEDDING_LOOKUP",
        "HASHTABLE_LOOKUP",
        "PAD",
        "PAD_V2",
        "RESHAPE",
        "RESIZE_NEAREST_NEIGHBOR",
        "REVERSE",
        "SLICE",
    }
    | {"SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "SQUEEZE", "STRIDED_SLICE", "TILE", "TRANSPOSE"}
)
COMPARING = frozenset(
    {"ARGMAX", "ARGMIN", "EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "LOGICAL_AND", "LOGICAL_NOT"}
    | {"LOGICAL_OR", "MAX_POOL_2D", "NOT_EQUAL", "RANK", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN"}
    | {"ROI_POOLING", "SELECT", "TOPK_V2"}
)
REQUANTISING = frozenset({"CONCATENATION", "MAXIMUM", "MINIMUM", "QUANTIZE", "RELU", "RELU1", "RELU6"})
"""Choosing operations that may round codes to those of another scale."""
CHOOSING = MOVING | COMPARING | REQUANTISING | {"ABS", "CAST", "DEQUANTIZE", "FLOOR", "NEG"}
"""Operations whose results are among their operands, or follow from comparing them: nothing is rounded, or once."""
PAIRWISE = frozenset(
    {
        "ADD",
        "DIV",
        "ELU",
        "EXP",
        "HARD_SWISH",
        "LOG",
        "LOGISTIC",
        "MUL",
        "POW",
        "PRELU",
        "RSQRT",
        "SIN",
        "SQRT",
        "SUB",
        "TANH",
    }
)
"""Operations that compute element by element."""
STEPPING = frozenset(
    {"CAST", "EQUAL", "FLOOR", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL", "QUANTIZE"}
)
"""Operations of which a small difference may make a large one, element by element."""
TWO_COMPARED = frozenset({"EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"})
"""Operations that say the same of a NaN on any device."""
ORDERING = frozenset(
    {"ARGMAX", "ARGMIN", "BOX_WITH_NMS_LIMIT", "DETECTION_POSTPROCESSING", "GENERATE_PROPOSALS", "TOPK_V2"}
    | {"HEATMAP_MAX_KEYPOINT", "LSH_PROJECTION", "ROI_ALIGN", "ROI_POOLING"}
)
"""Operations of which a small difference may make another result altogether."""
SEQUENCES = frozenset(
    f"{direction}DIRECTIONAL_SEQUENCE_{cell}" for direction in ("UNI", "BI") for cell in ("LSTM", "RNN")
)
"""Cells that feed back what they give, step by step: what moves one element may move any other as far."""
