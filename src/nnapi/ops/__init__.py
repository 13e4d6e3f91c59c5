"""The meaning of each operation: one module per operation or small family, imported at first use."""

FAMILIES = {
    "activation": ("RELU", "RELU1", "RELU6", "TANH", "LOGISTIC", "ELU", "HARD_SWISH"),
    "argmax": ("ARGMAX", "ARGMIN"),
    "batch_space": ("BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND"),
    "broadcast": ("ADD", "SUB", "MUL", "DIV"),
    "comparisons": ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"),
    "control_flow": ("IF", "WHILE"),
    "depth_space": ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"),
    "elementwise": ("ABS", "EXP", "FLOOR", "LOG", "NEG", "RSQRT", "SIN", "SQRT"),
    "normalization": ("L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION", "INSTANCE_NORMALIZATION"),
    "pad": ("PAD", "PAD_V2", "MIRROR_PAD"),
    "pairwise": ("LOGICAL_AND", "LOGICAL_OR", "MAXIMUM", "MINIMUM", "POW"),
    "pooling": ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"),
    "quantize": ("DEQUANTIZE", "QUANTIZE"),
    "reduce": ("MEAN", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_SUM"),
    "reshape": ("RESHAPE", "SQUEEZE", "EXPAND_DIMS"),
    "resize": ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"),
    "rnn": ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN"),
    "roi": ("ROI_ALIGN", "ROI_POOLING"),
    "sequence_lstm": ("UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM"),
    "slice": ("SLICE", "STRIDED_SLICE"),
    "softmax": ("SOFTMAX", "LOG_SOFTMAX"),
}
"""Modules that declare several operations, with their names; every other operation has a module of its own name."""

HOMES = {name: module for module, names in FAMILIES.items() for name in names}
"""The module of each of them."""
