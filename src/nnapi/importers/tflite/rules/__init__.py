"""The rules of TFLite operators.

A rule appends NNAPI operations that write the outputs of a :class:`~nnapi.importers.tflite.node.TfliteNode`, or raises
Refused.
"""

from collections.abc import Callable

from nnapi.formats.tflite.operators import OPERATORS
from nnapi.importers.rule_table import RuleTable
from nnapi.importers.tflite.node import TfliteNode

CUSTOM = {
    "convolution": ("CUSTOM:Convolution2DTransposeBias",),
    "detection": ("CUSTOM:TFLite_Detection_PostProcess",),
    "mediapipe": (
        "CUSTOM:MaxPoolingWithArgmax2D",
        "CUSTOM:MaxUnpooling2D",
        "CUSTOM:TransformTensorBilinear",
        "CUSTOM:TransformLandmarks",
        "CUSTOM:Landmarks2TransformMatrix",
    ),
}
"""The modules of rules for custom operators; ``operators.txt`` has those of built-in ones."""
FAMILIES = {
    module: [*(row.name for row in OPERATORS if row.rule == module), *CUSTOM.get(module, ())]
    for module in sorted({row.rule for row in OPERATORS} - {""} | CUSTOM.keys())
}

RULES: RuleTable[Callable[[TfliteNode], object]] = RuleTable(__name__, FAMILIES)
rule = RULES.rule

OF_HIGH_RANK = [row.name for row in OPERATORS if row.high_rank]
HIGH_RANK: RuleTable[Callable[[TfliteNode], object]] = RuleTable(__name__, {"high_rank": OF_HIGH_RANK})
