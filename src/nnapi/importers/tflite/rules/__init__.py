"""The table of rules: for every TFLite operation, how NNAPI expresses it.

A rule is a function of one :class:`~nnapi.importers.tflite.node.TfliteNode` that appends NNAPI operations writing the
node's outputs, or raises Refused with the reason why they cannot. Rules register themselves by name when their module
is imported, which happens when a file first has one of its operations.
"""

from __future__ import annotations

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
"""Custom operators that have a rule, by its module; rows of built-in ones name theirs."""
FAMILIES = {
    module: [*(row.name for row in OPERATORS if row.rule == module), *CUSTOM.get(module, ())]
    for module in sorted({row.rule for row in OPERATORS} - {""} | CUSTOM.keys())
}
"""The operators that have a rule, by its module."""

RULES: RuleTable[Callable[[TfliteNode], object]] = RuleTable(__name__, FAMILIES)
rule = RULES.rule

OF_HIGH_RANK = [row.name for row in OPERATORS if row.high_rank]
"""The operators that are expressed on more dimensions than NNAPI's operations take, too."""
HIGH_RANK: RuleTable[Callable[[TfliteNode], object]] = RuleTable(__name__, {"high_rank": OF_HIGH_RANK})
