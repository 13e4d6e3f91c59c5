"""Patterns on nodes of any kind."""

from collections.abc import Sequence
from typing import NamedTuple

from nnapi.rewriting.dataflow import find_makers
from nnapi.rewriting.pattern import Apply, Either, Match, Operand, Pattern


class Plain(NamedTuple):
    kind: str
    inputs: Sequence[str]
    outputs: Sequence[str]


ADD = Plain("add", ["x", "x"], ["a"])
MUL = Plain("mul", ["a", "y"], ["b"])
START = Match(find_makers([ADD, MUL]))
x, y = Operand("x"), Operand("y")


def apply(kind: str, *inputs: Pattern, name: str = "") -> Apply:
    return Apply(frozenset({kind}), inputs, name=name)


def names(pattern: Pattern, value: str = "b") -> list[dict[str, object]]:
    return [dict(match.names) for match in pattern.find(value, START)]


def test_names_stand_for_values_and_nodes() -> None:
    found = list(apply("mul", apply("add", x, x), y, name="last").find("b", START))
    assert [match.names for match in found] == [{"last": MUL, "x": "x", "y": "y"}]
    assert found[0].nodes == (MUL, ADD)


def test_a_name_stands_for_one_value() -> None:
    assert names(apply("add", x, x), "a") == [{"x": "x"}]
    assert names(apply("mul", x, x)) == []
    assert names(apply("mul", apply("add", x), x)) == []


def test_further_inputs_need_no_pattern() -> None:
    assert names(apply("mul", x)) == [{"x": "a"}]
    assert names(apply("mul")) == [{}]
    assert names(apply("mul", x, y, Operand("z"))) == []


def test_a_value_that_no_node_makes_is_only_an_operand() -> None:
    assert names(apply("add"), "x") == []
    assert names(x, "x") == [{"x": "x"}]
    assert names(Operand("x", lambda value: value != "x"), "x") == []


def test_a_test_of_the_node_decides() -> None:
    assert names(Apply(frozenset({"mul"}), (x,), lambda node: len(node.inputs) == 1)) == []


def test_a_result_has_its_number() -> None:
    split = Plain("split", ["x"], ["first", "second"])
    start = Match(find_makers([split]))
    second = Apply(frozenset({"split"}), (x,), output=1)
    assert [bool(list(second.find(value, start))) for value in split.outputs] == [False, True]


def test_each_of_several_expressions_is_found() -> None:
    either = Either((apply("mul", x, y), apply("mul", y, x), apply("sub", x, y)))
    assert names(either) == [{"x": "a", "y": "y"}, {"y": "a", "x": "y"}]


def test_needed_and_last_operations() -> None:
    sums, either = Apply(frozenset({"add", "sub"}), (x,)), Either((apply("mul", x), apply("mul", apply("neg", x))))
    assert apply("mul", sums).needs == {frozenset({"mul"}), frozenset({"add", "sub"})}
    assert either.needs == {frozenset({"mul"})}
    assert either.roots == {"mul"}
    assert sums.roots == {"add", "sub"}
    assert not x.needs
    assert not x.roots
