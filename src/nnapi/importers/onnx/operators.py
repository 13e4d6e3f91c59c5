"""The ONNX operators with a rule, by family.

A rule appends NNAPI operations for a :class:`~nnapi.importers.onnx.node.Node` and returns its outputs, or raises
Refused. An operator without a rule is replaced by its function, if ONNX defines one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from nnapi.importers.graph import Value
from nnapi.importers.onnx.tensors import OnnxTensor
from nnapi.importers.refusals import explain_missing_rule
from nnapi.rule_table import RuleTable

if TYPE_CHECKING:
    from nnapi.importers.onnx.node import OnnxNode

Result: TypeAlias = Value | OnnxTensor
Rule: TypeAlias = "Callable[[OnnxNode], Result | Sequence[Result | None]]"


class ByFunctionError(Exception):
    """Raised by a rule, before it appends operations, for a node that ONNX's function of the operator converts."""


def reason_without_rule(kind: str, domain: str) -> str:
    if domain not in ("", "ai.onnx.ml"):
        return f"operators of the domain {domain} are not read"
    return explain_missing_rule(RULES.package, kind)


with open(os.path.join(os.path.dirname(__file__), "rule_modules.txt"), encoding="utf-8") as _file:
    MODULES = {kind: module for module, *kinds in map(str.split, _file) for kind in kinds}
"""The modules of the operators with a rule, as ``python -m tools.onnx_rule_modules`` writes them; ``domain:`` precedes
names outside the default domain."""

RULES: RuleTable[str, Rule] = RuleTable(f"{__package__}.rules", modules=MODULES)
rule: Callable[..., Callable[[Rule], Rule]] = RULES.register
