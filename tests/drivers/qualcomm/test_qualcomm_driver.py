"""The device ``qualcomm-htp``, if Qualcomm's compiler is installed."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")

import nnapi
from nnapi.contract.driver import CacheEntry, PrepareOptions, Request
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.qualcomm.chips import CHIPS
from nnapi.drivers.qualcomm.compiler import CompiledContext, compile_onnx, open_context
from nnapi.drivers.qualcomm.driver import PreparedHtp, QualcommDriver
from nnapi.exporters.onnx.graph import Graph, Node, Value
from nnapi.exporters.onnx.writer import serialize
from nnapi.host.installed_packages import Entry
from nnapi.model.model import Model
from nnapi.runtime.device import Device, _apart
from tests.drivers.qualcomm.qualcomm_cases import build_network
from tests.runtime.device_cases import build_reversed

IMAGE = np.random.default_rng(1).integers(0, 256, (1, 8, 8, 3)).astype(np.uint8)


@pytest.fixture
def htp() -> Iterator[Device]:
    known = QualcommDriver(CHIPS["SM8650"], "of a test")
    device = Device(_apart(known, Entry("qualcomm", "nnapi.drivers.qualcomm:find_drivers")))
    yield device
    device.close()


def steps(model: Model, device: Device) -> int:
    made, expected = (nnapi.compile(model, each).run(IMAGE)[0].astype(int) for each in (device, "nnapi-reference"))
    return int(abs(made - expected).max())


def test_a_network_is_taken_whole(htp: Device) -> None:
    model = build_network()
    assert htp.supports(model) == [True, True]
    assert steps(model, htp) <= 1


def test_the_device_is_for_those_who_name_it(htp: Device) -> None:
    assert htp.is_by_name
    assert htp.is_remote
    assert not htp.is_measured
    assert "emulated" in htp.version


def test_a_killed_process_is_replaced(htp: Device) -> None:
    model = build_network()
    compiled = nnapi.compile(model, htp)
    expected = compiled.run(IMAGE)[0]
    for _ in range(10):
        assert isinstance(htp.driver, Isolated)
        pid = htp.driver.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(nnapi.DeadObjectError, match="SIGKILL"):
            compiled.run(IMAGE)
        np.testing.assert_array_equal(compiled.run(IMAGE)[0], expected)


class Endless(QualcommDriver):
    """A driver whose compiler hangs."""

    patience = 1.0

    def _compile(self, content: bytes) -> CompiledContext:
        while True:
            time.sleep(60)


def test_a_compiler_that_hangs_is_ended() -> None:
    driver = Endless(CHIPS["SM8650"], "of a test that hangs")
    with Device(_apart(driver, Entry("qualcomm", "nnapi.drivers.qualcomm:find_drivers"))) as device:
        with pytest.raises(nnapi.DeadObjectError, match="1 s"):
            device.driver.verdicts(build_network())
        assert isinstance(device.driver, Isolated)
        assert device.driver.pid is None


def test_two_models_run_at_once(htp: Device) -> None:
    other = nnapi.Builder("other")
    x = other.input(nnapi.tensor("uint8", (1, 8, 8, 3), 0.02, 128))
    other.output(other.reshape(other.max_pool_2d(x, "valid", 2, 2, 2, 2), [1, 48]))
    compiled = [nnapi.compile(model, htp) for model in (build_network(), other.finish())]
    expected = [each.run(IMAGE)[0] for each in compiled]

    def run(number: int) -> None:
        for _ in range(10):
            np.testing.assert_array_equal(compiled[number % 2].run(IMAGE)[0], expected[number % 2])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))


def test_answers_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    driver, model = QualcommDriver(CHIPS["SM8650"], "of recorded answers"), build_network()
    first = driver.verdicts(model)
    monkeypatch.setattr(driver, "_compile", lambda content: pytest.fail("it is asked again"))
    assert driver.verdicts(model) == first


def test_a_context_is_restored() -> None:
    model, driver = build_network(), QualcommDriver(CHIPS["SM8650"], "of a test")
    prepared = driver.prepare(model, PrepareOptions())
    assert isinstance(prepared, PreparedHtp)
    (expected,) = prepared.execute(Request([IMAGE])).outputs
    entry = driver.cache_entry(prepared)
    assert entry
    (found,) = driver.restore(model, CacheEntry(entry), PrepareOptions()).execute(Request([IMAGE])).outputs
    np.testing.assert_array_equal(found, expected)


def test_what_cannot_be_compiled_fails_with_a_reason() -> None:
    compiled = compile_onnx(b"not a model", CHIPS["SM8650"])
    assert not compiled.context
    assert compiled.failure.endswith("protobuf parsing failed.")
    assert "[ONNXRuntimeError]" not in compiled.failure


def test_a_late_refusal_is_found_by_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler may accept each node, and then fail without naming one."""
    driver = QualcommDriver(CHIPS["SM8650"], "of a late refusal")
    compile = driver._compile

    def refuse_late(content: bytes) -> CompiledContext:
        return CompiledContext(b"", "it does not fit", "") if b"Conv" in content else compile(content)

    monkeypatch.setattr(driver, "_compile", refuse_late)
    convolution, reshape = driver.verdicts(build_network())
    assert convolution == (False, "CONV_2D (#0): QNN fails: it does not fit", ())
    assert reshape.supported


def test_files_for_a_phone(htp: Device) -> None:
    """The context model runs in ONNX Runtime without nnapi, and has the context binary inside."""
    assert isinstance(htp.driver, Isolated)
    assert htp.driver.list_targets() == list(CHIPS)
    model, found = build_network(), list[Mapping[str, bytes]]()
    for chip in ("SM8650", "SM8750"):
        other = htp.driver.retarget(chip)
        with Device(other):
            entry = other.cache_entry(other.prepare(model, PrepareOptions()))
        assert entry
        found.append(other.list_files(entry))
    files, others = found
    assert list(files) == [".bin", "_ctx.onnx"]
    assert files[".bin"] in files["_ctx.onnx"]
    assert files[".bin"] != others[".bin"]
    session = open_context(files["_ctx.onnx"], CHIPS["SM8650"])
    (made,) = session.run(None, {session.get_inputs()[0].name: IMAGE})
    np.testing.assert_array_equal(made, nnapi.compile(model, htp).run(IMAGE)[0])


def test_a_context_of_a_dynamic_model_is_restored() -> None:
    """It holds the graph for the assumed shapes; others are compiled."""
    net = nnapi.Builder("dynamic")
    net.output(net.relu(net.input(nnapi.tensor("uint8", (0, 4), 0.02, 128))))
    model, driver = net.finish(), QualcommDriver(CHIPS["SM8650"], "of a test")
    entry = driver.cache_entry(driver.prepare(model, PrepareOptions()))
    restored = driver.restore(model, CacheEntry(entry), PrepareOptions())
    for count in (1, 3):
        given = np.arange(4 * count, dtype=np.uint8).reshape(count, 4) * 20
        (found,) = restored.execute(Request([given])).outputs
        np.testing.assert_array_equal(found, np.maximum(given, 128))


def test_verdicts_are_in_run_order(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = QualcommDriver(CHIPS["SM8650"], "of an order")
    monkeypatch.setattr(driver, "_find_refusals", lambda lowered, numbers: {1: "no"})
    first, second = driver.verdicts(build_reversed())
    assert first == (False, "ABS (#1): no", ())
    assert second.supported


def test_booleans_are_passed() -> None:
    net = nnapi.Builder("choice")
    which = net.input(nnapi.tensor("bool8", (4,)))
    a, b = (net.input(nnapi.tensor("uint8", (4,), 0.5, 3)) for _ in range(2))
    net.output(net.select(which, a, b, scale=0.5, zero_point=3))
    model, driver = net.finish(), QualcommDriver(CHIPS["SM8650"], "of booleans")
    given = np.array([1, 0, 1, 0], np.uint8), np.arange(4, dtype=np.uint8), np.arange(10, 14, dtype=np.uint8)
    (found,) = driver.prepare(model, PrepareOptions()).execute(Request(given)).outputs
    np.testing.assert_array_equal(found, [0, 11, 2, 13])


def test_what_htp_computes_wrongly_is_still_wrong() -> None:
    """If this fails, the rules of the lowering for CAST can be removed."""
    value = Value(np.dtype(np.uint8), (4,), name="x")
    made = value.like(element=np.float32)
    graph = Graph([Node("Cast", [value], [made], {"to": np.dtype(np.float32)})], [value], [made], "cast")
    content, _ = serialize(graph, "", "", {})
    session = open_context(compile_onnx(content, CHIPS["SM8650"]).context, CHIPS["SM8650"])
    (found,) = session.run(None, {session.get_inputs()[0].name: np.array([0, 1, 2, 255], np.uint8)})
    np.testing.assert_allclose(found, [0, 1, 1, 1], rtol=1e-6)
