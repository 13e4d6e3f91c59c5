"""Every declared pattern: however it is written, the composite computes the same."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as O
from nnapi.importers import build as building
from nnapi.importers.graph import Value
from nnapi.importers.recognition import ANCHORS, activation, attention, normalization, recognize, unary
from nnapi.importers.recognition.pattern import apply
from nnapi.importers.recognition.patterns import REWRITES
from nnapi.model.model import Model
from nnapi.operation_codes import COMPOSITE_CODES, CompositeCode
from nnapi.rewriting.pattern import Pattern
from nnapi.rewriting.rewriter import Rewrite
from tests.importers.recognition.spellings import Numbers, Spelling, real

BOUND = 1e-5
"""The difference that is allowed, relative to 1 plus the result."""
RANDOM = np.random.default_rng(4)
X, HEADS = (2, 3, 8), (2, 2, 3, 8)


class Case(NamedTuple):
    code: CompositeCode
    shapes: Mapping[str, tuple[int, ...]]
    constants: Mapping[str, Any] = MappingProxyType({})
    numbers: Numbers = MappingProxyType({})


def normal(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype(np.float32)


NORM = Case(CompositeCode.LAYER_NORM, {"x": X, "beta": (8,)}, {"gamma": normal(8), "axes": [-1]}, {"epsilon": 1e-5})
ATTENDING = {"query": HEADS, "key": HEADS, "value": (2, 2, 3, 4), "mask": (2, 1, 1, 3)}
CASES = {
    "gelu": Case(CompositeCode.GELU, {"x": X}),
    "error_function": Case(CompositeCode.ERF, {"x": X}),
    "round_half_to_even": Case(CompositeCode.ROUND, {"x": X}),
    "sign": Case(CompositeCode.SIGN, {"x": X}),
    "gelu_by_tanh": Case(CompositeCode.GELU, {"x": X}),
    "mish": Case(CompositeCode.MISH, {"x": X}),
    "softplus_of_large": Case(CompositeCode.SOFTPLUS, {"x": X}),
    "layer_norm": NORM,
    "rms_norm": NORM._replace(code=CompositeCode.RMS_NORM),
    "attention": Case(CompositeCode.ATTENTION, ATTENDING, {}, {"of_query": 0.5, "of_key": 0.25, "of_scores": 3.0}),
    "rotary_embedding": Case(CompositeCode.ROTARY_EMBEDDING, {"x": HEADS, "cos": (3, 8)}, {"sin": normal(8)}),
    "rotary_embedding_by_halves": Case(CompositeCode.ROTARY_EMBEDDING, {"x": HEADS, "cos": (3, 4)}, {"sin": normal(4)}),
}
"""For each rewrite, what its names stand for."""


class Written(NamedTuple):
    """The steps of one spelling, its inputs and its result."""

    spelling: Spelling
    inputs: list[Value]
    output: Value

    def build(self, *outputs: Value) -> Model:
        return building.build(self.spelling.graph, Model("pattern"), self.inputs, outputs or [self.output])


def write(form: Pattern, case: Case, seed: int) -> Written:
    inputs = {name: real(*shape, name=name) for name, shape in case.shapes.items()}
    spelling = Spelling({}, case.numbers, seed)
    values = dict(inputs)
    for name, number in case.constants.items():
        array = np.asarray(number, np.int32 if name == "axes" else np.float32)
        values[name] = spelling.graph.constant(array)
    if "key" in values:
        is_rows = bool(spelling.choose(2))
        flag = spelling.graph.scalar(OperandCode.BOOL, is_rows)
        values |= {"_": spelling.graph.scalar(OperandCode.BOOL, False), "is_transposed": flag}
        if not is_rows:
            values["key"] = spelling.emit(O.TRANSPOSE, values["key"], spelling.graph.ints([0, 1, 3, 2]))
    spelling.values = values
    return Written(spelling, [*inputs.values()], spelling.write(form))


def codes(model: Model) -> list[int]:
    return [call.code for call in model.operations]


def run(model: Model, inputs: list[Any]) -> list[Any]:
    return nnapi.compile(model, "nnapi-reference").run(*inputs)


def flat(written: Written, monkeypatch: pytest.MonkeyPatch, *outputs: Value) -> Model:
    with monkeypatch.context() as patch:
        patch.setattr(building, "recognize", lambda graph, outputs: None)
        return written.build(*outputs)


FORMS = [
    pytest.param(rewrite, form, id=f"{rewrite.name}-{i}")
    for rewrite in REWRITES
    for i, form in enumerate(rewrite.forms)
]


def test_every_rewrite_has_a_case() -> None:
    assert {rewrite.name for rewrite in REWRITES} == set(CASES)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("rewrite", "form"), FORMS)
def test_a_pattern_in_any_spelling(rewrite: Rewrite, form: Pattern, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[rewrite.name]
    plain = flat(write(form, case, seed), monkeypatch)
    whole = write(form, case, seed).build()
    assert COMPOSITE_CODES.isdisjoint(set(codes(plain)) - {CompositeCode.ERF, CompositeCode.SOFTPLUS})
    assert set(codes(whole)) - {O.TRANSPOSE, O.CONCATENATION} == {case.code}
    assert len(codes(whole)) < len(codes(plain))
    inputs = [normal(*shape) for shape in case.shapes.values()]
    found, expected = run(whole, inputs)[0], run(plain, inputs)[0]
    np.testing.assert_allclose(found, expected, BOUND, BOUND)


@pytest.mark.parametrize(("rewrite", "form"), FORMS)
def test_values_within_that_are_read_elsewhere_stay(
    rewrite: Rewrite, form: Pattern, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value within is an output of the model in turn, beside the result."""
    case = CASES[rewrite.name]
    inputs = [normal(*shape) for shape in case.shapes.values()]
    count = len(write(form, case, 1).spelling.graph.steps)
    for i in range(count):
        written, other = write(form, case, 1), write(form, case, 1)
        inner = written.spelling.graph.steps[i].outputs[0]
        plain = flat(other, monkeypatch, other.output, other.spelling.graph.steps[i].outputs[0])
        whole = written.build(written.output, inner)
        for found, expected in zip(run(whole, inputs), run(plain, inputs), strict=True):
            np.testing.assert_allclose(found, expected, BOUND, BOUND)


def spelled(form: Pattern, name: str, **constants: Any) -> list[int]:
    """The operations of a model that computes an expression with the names of a case."""
    case = CASES[name]
    return codes(write(form, case._replace(constants={**case.constants, **constants}), 3).build())


def test_other_numbers_are_something_else() -> None:
    x, erf = activation.x, apply(CompositeCode.ERF)
    assert CompositeCode.GELU in spelled(x * (1 + erf(x * 0.7071068)) * 0.5, "gelu")
    above = 1 + erf(x * 0.7071068)
    for other in (x * (1 + erf(x * 0.7)) * 0.5, x * above * 0.51, x * (1.01 + erf(x * 0.7071068)) * 0.5, x * above):
        assert CompositeCode.GELU not in spelled(other, "gelu")


def test_only_the_last_axes_are_a_group() -> None:
    form = normalization.centered * normalization.inverse
    assert spelled(form, "layer_norm", axes=[2, 1]) == [CompositeCode.LAYER_NORM]
    for axes in ([1], [0, 2]):
        assert CompositeCode.LAYER_NORM not in spelled(form, "layer_norm", axes=axes)


def test_factors_of_another_shape_are_applied_after_the_normalization() -> None:
    form = normalization.x * normalization.inverse_root * normalization.gamma
    for shape, found in (((8,), []), ((1, 1, 8), []), ((1,), [O.MUL]), ((3, 1), [O.MUL])):
        gamma = np.full(shape, 3, np.float32)
        operations = [code for code in spelled(form, "rms_norm", gamma=gamma) if code != O.RESHAPE]
        assert operations in ([CompositeCode.RMS_NORM, *found], [O.MUL, CompositeCode.RMS_NORM])


def test_a_normalized_value_with_two_scales_is_normalized_once() -> None:
    case = CASES["rms_norm"]
    spelling = Spelling({}, case.numbers, 0)
    x = real(*X, name="x")
    spelling.values = {"x": x, "axes": spelling.graph.ints([-1])}
    normal_x = spelling.write(normalization.x * normalization.inverse_root)
    ends = [spelling.emit(O.MUL, normal_x, spelling.graph.constant(normal(8))) for _ in range(2)]
    model = building.build(spelling.graph, Model("two scales"), [x], ends)
    assert codes(model) == [CompositeCode.RMS_NORM, O.MUL, O.MUL]


def attending(beta: float = 1.0, axis: int = -1, *, is_transposed: bool = False, activation: int = 0) -> list[int]:
    """Attention of one tensor as query, key and value; its key is columns as it is, unless ``is_transposed``."""
    spelling = Spelling({}, {}, 0)
    graph, (query, key) = spelling.graph, (real(2, 4, 4, name=name) for name in "qk")
    scalar = graph.scalar
    flags = [scalar(OperandCode.BOOL, False), scalar(OperandCode.BOOL, is_transposed)]
    scores = spelling.emit(O.BATCH_MATMUL, query, key, *flags)
    scaled = real(2, 4, 4)
    graph.emit(O.MUL, [scores, spelling.constant(0.5), scalar(OperandCode.INT32, activation)], [scaled])
    shares = spelling.emit(O.SOFTMAX, scaled, scalar(OperandCode.FLOAT32, beta), scalar(OperandCode.INT32, axis))
    result = spelling.emit(O.BATCH_MATMUL, shares, query, flags[0], flags[0])
    return codes(building.build(graph, Model("attention"), [query, key], [result]))


def test_other_products_of_shares_are_not_attention() -> None:
    assert attending(is_transposed=True) == [CompositeCode.ATTENTION]
    assert attending(axis=2, is_transposed=True) == [CompositeCode.ATTENTION]
    flat = [O.BATCH_MATMUL, O.MUL, O.SOFTMAX, O.BATCH_MATMUL]
    assert attending() == flat  # a transpose of the key would be an operation more
    assert attending(2.0, is_transposed=True) == flat
    assert attending(axis=1, is_transposed=True) == flat
    assert attending(activation=1, is_transposed=True) == flat


def test_halves_are_rounded_to_even() -> None:
    x, y = np.arange(-3, 3.5, 0.5).astype(np.float32).reshape(1, -1), CASES["round_half_to_even"]
    rewrite = next(each for each in REWRITES if each.name == "round_half_to_even")
    model = write(rewrite.forms[0], y._replace(shapes={"x": x.shape}), 1).build()
    assert codes(model) == [CompositeCode.ROUND]
    np.testing.assert_array_equal(run(model, [x])[0], np.rint(x))


def test_another_sign_stays() -> None:
    x, zero, one = unary.x, unary.zero, unary.one
    below = unary.select(unary.less(x, zero), zero, one)
    assert CompositeCode.SIGN not in spelled(unary.select(unary.greater(x, zero), one, below), "sign")


def test_halves_in_another_order_are_not_turned() -> None:
    x, cos, sin, join = attention.x, attention.cos, attention.sin, attention.join
    first, second = attention.first, attention.second
    assert CompositeCode.ROTARY_EMBEDDING in spelled(x * cos + join(-second, first) * sin, "rotary_embedding")
    for turned in (join(second, first), join(-first, second), join(second, -first), join(-second, second)):
        assert CompositeCode.ROTARY_EMBEDDING not in spelled(x * cos + turned * sin, "rotary_embedding")


def test_models_of_the_builder_are_not_rewritten() -> None:
    b = nnapi.Builder()
    x = b.input(nnapi.tensor("float32", X))
    square = b.mean(b.mul(x, x, 0), [2], 1)
    b.output(b.mul(x, b.rsqrt(b.add(square, 1e-5, 0)), 0))
    assert codes(b.finish()) == [O.MUL, O.MEAN, O.ADD, O.RSQRT, O.MUL]


@pytest.mark.slow
@pytest.mark.parametrize("code", [O.MUL, O.ADD, O.NEG, O.SQRT, O.POW])
def test_long_chains_of_operations_are_no_patterns(code: O) -> None:
    spelling = Spelling({}, {}, 0)
    x = y = real(*X, name="x")
    others = [] if code in (O.NEG, O.SQRT) else [spelling.constant(2)]
    for _ in range(1500):  # more than Python may recurse
        y = spelling.emit(code, y, *others)
    shares = spelling.emit(CompositeCode.ERF, y)
    above = spelling.emit(O.ADD, shares, spelling.constant(1))
    z = spelling.emit(O.MUL, y, above)
    mean = spelling.emit(O.MEAN, z, spelling.graph.ints([-1]), spelling.graph.scalar(OperandCode.INT32, 1))
    end = spelling.emit(O.MUL, z, spelling.emit(O.RSQRT, mean))
    steps = list(spelling.graph.steps)
    recognize(spelling.graph, [end, x])
    assert spelling.graph.steps == steps


def test_a_graph_without_patterns_is_the_same() -> None:
    spelling = Spelling({}, {}, 0)
    x = real(*X, name="x")
    y = spelling.emit(O.MUL, x, spelling.emit(O.TANH, x))
    steps = list(spelling.graph.steps)
    recognize(spelling.graph, [y])
    assert spelling.graph.steps == steps


def test_each_pattern_needs_the_operations_of_an_anchor() -> None:
    """Without such operations, the patterns are not even imported."""
    for rewrite in REWRITES:
        for form in rewrite.forms:
            is_single = any(all(frozenset({code}) in ANCHORS for code in codes) for codes in form.needs)
            is_several = any(all(frozenset({code}) in form.needs for code in codes) for codes in ANCHORS)
            assert is_single or is_several, rewrite.name
