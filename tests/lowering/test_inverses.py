"""Operators that undo each other are passed over; their readers read what was there before."""

from dataclasses import dataclass, field

from nnapi.lowering.inverses import Inverse, cancel_inverses


@dataclass
class Op:
    kind: str
    inputs: list[str]
    outputs: list[str] = field(default_factory=list)


def find_inverse(op: Op) -> Inverse | None:
    return (op.inputs[0], op.kind) if op.kind.isupper() else None


def cancel(*operators: Op, outputs: str) -> list[str]:
    """Return what the operators read and write after the reversals (capital letters) are passed over."""
    cancel_inverses(operators, outputs.split(), find_inverse)
    return [f"{' '.join(op.inputs)} {op.kind} {' '.join(op.outputs)}" for op in operators]


def test_a_pair_is_passed_over() -> None:
    found = cancel(Op("R", ["x"], ["a"]), Op("R", ["a"], ["b"]), Op("use", ["b"], ["y"]), outputs="y")
    assert found == ["x R a", "a R b", "x use y"]


def test_three_are_as_one() -> None:
    chain = [Op("R", [x], [y]) for x, y in ("xa", "ab", "bc")]
    assert cancel(*chain, Op("use", ["c"], ["y"]), outputs="y")[2:] == ["x R c", "c use y"]


def test_other_operators_are_kept() -> None:
    for first, second in (("R", "S"), ("r", "R"), ("r", "r")):
        operators = Op(first, ["x"], ["a"]), Op(second, ["a"], ["b"]), Op("use", ["b", "x"], ["y"])
        assert cancel(*operators, outputs="y")[2] == "b x use y"


def test_the_graph_s_output_is_written_by_the_operator_before_the_pair() -> None:
    operators = Op("make", ["x"], ["a"]), Op("R", ["a"], ["b"]), Op("R", ["b"], ["y"]), Op("use", ["a", "y"], ["z"])
    found = cancel(*operators, outputs="y z")
    assert found == ["x make y", "y R b", "b R a", "y y use z"]


def test_an_output_keeps_the_pair_if_nothing_else_can_write_it() -> None:
    assert cancel(Op("R", ["x"], ["a"]), Op("R", ["a"], ["y"]), outputs="y") == ["x R a", "a R y"]
    both = Op("make", ["x"], ["a"]), Op("R", ["a"], ["b"]), Op("R", ["b"], ["y"])
    assert cancel(*both, outputs="a y") == ["x make a", "a R b", "b R y"]
