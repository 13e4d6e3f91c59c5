"""The search for operations that a delegate claims, with a delegate that a test describes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.contract.driver import Verdict
from nnapi.drivers.delegate import probing
from nnapi.drivers.delegate.probing import cut_out, find_obstacle
from nnapi.drivers.litert.lowering import Lowered
from nnapi.errors import OpFailedError
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from tests.drivers.isolated.isolated_cases import model
from tests.runtime.device_cases import build_reversed

Left = Callable[[list[str]], set[str]]


def chain(*kinds: str) -> Graph:
    """One operator after the other, each from an operation of its own."""
    tensors = [Tensor("f32", (4,))]
    operators = []
    for number, kind in enumerate(kinds):
        tensors.append(Tensor("f32", (4,), origin=number))
        operators.append(Operator(kind, [tensors[-2]], [tensors[-1]]))
    return Graph(operators, tensors[:1], tensors[-1:])


def find_left(monkeypatch: pytest.MonkeyPatch, kinds: list[str], left: Left, said: str = "") -> tuple[Any, list[Any]]:
    """Return the reasons of the operations that a delegate leaves, and the kinds that it was asked for each time.

    ``left`` returns the kinds that it leaves of those in a graph; it may raise OpFailedError.
    """
    asked: list[list[str]] = []
    calls = {number: [operator] for number, operator in enumerate(chain(*kinds).operators)}

    class Plugin:
        name = "npu"

        def ask(self, program: list[str]) -> tuple[list[int], str]:
            asked.append(program)
            return [node for node, kind in enumerate(program) if kind in left(program)], said

    monkeypatch.setattr(probing, "serialize", lambda graph: [operator.kind for operator in graph.operators])
    return probing._find_left(Plugin(), calls), asked  # type: ignore[arg-type]


def fail(kinds: list[str]) -> set[str]:
    raise OpFailedError("out of luck")


@pytest.mark.parametrize(
    ("left", "reasons", "asked"),
    [
        (lambda kinds: set(), {}, [["ABS", "NEG", "EXP"]]),
        (
            lambda kinds: {"NEG"},
            {1: "npu did not take NEG"},
            [["ABS", "NEG", "EXP"], ["NEG"]],
        ),
        (
            lambda kinds: {"NEG"} if len(kinds) > 1 else set(),
            {1: "npu takes it by itself, not in this model"},
            [["ABS", "NEG", "EXP"], ["NEG"]],
        ),
        (
            lambda kinds: {"NEG", "EXP"} if len(kinds) > 1 else {"EXP"},
            {1: "npu takes it by itself, not in this model", 2: "npu did not take EXP"},
            [["ABS", "NEG", "EXP"], ["NEG"], ["EXP"]],
        ),
        (
            fail,
            {0: "out of luck", 1: "out of luck", 2: "out of luck"},
            [["ABS", "NEG", "EXP"], ["ABS"], ["NEG"], ["EXP"]],
        ),
        (
            lambda kinds: fail(kinds) if len(kinds) > 1 else set(),
            {0: "out of luck", 1: "out of luck", 2: "out of luck"},
            [["ABS", "NEG", "EXP"], ["ABS"], ["NEG"], ["EXP"]],
        ),
        (
            lambda kinds: fail(kinds) if "NEG" in kinds else set(),
            {1: "out of luck"},
            [["ABS", "NEG", "EXP"], ["ABS"], ["NEG"], ["EXP"], ["ABS", "EXP"]],
        ),
    ],
)
def test_operations_are_left_for_a_reason(
    monkeypatch: pytest.MonkeyPatch, left: Left, reasons: dict[int, str], asked: list[list[str]]
) -> None:
    """The whole is asked for first, then each operation that is left, then those beside failing ones."""
    assert find_left(monkeypatch, ["ABS", "NEG", "EXP"], left) == (reasons, asked)


def test_the_delegate_s_words_are_part_of_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons, _ = find_left(monkeypatch, ["ABS", "NEG"], lambda kinds: {"NEG"}, "no such kernel")
    assert reasons == {1: "npu did not take NEG: no such kernel"}


def test_verdicts_of_operations_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is refused already keeps its reason."""
    monkeypatch.setattr(probing, "_find_left", lambda plugin, calls: dict.fromkeys(calls, "not taken"))
    lowered = Lowered(chain("ABS", "NEG", "EXP"), (Verdict(True), Verdict(False, "refused"), Verdict(True)))
    found = probing.probe_verdicts(None, model("abs", "neg", "exp"), lowered)
    assert found == [
        Verdict(False, "ABS (#0): not taken"),
        Verdict(False, "refused"),
        Verdict(False, "EXP (#2): not taken"),
    ]


def test_verdicts_are_in_run_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "_find_left", lambda plugin, calls: {1: "not taken"})
    lowered = Lowered(chain("ABS", "NEG"), (Verdict(True), Verdict(True)))
    assert probing.probe_verdicts(None, build_reversed(), lowered) == [
        Verdict(False, "ABS (#1): not taken"),
        Verdict(True),
    ]


def test_inputs_and_outputs_of_a_cut() -> None:
    """Inputs are read from elsewhere; outputs are those that nothing inside reads, or all."""
    a, b, c, d = (Tensor("f32", (4,), name=name) for name in "abcd")
    weights = constant(np.ones(4, np.float32))
    add, neg = Operator("ADD", [a, weights], [b]), Operator("NEG", [b], [c])
    both = Operator("ADD", [c, a, None], [d])
    for operators, inputs, outputs in (
        ([add], [a], [b]),
        ([neg], [b], [c]),
        ([add, neg], [a], [c]),
        ([neg, both], [b, a], [d]),
        ([add, both], [a, c], [b, d]),
    ):
        graph = cut_out(operators)
        assert (graph.operators, graph.inputs, graph.outputs) == (operators, inputs, outputs)


@pytest.mark.parametrize(
    ("type", "filter", "zero_point", "words"),
    [
        ("i8", "u8", 0, "its filter is not signed with zero point 0"),
        ("i8", "i8", 0, ""),
        ("f32", "f32", 0, ""),
    ],
)
def test_an_unsigned_filter_is_an_obstacle(type: str, filter: str, zero_point: int, words: str) -> None:
    x, y = Tensor(type, (1, 4, 4, 3), 0.5, 1), Tensor(type, (1, 4, 4, 2), 0.5, 1)
    dtype = {"u8": np.uint8, "i8": np.int8, "f32": np.float32}[filter]
    weights = Tensor(filter, (2, 1, 1, 3), 0.5, zero_point, data=np.ones((2, 1, 1, 3), dtype))
    found = find_obstacle([Operator("CONV_2D", [x, weights, None], [y])])
    assert found.startswith(words)
    assert bool(found) is bool(words)
