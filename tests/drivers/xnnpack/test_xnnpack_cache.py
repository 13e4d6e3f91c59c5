"""Entries of the compilation cache: what is kept of a graph, and what comes of it."""

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperationCode as Op
from nnapi.compiling import compile
from nnapi.contract.driver import CacheEntry, Caches, PrepareOptions, Request
from nnapi.drivers.litert import artifact as entries
from nnapi.drivers.xnnpack import XnnpackDriver
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device
from nnapi.runtime.planning.explain import as_text
from tests.drivers.xnnpack.engine_cases import Net

TOKEN = bytes(32)
OPTIONS = PrepareOptions()
FLOATS = np.linspace(-3, 3, 64 * 32, dtype=np.float32).reshape(64, 32)


def product(rows: int = 2, weights: Any = FLOATS) -> Any:
    """A matrix product with constant weights, of which the engine takes floats as they are and converts codes."""
    net = Net()
    units, depth = weights.shape
    if weights.dtype == np.float32:
        types = tensor("float32", (rows, depth)), tensor("float32", weights.shape), tensor("float32", (units,))
        out = tensor("float32", (rows, units))
    else:
        types = (
            tensor("uint8", (rows, depth), 0.5, 10),
            tensor("uint8", weights.shape, 0.25, 3),
            tensor("int32", (units,), 0.125),
        )
        out = tensor("uint8", (rows, units), 64.0, 100)
    x, w, bias = net.input(types[0]), net.constant(types[1], weights), net.constant(types[2], np.arange(units))
    return net.finished(net.call(Op.FULLY_CONNECTED, [x, w, bias, *net.numbers(0)], out))


def given(model: Any) -> list[Any]:
    type = model.operands[model.inputs[0]].type
    return [np.arange(type.size).reshape(type.dimensions).astype(type.dtype)]


def ran(prepared: Any, arrays: list[Any]) -> Any:
    (output,) = prepared.execute(Request(arrays)).outputs
    return output


CODES = np.random.default_rng(0).integers(0, 256, FLOATS.shape).astype(np.uint8)


@pytest.mark.parametrize("weights", [FLOATS, CODES], ids=["floats", "codes"])
def test_what_is_restored_computes_the_same_without_being_lowered(
    weights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, model = XnnpackDriver(1), product(weights=weights)
    assert isinstance(first, Caches)
    prepared = first.prepare(model, OPTIONS)
    entry = CacheEntry(first.cache_entry(prepared))
    monkeypatch.setattr("nnapi.drivers.xnnpack.lowering.lower_model", None)
    again = product(weights=weights)
    restored = XnnpackDriver(1).restore(again, entry, OPTIONS)
    assert np.array_equal(ran(restored, given(again)), ran(prepared, given(model)))
    assert restored.compiled.content[: len(prepared.compiled.content)] == prepared.compiled.content  # type: ignore[union-attr]


def test_dimensions_that_the_model_leaves_open_can_be_lowered_later() -> None:
    driver, model = XnnpackDriver(1), product(rows=0)
    restored = driver.restore(model, CacheEntry(driver.cache_entry(driver.prepare(model, OPTIONS))), OPTIONS)
    for rows in (1, 3):
        arrays = [np.ones((rows, 32), np.float32)]
        assert np.allclose(ran(restored, arrays), arrays[0] @ FLOATS.T + np.arange(64), rtol=1e-5, atol=1e-4)


def test_threads_are_chosen_when_it_is_restored() -> None:
    model, driver = product(), XnnpackDriver()
    entry = CacheEntry(driver.cache_entry(driver.prepare(model, OPTIONS)))
    assert driver.restore(model, entry, PrepareOptions(threads=2))._pool._make.args[1] == 2  # type: ignore[union-attr]
    assert driver.restore(model, entry, OPTIONS)._pool._make.args[1] == 1  # type: ignore[union-attr]


def test_entries_of_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model, driver = product(), XnnpackDriver(1)
    entry = CacheEntry(driver.cache_entry(driver.prepare(model, OPTIONS)))
    monkeypatch.setattr(entries, "VERSION", entries.VERSION + 1)
    with pytest.raises(ValueError, match="the driver's is"):
        driver.restore(model, entry, OPTIONS)


def test_an_entry_is_the_content_so_that_the_engine_can_map_it_and_nobody_copies_it() -> None:
    driver = XnnpackDriver(1)
    prepared = driver.prepare(product(), OPTIONS)
    entry = driver.cache_entry(prepared)
    assert entry is prepared.compiled.content  # type: ignore[union-attr]
    flipped, shapes, _, _, assumed, in_float16, _ = entries.read_facts(memoryview(entry))[0]
    assert (flipped, shapes, assumed, in_float16) == ((False, False), ((2, 64),), None, False)


def test_the_engine_maps_the_file_of_a_large_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.drivers.litert.interpreter.WORTH_MAPPING", 1)
    cold, warm = (compile(product(), Device(XnnpackDriver(1)), cache=(tmp_path, TOKEN)) for _ in range(2))
    (entry,) = tmp_path.iterdir()
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(entry) in line]
    assert len(mapped) == 2, "once by the cache, once by the engine"
    entry.unlink()
    other = warm.start(*given(warm.model))  # another interpreter, made of the file that has lost its name
    assert np.array_equal(warm.run(*given(warm.model))[0], cold.run(*given(cold.model))[0])
    assert np.array_equal(other.result()[0], cold.run(*given(cold.model))[0])


def test_a_compilation_with_a_cache_lowers_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = compile(product(), Device(XnnpackDriver(1)), cache=(tmp_path, TOKEN))
    with monkeypatch.context() as patch:
        patch.setattr("nnapi.drivers.xnnpack.lowering.lower_model", None)
        warm = compile(product(), Device(XnnpackDriver(1)), cache=(tmp_path, TOKEN))
        assert np.array_equal(warm.run(*given(warm.model))[0], cold.run(*given(cold.model))[0])
    assert as_text(warm.plan) == as_text(cold.plan)  # who wants to know asks the driver again


def test_verdicts_and_preparation_share_one_lowering(monkeypatch: pytest.MonkeyPatch) -> None:
    from nnapi.drivers.xnnpack import lowering

    made = []
    lower_model = lowering.lower_model
    monkeypatch.setattr(lowering, "lower_model", lambda *args, **kw: made.append(args) or lower_model(*args, **kw))
    for rows in (2, 0):
        compile(product(rows), Device(XnnpackDriver(1)))
        assert len(made) == 1, "rows known" if rows else "rows open"
        made.clear()


def test_what_was_lowered_for_verdicts_goes_with_the_model() -> None:
    driver, model = XnnpackDriver(1), product()
    driver.verdicts(model)
    assert driver._asked
    del model
    gc.collect()
    assert not driver._asked


WARM = """
import sys, numpy, nnapi
b = nnapi.Builder()
b.output(b.add(b.input(nnapi.tensor("float32", (2, 2))), numpy.ones((2, 2), "f4")))
nnapi.compile(b.finish(), "xnnpack-cpu", cache=sys.argv[1])
print(*sys.modules)
"""


@pytest.mark.slow
def test_a_warm_start_imports_nothing_that_lowers(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DEBUG_NN_CPUONLY"}
    command = [sys.executable, "-c", WARM, str(tmp_path)]
    runs = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(2)]
    cold, warm = (set(run.stdout.split()) for run in runs)
    lowers = {f"nnapi.drivers.litert.{name}" for name in ("compile", "lowering", "rules")}
    lowers |= {f"nnapi.drivers.xnnpack.{name}" for name in ("lowering", "rewriting", "passes.signed_weights")}
    lowers |= {"nnapi.lowering.lower", "nnapi.formats.tflite.writer"}
    assert lowers <= cold
    assert lowers.isdisjoint(warm)


def test_the_pages_of_constants_from_1024_bytes_on_are_released(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[int] = []
    monkeypatch.setattr("nnapi.drivers.xnnpack.release_pages", lambda arrays: released.extend(a.nbytes for a in arrays))
    net = Net()
    for size in (1023, 1024, 2000):
        type = tensor("uint8", (1, size), 0.5, 128)
        sum_type = tensor("uint8", (1, size), 1.0, 128)
        operands = [net.input(type), net.constant(type, np.ones((1, size), np.uint8)), *net.numbers(0)]
        result = net.call(Op.ADD, operands, sum_type)
    model = net.finished(result)
    XnnpackDriver(1).prepare(model, OPTIONS).close()
    assert released == [1024, 2000]
