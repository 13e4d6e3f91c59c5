"""XNNPACK in float16."""

import logging
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, compile, tensor
from nnapi.contract import precision
from nnapi.contract.driver import CacheEntry, OpenOptions, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.contract.precision import ARITHMETIC
from nnapi.host.instruction_sets import find_instruction_sets
from nnapi.model.precision import Precision

pytest.importorskip("ai_edge_litert", reason="LiteRT has no wheel for this platform")

from nnapi.drivers.litert import float16
from nnapi.drivers.litert.c_api import CompiledModel
from nnapi.drivers.xnnpack import XnnpackDriver
from tests.drivers.xnnpack.engine_cases import engine
from tests.tflite_writer import const, f32, single

pytestmark = pytest.mark.engine

X = np.random.default_rng(0).normal(size=(8, 256)).astype(np.float32)
ABLE = ARITHMETIC[Precision.FLOAT16] | {"f16c"}
needs_float16 = pytest.mark.skipif(find_instruction_sets().isdisjoint(ABLE), reason="needs a processor with float16")


@pytest.fixture(autouse=True)
def _processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "find_instruction_sets", lambda: ARITHMETIC[Precision.FLOAT16])


def network(permitted: Precision = Precision.FLOAT16) -> Model:
    b, random = Builder(), np.random.default_rng(1)
    weights, bias = random.normal(size=(64, 256)).astype(np.float32) / 16, np.zeros(64, np.float32)
    b.output(b.fully_connected(b.input(tensor("float32", X.shape)), weights, bias, 0))
    return b.finish().with_precision(permitted)


def run(prepared: Any) -> Any:
    return prepared.execute(Request([X])).outputs[0]


@needs_float16
@pytest.mark.parametrize("threads", [1, 2])
def test_results_are_rounded_to_float16(threads: int) -> None:
    driver = XnnpackDriver(threads)
    rounded, exact = (driver.prepare(network(), PrepareOptions(variant=each)) for each in ("", "in float32"))
    assert (run(rounded) != run(exact)).any()
    np.testing.assert_allclose(run(rounded), run(exact), atol=0.05)
    np.testing.assert_array_equal(run(rounded), run(rounded).astype(np.float16))


@needs_float16
def test_fast_paths_give_the_same() -> None:
    prepared: Any = XnnpackDriver(1).prepare(network(), PrepareOptions())
    expected = run(prepared)
    shared = open_handle(prepared, OpenOptions([X.shape]))
    bound = open_handle(prepared, OpenOptions([X.shape], exclusive=True, bind=True))
    assert shared.call is not None
    assert bound.call is not None
    assert bound.inputs is not None
    bound.inputs[0][...] = X
    for (result,) in (shared.call([X]), bound.call(bound.inputs)):
        np.testing.assert_array_equal(result, expected)
    bound.close()
    prepared.close()


@needs_float16
def test_a_cache_entry_keeps_the_precision() -> None:
    driver = XnnpackDriver(1)
    prepared = driver.prepare(network(), PrepareOptions())
    entry = driver.cache_entry(prepared)
    assert entry is not None
    restored: Any = driver.restore(network(), CacheEntry(entry), PrepareOptions())
    assert restored.compiled.in_float16
    np.testing.assert_array_equal(run(restored), run(prepared))


def test_a_refused_graph_is_computed_in_float32(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*arguments: Any) -> CompiledModel:
        raise RuntimeError("no")

    monkeypatch.setattr(float16, "CompiledModel", refuse)
    driver = XnnpackDriver(1)
    prepared, exact = (driver.prepare(network(), PrepareOptions(variant=each)) for each in ("", "in float32"))
    np.testing.assert_array_equal(run(prepared), run(exact))
    assert "LiteRT refuses the graph in float16: no; it computes in float32" in caplog.text
    compiled = compile(network(), [engine()], cache=False)
    reason = "xnnpack-cpu computes float32 in float32: LiteRT refuses the graph in float16: no"
    assert compiled.explanation()["notes"] == [reason]
    assert reason in compiled.explain()


@needs_float16
def test_a_graph_that_litert_refuses_at_its_first_run_is_computed_in_float32(caplog: pytest.LogCaptureFixture) -> None:
    """XNNPACK has no product of batches with a constant in float16, and LiteRT finds that only when it runs."""
    b, constant = Builder(), np.random.default_rng(2).normal(size=(1, 256, 5)).astype(np.float32)
    b.output(b.batch_matmul(b.input(tensor("float32", (1, *X.shape))), constant, False, False))
    prepared = XnnpackDriver(1).prepare(b.finish().with_precision(Precision.FLOAT16), PrepareOptions())
    found = prepared.execute(Request([X[None]])).outputs[0]
    np.testing.assert_allclose(found, X[None] @ constant, rtol=1e-4, atol=1e-4)
    assert "it computes in float32" in caplog.text


def test_xnnpack_explains_why_it_computes_in_float32() -> None:
    assert XnnpackDriver().offer_precision(network(Precision.BFLOAT16)).reason.startswith("XNNPACK computes no")
    b = Builder()
    state, weights, bias = np.zeros((1, 2), np.float32), np.zeros((2, 2), np.float32), np.zeros(2, np.float32)
    hidden = b.input(tensor("float32", state.shape))
    b.output(*b.rnn(b.input(tensor("float32", (1, 2))), weights, weights, bias, hidden, 0))
    recurrent = b.finish().with_precision(Precision.FLOAT16)
    assert "recurrent" in XnnpackDriver().offer_precision(recurrent).reason


@needs_float16
@pytest.mark.parametrize("declared", [2, 8])
def test_buffers_have_the_sizes_that_litert_infers(declared: int) -> None:
    content = single("ADD", [f32(1, 4), const(np.ones((1, 4)), "FLOAT32")], f32(1, declared), "AddOptions")
    model = float16.compile_in_float16(content, 1)
    model.invoke()
    assert model.views[-1].tolist() == [[1, 1, 1, 1]]


@needs_float16
def test_squares_are_computed_in_float32() -> None:
    """In float16 the mean of these squares is infinite."""
    b, x = Builder(), np.full((1, 2, 2, 1), 300, np.float32)
    b.output(b.l2_pool_2d(b.input(tensor("float32", x.shape)), 0, 0, 0, 0, 1, 1, 2, 2, 0))
    compilation = compile(b.finish().with_precision(Precision.FLOAT16), [engine()])
    np.testing.assert_allclose(compilation.run(x)[0], [[[[300]]]])
    assert "L2_POOL_2D squares values" in str(compilation.explanation()["notes"])


def test_explanations_name_the_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = [compile(network(each), [engine()]).explanation()["notes"] for each in Precision]
    assert notes[0] == []
    assert notes[1] == ["xnnpack-cpu computes float32 in float16"]
    assert notes[2] == ["xnnpack-cpu computes float32 in float32: XNNPACK computes no networks in bfloat16"]
    assert "computes float32 in float16" in compile(network(), [engine()]).explain()


def test_nothing_changes_without_arithmetic(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(precision, "find_instruction_sets", frozenset)
    with caplog.at_level(logging.WARNING):
        prepared: Any = XnnpackDriver(1).prepare(network(), PrepareOptions())
    assert not prepared.compiled.in_float16
    assert "no float16 arithmetic" in compile(network(), [engine()]).explain()
