"""Running compiled models: whose memory is whose, several at a time, deadlines, entries of the compilation cache."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import PreferenceCode
from nnapi.contract.driver import CacheEntry, Caches, Driver, OpenOptions, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.errors import MissedDeadlinePersistentError, OpFailedError
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver, driver, engine
from nnapi.drivers.openvino.api import ov
from nnapi.drivers.openvino.engine import lower_model
from nnapi.drivers.openvino.prepared import COPIED

pytestmark = pytest.mark.engine

SMALL, LARGE = (2, 3), (2, COPIED)


def doubled(shape: tuple[int, ...]) -> Any:
    """A model that adds a tensor to itself."""
    builder = nnapi.Builder()
    x = builder.input(tensor("float32", shape))
    builder.output(builder.add(x, x))
    return builder.finish()


def prepared(model: Any, **options: PreferenceCode) -> Any:
    return OpenVinoDriver(threads=1).prepare(model, PrepareOptions(**options))  # type: ignore[arg-type]


def test_devices() -> None:
    drivers = driver()
    assert (drivers[0].info.name, drivers[0].info.feature_level) == ("openvino-cpu", 8)
    assert all(isinstance(found, Driver) and isinstance(found, Caches) for found in drivers)


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_outputs_are_not_written_again(shape: tuple[int, ...]) -> None:
    ready = prepared(doubled(shape))
    first = ready.execute(Request([np.full(shape, 1, np.float32)])).outputs[0]
    second = ready.execute(Request([np.full(shape, 2, np.float32)])).outputs[0]
    assert (first == 2).all()
    assert (second == 4).all()


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_the_same_array_is_read_anew(shape: tuple[int, ...]) -> None:
    ready, array = prepared(doubled(shape)), np.ones(shape, np.float32)
    ready.execute(Request([array]))
    array[:] = 5
    assert (ready.execute(Request([array])).outputs[0] == 10).all()


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_arrays_that_are_read_only_or_not_in_order(shape: tuple[int, ...]) -> None:
    ready, array = prepared(doubled(shape)), np.ones(shape, np.float32)
    array.flags.writeable = False
    assert (ready.execute(Request([array])).outputs[0] == 2).all()
    turned = np.arange(np.prod(shape), dtype=np.float32).reshape(shape[::-1]).T
    assert np.array_equal(ready.execute(Request([turned])).outputs[0], 2 * turned)


@pytest.mark.parametrize("preference", PreferenceCode)
def test_many_at_a_time(preference: PreferenceCode) -> None:
    ready = prepared(doubled(SMALL), preference=preference)
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(ready.execute, Request([np.full(SMALL, i, np.float32)])) for i in range(40)]
        assert all((run.result().outputs[0] == 2 * i).all() for i, run in enumerate(runs))


def test_what_does_not_fit_is_refused() -> None:
    ready = prepared(doubled(SMALL))
    with pytest.raises(OpFailedError):
        ready.execute(Request([np.ones((3, 3), np.float32)]))
    with pytest.raises(OpFailedError):
        ready.execute(Request([None]))
    with pytest.raises(MissedDeadlinePersistentError):
        ready.execute(Request([np.ones(SMALL, np.float32)], deadline=time.monotonic_ns() - 1))


def test_open_dimensions_are_those_of_each_run() -> None:
    model = doubled((0, 3))
    assert all(verdict.supported for verdict in OpenVinoDriver().verdicts(model))
    ready = prepared(model)
    for batches in (1, 5, 2, 7, 8, 1):
        outputs = ready.execute(Request([np.full((batches, 3), batches, np.float32)])).outputs
        assert outputs[0].shape == (batches, 3)
        assert (outputs[0] == 2 * batches).all()
    with pytest.raises(OpFailedError, match="an input is omitted"):
        ready.execute(Request([None]))
    assert OpenVinoDriver().cache_entry(ready) is None


def test_preparing_what_is_refused_fails_with_the_reason() -> None:
    builder = nnapi.Builder()
    x = builder.input(tensor("int32", (2,)))
    builder.output(builder.topk_v2(x, 1)[0])
    with pytest.raises(OpFailedError, match="which the engine compares as float32"):
        prepared(builder.finish())


def test_a_cache_entry_makes_the_same_model() -> None:
    device, model, array = OpenVinoDriver(threads=1), doubled(SMALL), np.ones(SMALL, np.float32)
    entry = device.cache_entry(device.prepare(model, PrepareOptions()))
    again = device.restore(model, CacheEntry(entry), PrepareOptions())
    assert (again.execute(Request([array])).outputs[0] == 2).all()


def test_a_cache_entry_keeps_the_bounds_of_indices() -> None:
    builder = nnapi.Builder()
    rows, indices = builder.input(tensor("float32", (3, 2))), builder.input(tensor("int32", (1,)))
    builder.output(builder.gather(rows, 0, indices))
    device, model = OpenVinoDriver(threads=1), builder.finish()
    entry = device.cache_entry(device.prepare(model, PrepareOptions()))
    again = device.restore(model, CacheEntry(entry), PrepareOptions())
    request = [np.ones((3, 2), np.float32), np.array([3], np.int32)]
    with pytest.raises(OpFailedError, match=r"0\.\.2"):
        again.execute(Request(request))


def test_runs_that_meet_have_a_model_each_while_there_are_threads_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.drivers.openvino.engine.os.sched_getaffinity", lambda _: {0, 1, 2})
    ready = prepared(doubled(SMALL))
    runs = [ready._copies.make_run() for _ in range(4)]
    assert len({id(model) for model in ready._copies._models}) == 3
    assert len(ready._copies._models) == 3
    traced = ready._profile
    for run in runs:
        (output,) = run([np.ones(SMALL, np.float32)], traced.of([np.ones(SMALL, np.float32)]))
        assert (output == 2).all()


def test_runs_take_turns_where_the_engine_makes_no_copy(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("nnapi.drivers.openvino.engine.os.sched_getaffinity", lambda _: {0, 1, 2})
    monkeypatch.setattr("nnapi.drivers.openvino.engine._export", lambda _: b"no model")
    ready = prepared(doubled(SMALL))
    for _ in range(3):
        ready._copies.make_run()
    assert len(ready._copies._models) == 1
    assert caplog.text.count("runs take turns") == 1
    assert (ready.execute(Request([np.ones(SMALL, np.float32)])).outputs[0] == 2).all()


def test_one_model_is_enough_where_a_run_takes_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.drivers.openvino.engine.os.sched_getaffinity", lambda _: {0})
    ready = prepared(doubled(SMALL))
    for _ in range(2):
        ready._copies.make_run()
    assert len(ready._copies._models) == 1


def test_threads_follow_the_preference() -> None:
    def threads(preference: Any, given: Any = None) -> Any:
        chosen = engine.choose_properties("CPU", PrepareOptions(preference=preference), given, "f32")
        return chosen["INFERENCE_NUM_THREADS"], chosen["NUM_STREAMS"]

    assert threads(PreferenceCode.PREFER_LOW_POWER) == (1, 1)
    assert threads(PreferenceCode.PREFER_FAST_SINGLE_ANSWER, 3) == (3, 1)
    assert threads(PreferenceCode.PREFER_SUSTAINED_SPEED, 3) == (3, 3)
    assert engine.choose_properties("CPU", PrepareOptions(), 1, "f32")["INFERENCE_PRECISION_HINT"] == "f32"


def test_the_short_way_gives_what_the_general_one_gives() -> None:
    for shape in (SMALL, LARGE):
        ready, array = prepared(doubled(shape)), np.ones(shape, np.float32)
        infer = open_handle(ready, OpenOptions([shape])).call
        (first,), (second,) = infer([array]), infer([3 * array])
        assert (first == 2).all()
        assert (second == 6).all()
        assert open_handle(ready, OpenOptions([(7, 7)])).call is None


def test_the_short_way_of_open_dimensions_is_made_for_each_shape() -> None:
    ready = prepared(doubled((0, 3)))
    for batches in (1, 4):
        (output,) = open_handle(ready, OpenOptions([(batches, 3)])).call([np.ones((batches, 3), np.float32)])
        assert (output == np.full((batches, 3), 2)).all()


def test_runs_and_bursts_take_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    compilation = nnapi.compile(doubled(SMALL), Device(OpenVinoDriver(threads=1)))
    monkeypatch.setattr("nnapi.drivers.openvino.prepared.PreparedOpenVino.execute", None)
    array = np.ones(SMALL, np.float32)
    assert (compilation.run(array)[0] == 2).all()
    with compilation.burst() as burst:
        assert (burst.run(array)[0] == 2).all()


@pytest.mark.parametrize("index", [-1, 3])
def test_the_short_way_tests_indices_that_the_engine_would_not(index: int) -> None:
    builder = nnapi.Builder()
    rows, indices = builder.input(tensor("float32", (3, 2))), builder.input(tensor("int32", (2,)))
    builder.output(builder.gather(rows, 0, indices))
    ready = prepared(builder.finish())
    infer = open_handle(ready, OpenOptions([(3, 2), (2,)])).call
    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert np.array_equal(infer([array, np.array([0, 2], np.int32)])[0], array[[0, 2]])
    with pytest.raises(OpFailedError, match=r"0\.\.2"):
        infer([array, np.array([0, index], np.int32)])
    assert np.array_equal(infer([array, np.array([1, 0], np.int32)])[0], array[[1, 0]])
    assert ready._copies._requests == 1  # the one that refused goes on


@pytest.mark.parametrize("index", [-1, 3])
def test_many_indices_are_tested_too(index: int) -> None:
    """Those that are lent to the engine and not copied."""
    count = COPIED
    builder = nnapi.Builder()
    rows, indices = builder.input(tensor("float32", (3, 1))), builder.input(tensor("int32", (count,)))
    builder.output(builder.gather(rows, 0, indices))
    infer = open_handle(prepared(builder.finish()), OpenOptions([(3, 1), (count,)])).call
    array, given = np.arange(3, dtype=np.float32).reshape(3, 1), np.arange(count, dtype=np.int32) % 3
    assert np.array_equal(infer([array, given])[0], array[given])
    given[-1] = index
    with pytest.raises(OpFailedError, match=r"0\.\.2"):
        infer([array, given])


def test_layers_with_residuals_are_searched_for_groups() -> None:
    builder, random = nnapi.Builder(), np.random.default_rng(0)
    x = builder.input(tensor("float32", (1, 8)))
    for _ in range(210):
        weights = random.normal(size=(8, 8)).astype(np.float32) / 8
        layer = builder.fully_connected(builder.tanh(builder.neg(x)), weights, np.zeros(8, np.float32), 0)
        x = builder.tanh(builder.add(x, builder.neg(layer), 0))
    builder.output(x)
    assert lower_model(builder.finish()).may_fuse


def test_long_chains_are_not_searched_for_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Core(ov.Core):  # type: ignore[misc]
        def compile_model(self, model: Any, device_name: Any = None, config: Any = None) -> Any:
            asked.append(config)
            return super().compile_model(model, device_name, config)

    core = Core()
    monkeypatch.setattr("nnapi.drivers.openvino.engine.core", lambda: core)
    for length in (10, 300):
        builder = nnapi.Builder()
        x = builder.input(tensor("float32", (2,)))
        for _ in range(length):
            x = builder.relu(x)
        builder.output(x)
        OpenVinoDriver(threads=1).prepare(builder.finish(), PrepareOptions())
    assert ["SNIPPETS_MODE" in config for config in asked] == [False, True]


def make_pooled_and_quantized() -> nnapi.Model:
    """A float16 input whose negation is averaged and quantized."""
    builder = nnapi.Builder()
    negated = builder.neg(builder.input(tensor("float16", (1, 4, 4, 2))))
    quantized = tensor("quant8_asymm", (1, 4, 4, 2), scale=0.01, zero_point=128)
    pooled = builder.average_pool_2d(negated, 1, 1, 1, 2, 2, 0)
    builder.output(pooled, builder.quantize(negated, out=quantized))
    return builder.finish()


def test_a_factor_of_a_float16_input_is_not_taken_for_its_scale() -> None:
    model = make_pooled_and_quantized()
    x = np.linspace(-1, 1, 32, dtype=np.float16).reshape(1, 4, 4, 2)
    found, right = prepared(model).execute(Request([x])).outputs, nnapi.compile(model, "nnapi-reference").run(x)
    assert np.allclose(found[0], right[0], atol=2e-3)
    assert np.abs(found[1].astype(int) - right[1]).max() <= 1


@pytest.mark.parametrize("failures", [1, 2])
def test_a_graph_that_low_precision_passes_break_is_compiled_without_them(
    monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    asked = []

    class Core(ov.Core):  # type: ignore[misc]
        def compile_model(self, model: Any, device_name: Any = None, config: Any = None) -> Any:
            asked.append(config)
            if len(asked) <= failures:
                raise RuntimeError("Supported primitive descriptors list is empty")
            return super().compile_model(model, device_name, config)

    core = Core()
    monkeypatch.setattr("nnapi.drivers.openvino.engine.core", lambda: core)
    monkeypatch.setattr("nnapi.drivers.openvino.byte_sums.are_byte_sums_exact", lambda: True)
    if failures == 1:
        prepared(doubled(SMALL))
    else:
        with pytest.raises(OpFailedError, match="descriptors list is empty"):
            prepared(doubled(SMALL))
    assert [config.get("LP_TRANSFORMS_MODE") for config in asked] == [None, False]


@pytest.mark.parametrize("own", [1, None])
def test_a_restored_model_has_the_threads_of_its_driver_or_else_of_the_options(own: int | None) -> None:
    device, model = OpenVinoDriver(threads=own), doubled(SMALL)
    options = PrepareOptions(threads=own or 1)
    entry = device.cache_entry(device.prepare(model, options))
    again: Any = device.restore(model, CacheEntry(entry), options)
    assert again.compiled.get_property("INFERENCE_NUM_THREADS") == 1


def test_runs_of_a_restored_model_that_meet_have_a_model_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine does not import again what it exports of an imported model."""
    monkeypatch.setattr("nnapi.drivers.openvino.engine.os.sched_getaffinity", lambda _: {0, 1, 2})
    entry = engine.dump(prepared(doubled(SMALL)))
    assert entry is not None
    ready = engine.load(doubled(SMALL), memoryview(entry), "CPU", PrepareOptions(), 1)
    runs = [ready._copies.make_run() for _ in range(4)]
    assert len({id(model) for model in ready._copies._models}) == 3
    for run in runs:
        (output,) = run([np.ones(SMALL, np.float32)], ready._profile.of([np.ones(SMALL, np.float32)]))
        assert (output == 2).all()


def test_a_cache_entry_of_other_sizes_is_not_run() -> None:
    """A single number would be copied to each element of a larger input."""
    entry = engine.dump(prepared(doubled(SMALL)))
    assert entry is not None
    ready = engine.load(doubled((1, 1)), entry, "CPU", PrepareOptions(), 1)
    with pytest.raises(OpFailedError, match=r"takes inputs of shapes \[\(2, 3\)\], not \[\(1, 1\)\]"):
        ready.execute(Request([np.ones((1, 1), np.float32)]))
