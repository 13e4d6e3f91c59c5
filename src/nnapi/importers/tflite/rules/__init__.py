"""The rules of TFLite operators.

A rule appends NNAPI operations that write the outputs of a :class:`~nnapi.importers.tflite.node.TfliteNode`, or raises
Refused.
"""

from collections.abc import Callable

from nnapi.formats.tflite.operators import OPERATORS
from nnapi.importers.tflite.node import TfliteNode
from nnapi.rule_table import RuleTable

Rule = Callable[[TfliteNode], object]

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
MODULES = {row.name: row.rule for row in OPERATORS if row.rule} | {
    name: module for module, names in CUSTOM.items() for name in names
}

RULES: RuleTable[str, Rule] = RuleTable(__name__, modules=MODULES)
rule: Callable[..., Callable[[Rule], Rule]] = RULES.register

OF_HIGH_RANK = [row.name for row in OPERATORS if row.high_rank]
HIGH_RANK: RuleTable[str, Rule] = RuleTable(__name__, modules=dict.fromkeys(OF_HIGH_RANK, "high_rank"))
