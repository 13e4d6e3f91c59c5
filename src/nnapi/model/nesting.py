"""Traverse models that refer to models, without recursion: nests may be deeper than Python's stack."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from nnapi.model.graph import Graph, Lifetime, OperationCall

T = TypeVar("T")
M = TypeVar("M", bound=Graph)


def inner_first(first: T, referred: Callable[[T], Iterable[T]]) -> list[T]:
    """Return ``first`` and all that it refers to, each once and after its own references; cycles are cut."""
    found: list[T] = []
    seen = {first}
    path = [(first, iter(referred(first)))]
    while path:
        current, rest = path[-1]
        following = next((each for each in rest if each not in seen), None)
        if following is None:
            found.append(current)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(referred(following))))
    return found


def list_references(model: M) -> list[M]:
    return [operand.value for operand in model.operands if operand.lifetime is Lifetime.SUBGRAPH]


def list_call_references(model: M, call: OperationCall) -> list[M]:
    operands = (model.operands[index] for index in call.inputs)
    return [operand.value for operand in operands if operand.lifetime is Lifetime.SUBGRAPH]


def list_nested(model: M) -> list[M]:
    """Return all models that a model refers to, each once and before its referrers; the model itself is last."""
    return inner_first(model, lambda each: reversed(list_references(each)))


def depths(model: M) -> dict[M, int]:
    found: dict[M, int] = {}
    for each in list_nested(model):
        found[each] = max((1 + found[inner] for inner in list_references(each)), default=0)
    return found


def paths(model: M) -> dict[M, str]:
    """Describe the operands that lead to each nested model; of a long path, only the first and the last."""
    found = {model: ""}
    ways: dict[M, tuple[str, ...]] = {model: ()}
    for outer in reversed(list_nested(model)):
        for operand in outer.operands:
            if operand.lifetime is Lifetime.SUBGRAPH and operand.value not in found:
                first, *rest = (*ways[outer], str(operand))
                way = ways[operand.value] = (first, *(["…"] if len(rest) > 1 else []), *rest[-1:])
                found[operand.value] = " → ".join((*way, ""))
    return found
