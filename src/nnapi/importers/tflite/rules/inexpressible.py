"""Reasons why some operations of TFLite have no rule."""

from nnapi.formats.tflite.operators import OPERATORS

BY_REASON = {
    "the dimensions of its result depend on the data": "UNIQUE",
    "NNAPI models keep nothing between runs": " ".join(row.name for row in OPERATORS if row.persistent),
    "NNAPI has no scatter other than by adding": "UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN "
    "STABLEHLO_SCATTER STABLEHLO_DYNAMIC_UPDATE_SLICE",
    "NNAPI's only random operation is RANDOM_MULTINOMIAL": "RANDOM_STANDARD_NORMAL RANDOM_UNIFORM "
    "STABLEHLO_RNG_BIT_GENERATOR",
    "NNAPI has no inverse trigonometric function": "ATAN2",
    "NNAPI stores nothing sparsely": "EMBEDDING_LOOKUP_SPARSE",
    "of StableHLO the importer reads arithmetic and moves only": "STABLEHLO_CBRT STABLEHLO_CONVOLUTION "
    "STABLEHLO_CUSTOM_CALL STABLEHLO_DOT_GENERAL STABLEHLO_DYNAMIC_SLICE STABLEHLO_GATHER STABLEHLO_REDUCE "
    "STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE",
}
REASONS = {kind: reason for reason, kinds in BY_REASON.items() for kind in kinds.split()}
