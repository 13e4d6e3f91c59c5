"""How far results may be off: nothing where nothing is rounded, the rounding where something is, no more."""

from dataclasses import replace

import numpy as np
import pytest

from nnapi.testing.example import Example, ExampleGraph, OperandSource, OperandSpec, OperationSpec
from nnapi.testing.random.deviation import Computation
from tests.testing.random.deviation_cases import FLOATS, NUMBERS, chain, computed
from tests.testing.testing_cases import F32, Q8, constant, given, taken, tensor


def test_what_chooses_rounds_nothing() -> None:
    expected = computed(chain(("FLOOR", FLOATS), x=FLOATS, data=NUMBERS)).expect(1)
    assert expected.value.tolist() == [-101, 0, 2, 99]
    assert (expected.allowance < 1e-4).all()


def test_relaxed_models_may_overflow_as_float16_does() -> None:
    example = chain(("FLOOR", FLOATS), x=FLOATS, data=np.array([1e15, 100, 0, 0], np.float32))
    relaxed = replace(example, relaxed=True)
    assert np.isfinite(computed(example).expect(1).allowance).all()
    assert np.isinf(computed(relaxed).expect(1).allowance).all()
    assert np.isfinite(computed(replace(relaxed, inputs={0: NUMBERS})).expect(1).allowance).all()


def test_what_computes_may_be_off_by_its_last_places() -> None:
    allowance = computed(chain(("SIN", FLOATS), x=FLOATS, data=NUMBERS)).expect(1).allowance
    assert 1e-4 < allowance[0] < 1e-2  # the last places of -100.3
    assert allowance[1] < 1e-4


def test_sums_that_cancel_may_be_off_by_the_last_places_of_their_terms() -> None:
    def allowance(x: list[float]) -> float:
        terms = np.array([x], np.float32)
        operands = (
            taken(tensor(F32, *terms.shape, name="input")),
            constant(F32, np.ones((1, terms.size), np.float32), name="weights"),
            constant(F32, np.zeros(1, np.float32), name="bias"),
            constant("INT32", np.int32(0)),
            given(tensor(F32, 1, 1)),
        )
        call = OperationSpec("FULLY_CONNECTED", (0, 1, 2, 3), (4,))
        return float(
            computed(Example("sum", ExampleGraph(operands, (call,), (0,), (4,)), {0: terms}, {}))
            .expect(4)
            .allowance[0, 0]
        )

    assert allowance([1e6, -1e6]) > 1e-2
    assert allowance([1.0, -1.0]) < 1e-4


CODES = tensor(Q8, 3, scale=0.5, zero_point=128)


def test_hidden_codes_may_be_one_off_and_shown_ones_are_taken() -> None:
    fine = tensor(Q8, 3, scale=0.01, zero_point=128)
    steps = (("TANH", tensor(Q8, 3, scale=1 / 128, zero_point=128)), ("DEQUANTIZE", tensor(F32, 3)))
    data = np.array([100, 128, 140], np.uint8)
    computation = computed(chain(*steps, x=fine, data=data))
    assert (computation.expect(2).allowance >= 1 / 128).all()
    computation = Computation(chain(*steps, x=fine, data=data, shown=True))
    computation.run(0)
    computation.blur(0)
    computation.settle(1, np.array([1, 128, 255], np.uint8))
    computation.run(1)
    expected = computation.expect(2)
    assert expected.value.tolist() == [-127 / 128, 0, 127 / 128]
    assert (expected.allowance < 1e-4).all()


@pytest.mark.parametrize(("activation", "is_rounded"), [(0, False), (1, False), (2, True), (3, True)])
def test_the_bounds_of_an_activation_may_be_rounded_to_another_code(activation: int, is_rounded: bool) -> None:
    """1 lies between the codes of 0 and 2."""
    image = tensor(Q8, 1, 1, 1, 2, scale=2.0, zero_point=128)
    hidden = replace(image, lifetime=OperandSource.TEMPORARY_VARIABLE)
    numbers = [constant("INT32", np.int32(number)) for number in (1, 1, 1, 1, 1, activation)]
    operands = (taken(image), *numbers, hidden, given(tensor(F32, 1, 1, 1, 2)))
    calls = (OperationSpec("MAX_POOL_2D", tuple(range(7)), (7,)), OperationSpec("DEQUANTIZE", (7,), (8,)))
    data = {0: np.array([[[[100, 200]]]], np.uint8)}
    expected = computed(Example("pool", ExampleGraph(operands, calls, (0,), (8,)), data, {})).expect(8)
    assert (expected.allowance >= 2).tolist() == [[[[is_rounded, is_rounded]]]]


def test_float16_that_nobody_sees_need_not_be_rounded() -> None:
    """-72.0224 is -72 as float16; below it lies -73."""
    codes = tensor(Q8, 3, scale=0.330378, zero_point=218)
    steps = (("DEQUANTIZE", tensor("TENSOR_FLOAT16", 3)), ("FLOOR", tensor("TENSOR_FLOAT16", 3)))
    expected = computed(chain(*steps, x=codes, data=np.array([0, 218, 219], np.uint8))).expect(2)
    assert expected.value.tolist() == [-72, 0, 0]
    assert expected.allowance[0] >= 1
    assert expected.allowance[1] == 0


def test_zero_stays_zero_between_operations() -> None:
    """The square root of what was dequantized is judged at 0 too: a device may not go below."""
    example = chain(("DEQUANTIZE", tensor(F32, 3)), ("SQRT", tensor(F32, 3)), x=CODES, data=np.full(3, 128, np.uint8))
    expected = computed(example).expect(2)
    assert expected.value.tolist() == [0, 0, 0]
    assert (expected.allowance < 1e-4).all()


@pytest.mark.parametrize("operation", ["DEQUANTIZE", "RELU"])
def test_what_is_chosen_to_be_zero_is_exactly_that(operation: str) -> None:
    data = np.array([127, 128, 129], np.uint8) if operation == "DEQUANTIZE" else np.array([-1, 0, 1], np.float32)
    x = CODES if operation == "DEQUANTIZE" else tensor(F32, 3)
    expected = computed(chain((operation, tensor(F32, 3)), x=x, data=data)).expect(1)
    assert ((expected.allowance == 0) == (expected.value == 0)).all()


def test_what_is_computed_to_be_zero_may_lie_beside_it() -> None:
    assert computed(chain(("SIN", FLOATS), x=FLOATS, data=NUMBERS)).expect(1).allowance[1] > 0


@pytest.mark.parametrize(("number", "sure"), [(0.0, True), (1e30, True), (88.72284, False)])
def test_infinity_is_judged_where_it_is_certain(number: float, sure: bool) -> None:
    operation = "EXP" if number else "LOG"
    data = np.full(4, number, np.float32)
    with np.errstate(over="ignore", divide="ignore"):
        allowance = computed(chain((operation, FLOATS), x=FLOATS, data=data)).expect(1).allowance
    assert (allowance == (0 if sure else np.inf)).all()


@pytest.mark.parametrize(("number", "judged"), [(1e30, False), (1e3, True)])
def test_what_follows_infinity_in_a_sequence_is_not_judged(number: float, judged: bool) -> None:
    """The second step of the first unit is 0 in real numbers, in float32 whatever the order of its sum makes of it."""
    recurrent = np.zeros((5, 5), np.float32)
    recurrent[0, :4], recurrent[1, 4] = np.array([2, 2, -2, -2]) * number / 100, number
    assert (recurrent.astype(np.float64) @ np.full(5, 1e10))[0] == 0
    operands = (
        taken(tensor(F32, 1, 2, 1)),
        constant(F32, np.full((5, 1), 1e10, np.float32)),
        constant(F32, recurrent),
        constant(F32, np.zeros(5, np.float32)),
        constant(F32, np.zeros((1, 5), np.float32)),
        constant("INT32", np.int32(0)),
        constant("INT32", np.int32(0)),
        given(tensor(F32, 1, 2, 5)),
    )
    call = OperationSpec("UNIDIRECTIONAL_SEQUENCE_RNN", tuple(range(7)), (7,))
    data = np.array([[[1], [0]]], np.float32)
    with np.errstate(all="ignore"):
        computation = computed(Example("sequence", ExampleGraph(operands, (call,), (0,), (7,)), {0: data}, {}))
    assert np.isfinite(computation.expect(7).allowance).all() == judged


def test_what_is_denormal_may_be_nothing_on_both_sides_of_a_division() -> None:
    hidden = replace(FLOATS, lifetime=OperandSource.TEMPORARY_VARIABLE)
    operands = (taken(FLOATS), hidden, constant("INT32", np.int32(0)), given(FLOATS))
    calls = (OperationSpec("RELU1", (0,), (1,)), OperationSpec("DIV", (1, 0, 2), (3,)))
    data = np.array([1e-40, 0.5, 0.25, 1.0], np.float32)
    example = Example("quotient", ExampleGraph(operands, calls, (0,), (3,)), {0: data}, {})
    allowance = computed(example, special=True).expect(3).allowance
    assert np.isinf(allowance[0])
    assert (allowance[1:] < 1e-2).all()


def test_what_is_denormal_may_be_nothing_in_ordinary_examples_too() -> None:
    """A cell may give a denormal number; 1e-40 / 0 is infinite, 0 / 0 is NaN."""
    operands = (taken(FLOATS), taken(FLOATS), constant("INT32", np.int32(2)), given(FLOATS))
    data = {0: np.array([1e-40, 0.5, 0.25, 1.0], np.float32), 1: np.array([0.0, 0.5, 0.25, 1.0], np.float32)}
    example = Example(
        "quotient", ExampleGraph(operands, (OperationSpec("DIV", (0, 1, 2), (3,)),), (0, 1), (3,)), data, {}
    )
    allowance = computed(example).expect(3).allowance
    assert np.isinf(allowance[0])
    assert (allowance[1:] < 1e-3).all()


@pytest.mark.parametrize(
    ("operation", "settings", "wanted"),
    [("DIV", constant("INT32", np.int32(0)), 1), ("MOD", constant("BOOL", np.bool_(False)), 0)],
)
def test_a_hidden_divisor_that_may_be_zero_permits_any_result(
    operation: str, settings: OperandSpec, wanted: int
) -> None:
    """x / x is 1 for every perturbed x, but an engine that finds exactly 0 has NaN. Only that element is lost."""
    hidden = replace(FLOATS, lifetime=OperandSource.TEMPORARY_VARIABLE)
    operands = (taken(FLOATS), hidden, settings, given(FLOATS))
    calls = (OperationSpec("SIN", (0,), (1,)), OperationSpec(operation, (1, 1, 2), (3,)))
    data = np.array([np.pi, 1.0, -1e-3, 3.1], np.float32)
    expected = computed(Example("quotient", ExampleGraph(operands, calls, (0,), (3,)), {0: data}, {})).expect(3)
    assert expected.value.tolist() == [wanted] * 4
    assert np.isinf(expected.allowance).tolist() == [True, False, False, False]
    if operation == "DIV":
        assert (expected.allowance[1:] < 1e-3).all()


def test_a_variance_of_nothing_may_be_one_of_last_places() -> None:
    """0 / 0 where the mean of equal numbers is exactly theirs, 1 or -1 where its last place is lost."""
    image = tensor(F32, 1, 1, 1, 5)
    settings = [constant("FLOAT32", np.float32(number)) for number in (1, 1, 0)]
    operands = (taken(image), *settings, constant("BOOL", np.bool_(True)), given(image))
    call = OperationSpec("INSTANCE_NORMALIZATION", tuple(range(5)), (5,))
    example = Example(
        "equal", ExampleGraph(operands, (call,), (0,), (5,)), {0: np.full((1, 1, 1, 5), 4.84, np.float32)}, {}
    )
    assert np.isinf(computed(example, special=True).expect(5).allowance).all()


def test_a_hidden_number_at_a_step_may_fall_on_either_side() -> None:
    data = np.array([0.0, np.log(2), 0.5, 1.0], np.float32)
    allowance = computed(chain(("EXP", FLOATS), ("FLOOR", FLOATS), x=FLOATS, data=data)).expect(2).allowance
    assert (allowance[:2] >= 1).all()
    assert (allowance[2:] < 1e-4).all()


@pytest.mark.parametrize(("special", "allowed"), [(False, [False, False]), (True, [True, False])])
def test_what_is_denormal_may_be_nothing_where_it_is_compared(special: bool, allowed: list[bool]) -> None:
    operands = (
        taken(tensor(F32, 2)),
        constant(F32, np.array([1e-40, 1e-30], np.float32)),
        given(tensor("TENSOR_BOOL8", 2)),
    )
    graph = ExampleGraph(operands, (OperationSpec("LESS", (0, 1), (2,)),), (0,), (2,))
    example = Example("less", graph, {0: np.zeros(2, np.float32)}, {})
    expected = computed(example, special=special).expect(2)
    assert expected.value.astype(bool).tolist() == [True, True]
    assert (expected.allowance >= 1).tolist() == allowed


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("operation", ["CEIL", "SIGN"])
def test_what_is_denormal_may_be_nothing_where_it_is_rounded(operation: str, special: bool) -> None:
    data = np.array([1e-45, 1e-30, 0.5, 1.0], np.float32)
    expected = computed(chain((operation, FLOATS), x=FLOATS, data=data), special=special).expect(1)
    assert expected.value.tolist() == [1, 1, 1, 1]
    assert (expected.allowance >= 1).tolist() == [True, False, False, False]


@pytest.mark.parametrize("special", [False, True])
def test_what_is_made_of_no_number_is_only_judged_by_comparisons(special: bool) -> None:
    data = np.array([-1.0, 0, 1, 2], np.float32)
    computation = Computation(chain(("LOG", FLOATS), ("ABS", FLOATS), x=FLOATS, data=data), special=special)
    computation.run(0)
    computation.run(1)
    first, second = computation.expect(1), computation.expect(2)
    assert np.isinf(first.allowance[0]) == (not special)
    assert np.isfinite(first.allowance[2:]).all()
    assert np.isinf(second.allowance).all()


@pytest.mark.parametrize("special", [False, True])
def test_comparisons_of_no_number_are_judged_where_it_is_the_point(special: bool) -> None:
    operands = (taken(FLOATS), constant(F32, np.zeros(4, np.float32)), given(tensor("TENSOR_BOOL8", 4)))
    data = np.array([np.nan, np.inf, 0, 1], np.float32)
    graph = ExampleGraph(operands, (OperationSpec("GREATER_EQUAL", (0, 1), (2,)),), (0,), (2,))
    computation = Computation(Example("compared", graph, {0: data}, {}), special=special)
    computation.run(0)
    expected = computation.expect(2)
    assert expected.value.tolist() == [False, True, True, True]
    assert (expected.allowance == (0 if special else np.inf)).all()


def test_denormal_numbers_may_count_as_nothing() -> None:
    data = np.array([1e-40, 1e-30, 1, 2], np.float32)
    allowance = computed(chain(("LOG", FLOATS), x=FLOATS, data=data), special=True).expect(1).allowance
    assert np.isinf(allowance[0])
    assert (allowance[1:] < 1e-2).all()


@pytest.mark.parametrize(("scale", "off"), [(0.5, False), (0.7, True)])
def test_what_is_moved_may_be_one_off_only_in_another_scale(scale: float, off: bool) -> None:
    moved = tensor(Q8, 3, scale=scale, zero_point=128)
    operands = (
        taken(CODES),
        constant("TENSOR_INT32", np.array([3], np.int32)),
        replace(moved, lifetime=OperandSource.TEMPORARY_VARIABLE),
        given(tensor(F32, 3)),
    )
    calls = (OperationSpec("RESHAPE", (0, 1), (2,)), OperationSpec("DEQUANTIZE", (2,), (3,)))
    graph = ExampleGraph(operands, calls, (0,), (3,))
    example = Example("moved", graph, {0: np.array([140, 150, 160], np.uint8)}, {})
    assert bool(computed(example).expect(3).allowance.max() > scale / 2) == off


@pytest.mark.parametrize("scales", [(0.5, 0.5), (0.7, 0.5)])
def test_a_choice_in_another_scale_may_be_one_off(scales: tuple[float, float]) -> None:
    """The condition, the first operand, has no scale; the first choice may have that of the result."""
    first, second, result = (tensor(Q8, 1, scale=scale) for scale in (*scales, 0.7))
    hidden = replace(result, lifetime=OperandSource.TEMPORARY_VARIABLE)
    operands = (constant("TENSOR_BOOL8", np.ones(1, bool)), taken(first), taken(second), hidden, given(tensor(F32, 1)))
    calls = (OperationSpec("SELECT", (0, 1, 2), (3,)), OperationSpec("DEQUANTIZE", (3,), (4,)))
    data = np.array([150], np.uint8)
    example = Example("chosen", ExampleGraph(operands, calls, (1, 2), (4,)), {1: data, 2: data}, {})
    assert computed(example).expect(4).allowance.max() > 0.35


def test_float16_may_have_been_rounded_to_be_shown_next_to_zero_too() -> None:
    halves = tensor("TENSOR_FLOAT16", 3)
    shown = np.array([2.0**-22, 2.0**-24, 1.0], np.float16)
    computation = Computation(chain(("ABS", halves), ("RSQRT", halves), x=halves, data=shown, shown=True), rounds=4)
    computation.run(0)
    computation.settle(1, shown)
    computation.run(1)
    expected = computation.expect(2)
    assert abs((shown[0] + 2.0**-25) ** -0.5 - float(expected.value[0])) < expected.allowance[0]
    assert np.isinf(expected.allowance[1])  # it may have been next to nothing


@pytest.mark.parametrize(("data", "doubtful"), [([2.5, 2.0], False), ([-2060.0, 2.0], True)])
def test_powers_of_negative_numbers_want_exponents_that_are_whole(data: list[float], doubtful: bool) -> None:
    half = tensor("TENSOR_FLOAT16", 2)
    operands = (taken(half), given(half), given(half))
    calls = (OperationSpec("ABS", (0,), (1,)), OperationSpec("POW", (0, 1), (2,)))
    shown = np.abs(np.array(data, np.float16))
    computation = Computation(
        Example("power", ExampleGraph(operands, calls, (0,), (1, 2)), {0: np.array(data, np.float16)}, {})
    )
    computation.run(0)
    computation.settle(1, shown)
    computation.run(1)
    assert bool(np.isinf(computation.expect(2).allowance).all()) == doubtful


def test_hidden_codes_that_may_be_equal_may_compare_so() -> None:
    """2 and 1.75 in codes of 2 and of 1.75: both may be 0."""
    coarse, fine = tensor(Q8, 2, scale=2.0, zero_point=0), tensor(Q8, 2, scale=1.75, zero_point=0)
    hidden = [replace(spec, lifetime=OperandSource.TEMPORARY_VARIABLE) for spec in (coarse, fine)]
    operands = (taken(coarse), taken(fine), *hidden, given(tensor("TENSOR_BOOL8", 2)))
    calls = (
        OperationSpec("RELU", (0,), (2,)),
        OperationSpec("RELU", (1,), (3,)),
        OperationSpec("NOT_EQUAL", (2, 3), (4,)),
    )
    data = {0: np.array([1, 200], np.uint8), 1: np.array([1, 0], np.uint8)}
    expected = computed(Example("compared", ExampleGraph(operands, calls, (0, 1), (4,)), data, {})).expect(4)
    assert expected.value.tolist() == [True, True]
    assert (expected.allowance >= 1).tolist() == [True, False]


def test_many_hidden_numbers_that_may_be_equal_may_all_differ() -> None:
    """Half of them are equal where the reference computes, and half differ in the last place."""
    many, bools = tensor(F32, 64), replace(tensor("TENSOR_BOOL8", 64), lifetime=OperandSource.TEMPORARY_VARIABLE)
    operands = (
        taken(many),
        replace(many, lifetime=OperandSource.TEMPORARY_VARIABLE),
        constant(F32, np.tile(np.array([1, 1 + 2**-23], np.float32), 32)),
        bools,
        constant("TENSOR_INT32", np.array([0], np.int32)),
        constant("BOOL", np.bool_(True)),
        given(tensor("TENSOR_BOOL8", 1)),
    )
    calls = (
        OperationSpec("EXP", (0,), (1,)),
        OperationSpec("NOT_EQUAL", (1, 2), (3,)),
        OperationSpec("REDUCE_ALL", (3, 4, 5), (6,)),
    )
    example = Example("different", ExampleGraph(operands, calls, (0,), (6,)), {0: np.zeros(64, np.float32)}, {})
    expected = computed(example).expect(6)
    assert expected.value.tolist() == [False]
    assert expected.allowance[0] >= 1


def test_scales_that_decide_dimensions_are_exact() -> None:
    """Perturbed, 1.5 made 387 of 257 rows instead of 385."""
    image, scale = tensor("TENSOR_FLOAT16", 1, 2, 257, 1), OperandSpec("FLOAT16", lifetime=OperandSource.SUBGRAPH_INPUT)
    hidden = tensor("TENSOR_FLOAT16", 0, 0, 0, 0, lifetime=OperandSource.TEMPORARY_VARIABLE)
    operands = (taken(image), scale, scale, hidden, given(tensor("TENSOR_FLOAT16", 0, 0, 0, 0)))
    calls = (OperationSpec("RESIZE_BILINEAR", (0, 1, 2), (3,)), OperationSpec("SIN", (3,), (4,)))
    data = {0: np.linspace(0, 1, 514, dtype=np.float16).reshape(image.dimensions)}
    data |= {1: np.array(1.5, np.float16), 2: np.array(1, np.float16)}
    expected = computed(Example("resized", ExampleGraph(operands, calls, (0, 1, 2), (4,)), data, {})).expect(4)
    assert expected.value.shape == (1, 2, 385, 1)
    assert expected.allowance.max() < 0.05


def test_only_a_stored_zero_that_means_zero_is_exact() -> None:
    """−56.5 steps from a zero point of 57 may be rounded to 0 or to 1."""
    for point, allowed in ((57, 1), (0, 0)):
        spec = tensor("TENSOR_QUANT8_ASYMM_SIGNED", 1, scale=1.0, zero_point=point)
        data = np.array([-56.5 if point else 0.0], np.float32)
        expected = computed(chain(("QUANTIZE", spec), x=tensor(F32, 1), data=data)).expect(1)
        assert (expected.value[0], expected.allowance[0]) == (0, allowed)


def test_a_zero_that_is_moved_to_another_scale_may_lie_beside_it() -> None:
    """0.49 of a step may be rounded to 0 or, by an engine with coarse factors, to 1."""
    source, spec = (tensor(Q8, 1, scale=scale, zero_point=0) for scale in (0.49, 1.0))
    expected = computed(chain(("RELU", spec), x=source, data=np.ones(1, np.uint8))).expect(1)
    assert (expected.value[0], expected.allowance[0]) == (0, 1)
