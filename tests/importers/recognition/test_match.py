import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as O
from nnapi.importers.graph import Allowance, Graph, Value
from nnapi.importers.recognition.match import MOST_STEPS, StepMatch, fuses, number_of
from tests.importers.recognition.spellings import real

GRAPH = Graph(Allowance(1 << 20))


def constant(*numbers: float) -> Value:
    return GRAPH.constant(np.array(numbers, np.float32))


def test_a_name_stands_for_one_value() -> None:
    x, y = real(2), real(2)
    match = StepMatch({}).bind("x", x)
    assert match is not None
    assert match.bind("x", x) is match
    assert match.bind("x", y) is None
    assert match.bind("x", 1.0) is None


def test_equal_constants_and_close_numbers_are_the_same() -> None:
    match = StepMatch({}, {"gamma": constant(1, 2), "scale": 0.125})
    assert match.bind("gamma", constant(1, 2)) is match
    assert match.bind("gamma", constant(1, 3)) is None
    assert match.bind("scale", 0.1250001) is match
    assert match.bind("scale", 0.126) is None


def test_only_a_float_constant_of_one_element_is_a_number() -> None:
    assert number_of(constant(0.5)) == 0.5
    for other in (constant(1, 1), real(1), GRAPH.ints([1])):
        assert number_of(other) is None


def test_a_step_with_an_activation_is_not_plain() -> None:
    graph, x, plain, clamped = Graph(Allowance(1 << 20)), real(2), real(2), real(2)
    for activation, result in enumerate((plain, clamped)):
        graph.emit(O.ADD, [x, constant(1), graph.scalar(OperandCode.INT32, activation)], [result])
    assert [fuses(step) for step in graph.steps] == [False, True]


def test_a_match_has_a_limited_number_of_steps() -> None:
    graph, x, y = Graph(Allowance(1 << 20)), real(2), real(2)
    graph.emit(O.NEG, [x], [y])
    match = StepMatch({y: graph.steps[0]})
    assert match.find_maker(y) is graph.steps[0]
    assert match._replace(nodes=tuple(graph.steps * MOST_STEPS)).find_maker(y) is None
