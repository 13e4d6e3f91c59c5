"""The table of rules: for every TFLite operation, how NNAPI expresses it.

A rule is a function of one :class:`~nnapi.importers.tflite.node.Node` that appends NNAPI operations writing the
node's outputs, or raises Refused with the reason why they cannot. Rules register themselves by name.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nnapi.importers.tflite.node import Node

Apply = Callable[["Node"], object]


@dataclass(frozen=True)
class Rule:
    """``options`` is the generated class of the operation's parameters, None where it has none."""

    function: Apply
    options: str | None


RULES: dict[str, Rule] = {}


def rule(*kinds: str, options: str | None = None) -> Callable[[Apply], Apply]:
    """Register the decorated function as the rule of these operations."""

    def register(function: Apply) -> Apply:
        for kind in kinds:
            assert kind not in RULES, kind
            RULES[kind] = Rule(function, options)
        return function

    return register


def rule_for(kind: str) -> Rule | None:
    """The rule of an operation by its TFLite name, None where there is none."""
    return RULES.get(kind)


def reason_without_rule(kind: str) -> str:
    """Why an operation has no rule."""
    from nnapi.importers.tflite.rules.inexpressible import REASONS

    return REASONS.get(kind, "NNAPI has no such operation")


for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
