"""Preparations for all sizes, by devices that take dynamic dimensions."""

import time
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode
from nnapi.contract.driver import Outcome, PrepareOptions, Request
from nnapi.errors import OpFailedError
from nnapi.model.dynamic_model import SizedModel
from nnapi.model.operand import OperandType
from nnapi.runtime import specializations
from nnapi.runtime.device import Device
from nnapi.runtime.sized_runs import MOST_PREPARED, SizedCache
from nnapi.shapes.symbols import Symbols

OTHER = SimpleNamespace(name="static-one", driver=object())


class Doubling:
    """A driver of dynamic dimensions whose model doubles its input and adds the second one."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure, self.options = failure, list[PrepareOptions]()

    def prepare_dynamic(self, model: Any, options: PrepareOptions) -> Any:
        self.options.append(options)
        if self.failure is not None:
            raise self.failure
        return self

    def execute(self, request: Request) -> Outcome:
        x, further = request.inputs
        assert x is not None
        assert further is not None
        return Outcome([2 * x + further])

    def close(self) -> None: ...


def describe(shapes: Any) -> SizedModel:
    """A model for rows of any number, up to 9 if it was described for so few, with their number as further input."""
    symbols = Symbols()
    rows = symbols.add(shapes[0][0], "x[0]")
    operand = SimpleNamespace(name="x", type=OperandType(OperandCode.TENSOR_FLOAT32, (rows, 3)))
    few = shapes[0][0] < 10
    return SizedModel(
        SimpleNamespace(inputs=(0,), operands=(operand,)),  # type: ignore[arg-type]
        symbols,
        lambda run: [np.full(1, run[0][0], np.float32)],
        lambda run: "" if (run[0][0] < 10) == few else "too many",
    )


def compilation(*drivers: Any) -> Any:
    devices = [SimpleNamespace(name=f"dynamic-{number}", driver=driver) for number, driver in enumerate(drivers)]
    return SimpleNamespace(candidates=[OTHER, *devices], options=PrepareOptions(threads=3, deadline=7))


def test_one_preparation_runs_all_sizes_that_keep_its_guards() -> None:
    driver, cache = Doubling(), SizedCache(describe)
    assert cache.find(((2, 3),)) is None
    made = cache.make(((2, 3),), compilation(driver))
    assert made is not None
    assert driver.options == [PrepareOptions(threads=3)], "the deadline was that of another preparation"
    for rows in (1, 2, 9):
        assert cache.find(((rows, 3),)) is made
        np.testing.assert_array_equal(made.run([np.ones((rows, 3), np.float32)])[0], np.full((rows, 3), 2 + rows))
    assert cache.find(((10, 3),)) is None
    made.runs = 3
    (text,) = cache.explain()
    assert text.startswith("dynamic dimensions on dynamic-0: compiled in ")
    assert text.endswith("s, 3 runs\nx [x[0], 3]")


def test_sizes_that_a_driver_fixes_are_named() -> None:
    cache = SizedCache(describe)
    made = cache.make(((2, 3),), compilation(Doubling()))
    assert made is not None
    int(made.model.model.operands[0].type.dimensions[0])
    assert "0 runs, only for x[0] = 2\n" in cache.explain()[0]


def test_each_device_gives_its_reason() -> None:
    cache = SizedCache(describe)
    drivers = Doubling(OpFailedError("a WHILE")), Doubling(TypeError("sizes")), Doubling()
    assert cache.make(((2, 3),), compilation(*drivers[:2])) is None
    assert cache.explain() == [
        "other shapes are compiled each: static-one takes no dynamic dimensions; "
        "dynamic-0: a WHILE; dynamic-1: TypeError: sizes"
    ]
    assert cache.make(((2, 3),), compilation(drivers[2])) is None, "it is not asked again"
    assert not drivers[2].options


def test_a_driver_that_takes_only_the_sizes_of_the_import() -> None:
    cache = SizedCache(lambda shapes: describe(((20, 3),)))
    assert cache.make(((2, 3),), compilation(Doubling())) is None
    assert cache.explain() == ["other shapes are compiled each: dynamic-0: too many"]


def test_a_model_without_symbols_is_refused() -> None:
    cache = SizedCache(lambda shapes: None)
    assert cache.make(((2, 3),), compilation(Doubling())) is None
    assert cache.explain() == ["other shapes are compiled each: an operation needs a size"]


def test_a_few_preparations_are_made() -> None:
    cache = SizedCache(describe)
    for _ in range(MOST_PREPARED):
        assert cache.make(((2, 3),), compilation(Doubling())) is not None
    assert cache.make(((2, 3),), compilation(Doubling())) is None
    assert cache.explain()[-1] == "other shapes are compiled each: 4 preparations did not suffice"


def test_a_preparation_that_fails_is_not_used_again() -> None:
    cache = SizedCache(describe)
    made = cache.make(((2, 3),), compilation(Doubling()))
    assert made is not None
    cache.refuse(made, RuntimeError("broken"))
    assert cache.find(((2, 3),)) is None
    assert cache.make(((2, 3),), compilation(Doubling())) is None
    assert cache.explain() == ["other shapes are compiled each: dynamic-0: broken"]


@pytest.mark.parametrize("rows", [2, 12])
def test_it_is_cleared(rows: int) -> None:
    cache = SizedCache(describe)
    cache.make(((rows, 3),), compilation(Doubling()))
    cache.clear()
    assert cache.find(((rows, 3),)) is None


@pytest.mark.engine
def test_texts_of_any_length_take_two_compilations(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for the length of the first prompt, one for all sizes."""
    pytest.importorskip("openvino", reason="OpenVINO is an extra: nnapi[openvino]")
    pytest.importorskip("onnx", reason="onnx is not installed")
    from nnapi.drivers.openvino import OpenVinoDriver
    from tests.importers.onnx.symbolic_cases import make_positions

    model = nnapi.load(make_positions())
    ours, theirs = (nnapi.compile(model, which) for which in (Device(OpenVinoDriver(threads=1)), "nnapi-reference"))
    monkeypatch.setattr(time, "perf_counter", count().__next__)
    rng = np.random.default_rng(1)
    for prompt in (5, 9, 7):
        for length, past in ((prompt, 1), *((1, prompt + 1 + 2 * token) for token in range(6))):
            inputs = rng.integers(0, 30, (1, length), np.int32), rng.normal(size=(1, 1, past, 8)).astype(np.float32)
            np.testing.assert_allclose(ours.run(*inputs)[0], theirs.run(*inputs)[0], rtol=1e-4, atol=1e-5)
    text = ours.explain()
    assert text.count("\n\ninputs [") == 0, "one specialization, the first"
    assert "dynamic dimensions on openvino-cpu: compiled in 1.00 s, 20 runs" in text
    assert "ids [ids[0], ids[1]], past [past[0], 1, past[2], 8]" in text


@pytest.mark.engine
def test_masks_and_angles_of_all_lengths_take_two_compilations(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt of several tokens follows an empty past, and single tokens follow it: one preparation holds for all."""
    pytest.importorskip("openvino", reason="OpenVINO is an extra: nnapi[openvino]")
    pytest.importorskip("onnx", reason="onnx is not installed")
    from nnapi.drivers.openvino import OpenVinoDriver
    from tests.importers.onnx.symbolic_cases import make_masked

    model = nnapi.load(make_masked())
    devices: list[Any] = [
        Device(OpenVinoDriver(threads=1)),
        "nnapi-reference",
    ]  # which alone takes tensors without elements
    ours, theirs = nnapi.compile(model, devices), nnapi.compile(model, "nnapi-reference")
    monkeypatch.setattr(time, "perf_counter", count().__next__)
    rng = np.random.default_rng(1)
    for length, past in ((5, 0), (1, 7), (1, 9), (6, 3), (7, 0), (1, 9), (1, 12), (8, 0)):
        mask = np.ones((1, past + length), np.int32)
        mask[0, 1] = 0
        given = rng.integers(0, 30, (1, length), np.int32), mask, rng.normal(size=(1, 2, past, 4)).astype(np.float32)
        np.testing.assert_allclose(ours.run(*given)[0], theirs.run(*given)[0], rtol=1e-4, atol=1e-5)
    assert "dynamic dimensions on openvino-cpu: compiled in 1.00 s, 7 runs" in ours.explain()


@pytest.mark.engine
@pytest.mark.parametrize("tuning", [False, True])
def test_a_growth_is_found_once(tuning: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that follow it look for no other; without trials, nothing looks for one."""
    pytest.importorskip("openvino", reason="OpenVINO is an extra: nnapi[openvino]")
    pytest.importorskip("onnx", reason="onnx is not installed")
    from nnapi.drivers.openvino import OpenVinoDriver
    from tests.importers.onnx.symbolic_cases import make_heads

    asked: list[Any] = []
    find: Any = vars(specializations)["find_growth"]
    monkeypatch.setattr(specializations, "find_growth", lambda *pair: asked.append(pair) or find(*pair))
    monkeypatch.setattr(specializations, "is_tuning", lambda: tuning)
    work: list[Any] = []
    monkeypatch.setattr(specializations, "do_behind_runs", work.append)
    monkeypatch.setattr(time, "perf_counter", count().__next__)
    with nnapi.compile(nnapi.load(make_heads()), Device(OpenVinoDriver(threads=1))) as compiled:
        for length in (9, 20, *range(30, 40)):
            compiled.run(np.ones((2, length, 8), np.float32))
    grown = [(before[0][1], now[0][1]) for before, now in asked if before]
    assert grown == ([(9, 20), (20, 30), (30, 31)] if tuning else [])
    assert len(work) == tuning
