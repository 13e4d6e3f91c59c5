"""Rewriting of nodes of any kind."""

from collections.abc import Sequence
from typing import NamedTuple

from nnapi.rewriting.pattern import Apply, Operand, Pattern
from nnapi.rewriting.rewriter import Rewriter, Rewrites


class Plain(NamedTuple):
    kind: str
    inputs: Sequence[str]
    outputs: Sequence[str]


def chain(*kinds: str) -> list[Plain]:
    """Nodes, each of which reads the result of the one before; the last result is the number of nodes."""
    return [Plain(kind, (str(i),), (str(i + 1),)) for i, kind in enumerate(kinds)]


def apply(kind: str, to: Pattern) -> Apply:
    return Apply(frozenset({kind}), (to,))


def fuse(last: Plain, x: str) -> list[Plain] | None:
    return None if x == "refused" else [Plain("both", (x,), last.outputs)]


def rewrites(*forms: Pattern, shared: frozenset[str] = frozenset()) -> Rewrites:
    declared = Rewrites()
    declared.pattern(*forms, shared=shared)(fuse)
    return declared


NEG_ABS = apply("neg", apply("abs", Operand("x")))
BOTH = Plain("both", ("0",), ("2",))


def test_the_last_node_of_a_match_is_replaced() -> None:
    nodes = chain("abs", "neg", "exp")
    assert Rewriter(nodes, ["3"]).run(rewrites(NEG_ABS)) == [BOTH, nodes[2]]


def test_results_within_a_match_prevent_the_rewrite() -> None:
    nodes = chain("abs", "neg")
    assert Rewriter(nodes, ["1", "2"]).run(rewrites(NEG_ABS)) == nodes
    other = Plain("exp", ("1",), ("y",))
    assert Rewriter([*nodes, other], ["2", "y"]).run(rewrites(NEG_ABS)) == [*nodes, other]


def test_shared_nodes_stay_while_others_read_them() -> None:
    nodes = chain("abs", "neg")
    assert Rewriter(nodes, ["1", "2"]).run(rewrites(NEG_ABS, shared=frozenset({"abs"}))) == [nodes[0], BOTH]


def test_the_first_form_that_matches_is_replaced() -> None:
    nodes = chain("exp", "abs", "neg")
    longer = apply("neg", apply("abs", apply("exp", Operand("x"))))
    assert Rewriter(nodes, ["3"]).run(rewrites(longer, NEG_ABS)) == [Plain("both", ("0",), ("3",))]
    assert Rewriter(nodes, ["3"]).run(rewrites(NEG_ABS, longer)) == [nodes[0], Plain("both", ("1",), ("3",))]


def test_a_node_within_a_match_is_not_replaced_too() -> None:
    nodes = chain("abs", "neg", "abs", "neg")
    whole = apply("neg", apply("abs", NEG_ABS))
    assert Rewriter(nodes, ["4"]).run(rewrites(whole, NEG_ABS)) == [Plain("both", ("0",), ("4",))]


def test_a_function_that_refuses_leaves_the_nodes() -> None:
    nodes = [Plain("abs", ("refused",), ("1",)), Plain("neg", ("1",), ("2",))]
    assert Rewriter(nodes, ["2"]).run(rewrites(NEG_ABS)) == nodes


def test_a_node_of_two_results_is_not_the_last_of_a_match() -> None:
    nodes = [Plain("abs", ("0",), ("1",)), Plain("neg", ("1",), ("2", "3"))]
    assert Rewriter(nodes, ["2"]).run(rewrites(NEG_ABS)) == nodes
