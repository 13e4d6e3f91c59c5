"""Remove pairs of operators that undo each other: importers and lowering rules put them around TOPK_V2."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar


class Written(Protocol):
    """An operator of a file or an engine's graph."""

    inputs: list[Any]
    outputs: list[Any]


W = TypeVar("W", bound=Written)
Inverse = tuple[Any, object]
"""The input of an operator that is its own inverse, and a key: operators of equal keys undo each other."""


def cancel_inverses(operators: Sequence[W], outputs: Sequence[Any], inverse_of: Callable[[W], Inverse | None]) -> None:
    """Change operators so that none reads a value that two operators of equal keys compute from another value.

    Operators without readers remain. ``outputs`` are the results of the graph, which keep their identity.
    """
    sources: dict[Any, Inverse] = {}
    same: dict[Any, Any] = {}
    makers: dict[Any, W] = {}
    for operator in operators:
        operator.inputs[:] = [same.get(each, each) for each in operator.inputs]
        makers.update(dict.fromkeys(operator.outputs, operator))
        found = inverse_of(operator)
        if found is None:
            continue
        (result,) = operator.outputs
        sources[result] = found
        before = sources.get(found[0])
        if before is None or before[1] != found[1]:
            continue
        source = before[0]
        if result not in outputs:
            same[result] = source
        elif source in makers and source not in outputs:
            _rename(operators, makers[source], source, result)
            operator.outputs[:] = [source]


def _rename(operators: Sequence[W], maker: W, old: Any, new: Any) -> None:
    """Let ``maker`` write ``new`` instead of ``old``, and let all operators read that."""
    maker.outputs[:] = [new if each is old else each for each in maker.outputs]
    for operator in operators:
        operator.inputs[:] = [new if each is old else each for each in operator.inputs]
