"""Loops that count up to a limit. Their turns are limited by a lower limit, which costs nothing in a turn."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.rewriting.dataflow import find_makers

MOST = int(np.iinfo(np.int32).max)
ONE = (1,)
Emit = Callable[..., Tensor]
"""Appends an operator, given its kind, its inputs and the type of its output; returns the output."""


class Counted(NamedTuple):
    """A loop that ends unless its state at ``position`` is below a limit; each turn adds 1, so it cannot overflow.

    ``less`` compares them in the condition. The limit is a constant, or the position of a state that no turn changes.
    """

    less: Operator
    position: int
    limit: Tensor | int

    def lower_limit(self, condition: Graph, limit: Tensor) -> list[Operator]:
        """Return the condition's operators with another limit."""
        swapped = self.less.kind == "GREATER"
        changed = [limit, self.less.input(1)] if swapped else [self.less.input(0), limit]
        return [each.like(changed) if each is self.less else each for each in condition.operators]

    def find_cap(self, emit: Emit, start: Tensor, limit: Tensor, turns: Tensor) -> Tensor:
        """Return the limit, or what these turns reach if that is less."""
        end = emit("ADD", [start, turns], "i32", activation=0)
        overflows = emit("LESS", [end, start], "bool")
        end = emit("SELECT_V2", [overflows, constant([MOST]), end], "i32")
        return emit("MINIMUM", [end, limit], "i32")

    def find_left(self, emit: Emit, states: tuple[Tensor, Tensor], cap: Tensor, limit: Tensor, turns: Tensor) -> Tensor:
        """Return the turns that are left, at least 1 if the loop ended by itself, else 0. ``states`` are those of the
        counter before and after the loop."""
        start, end = states
        is_below, is_whole = emit("LESS", [end, cap], "bool"), emit("GREATER_EQUAL", [cap, limit], "bool")
        has_ended = emit("LOGICAL_OR", [is_below, is_whole], "bool")
        left = emit("SUB", [turns, emit("SUB", [end, start], "i32", activation=0)], "i32", activation=0)
        return emit("SELECT_V2", [has_ended, emit("MAXIMUM", [left, constant([1])], "i32"), constant([0])], "i32")


def find_counted(condition: Graph, body: Graph) -> Counted | None:
    """Return how a loop counts; None if it does not."""
    made = find_makers(body.operators)
    changed, constant = condition.inputs[: len(body.outputs)], condition.inputs[len(body.outputs) :]
    for less in _list_comparisons(condition):
        low, high = (less.input(1), less.input(0)) if less.kind == "GREATER" else (less.input(0), less.input(1))
        if low not in changed or (low.type, low.shape, high.size) != ("i32", ONE, 1):
            continue
        position = changed.index(low)
        is_counter = _adds_one(made.get(body.outputs[position]), body.inputs[position])
        if is_counter and high.data is not None:
            return Counted(less, position, high)
        if is_counter and high in constant:
            return Counted(less, position, condition.inputs.index(high))
    return None


def _list_comparisons(condition: Graph) -> Iterator[Operator]:
    """Return the comparisons that must all be true for the condition to be true."""
    made = find_makers(condition.operators)
    waiting = [condition.outputs[0]]
    while waiting:
        operator = made.get(waiting.pop())
        if operator is not None and operator.kind == "LOGICAL_AND":
            waiting += [operator.input(0), operator.input(1)]
        elif operator is not None and operator.kind in ("LESS", "GREATER"):
            yield operator


def _adds_one(operator: Operator | None, counter: Tensor) -> bool:
    if operator is None or operator.kind != "ADD" or operator.options["activation"]:
        return False
    steps = [each.data for each in operator.inputs if each is not None and each is not counter]
    return len(steps) == 1 and steps[0] is not None and steps[0].tolist() in (1, [1])
