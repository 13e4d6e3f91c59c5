"""The driver's threads, and the parts of prepared models that need no compiled graph."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import COMPOSITE_OPERATIONS, CacheEntry, OpenOptions, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.drivers import openvino
from nnapi.drivers.openvino import OpenVinoDriver, byte_sums
from nnapi.errors import OpFailedError

THREADS = [(None, None, None), (None, 3, 3), (2, None, 2), (2, 3, 2)]


@pytest.fixture(autouse=True)
def a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino, "version", lambda name: {"openvino": "1.5"}[name])


@pytest.mark.parametrize(("own", "asked", "threads"), THREADS)
def test_the_driver_s_threads_come_before_those_of_the_options(
    monkeypatch: pytest.MonkeyPatch, own: int | None, asked: int | None, threads: int | None
) -> None:
    calls: list[Any] = []
    engine = SimpleNamespace(prepare=lambda *args: calls.append(args), load=lambda *args: calls.append(args))
    monkeypatch.setattr(openvino, "_engine", lambda: engine)
    driver, options = OpenVinoDriver("GPU", own), PrepareOptions(threads=asked)
    driver.prepare("model", options)  # type: ignore[arg-type]
    driver.restore("model", CacheEntry(memoryview(b"entry")), options)  # type: ignore[arg-type]
    assert calls == [("model", "GPU", options, threads), ("model", b"entry", "GPU", options, threads)]


@pytest.mark.parametrize(
    ("device", "is_exact", "name", "version", "type"),
    [
        ("CPU", True, "openvino-cpu", "OpenVINO 1.5", DeviceTypeCode.DEVICE_ACCELERATOR),
        ("CPU", False, "openvino-cpu", "OpenVINO 1.5, codes as float32", DeviceTypeCode.DEVICE_ACCELERATOR),
        ("GPU", False, "openvino-gpu", "OpenVINO 1.5", DeviceTypeCode.DEVICE_GPU),
        ("NPU", False, "openvino-npu", "OpenVINO 1.5", DeviceTypeCode.DEVICE_ACCELERATOR),
    ],
)
def test_devices_of_the_engine(
    monkeypatch: pytest.MonkeyPatch, device: str, is_exact: bool, name: str, version: str, type: DeviceTypeCode
) -> None:
    monkeypatch.setattr(byte_sums, "are_byte_sums_exact", lambda: is_exact)
    driver = OpenVinoDriver(device)
    assert driver.info == (name, version, type, 8, (COMPOSITE_OPERATIONS,))
    assert driver.capabilities().launch_seconds == 1e-5
    assert min(*driver.capabilities().if_, *driver.capabilities().while_) > 0
    assert driver.starts_slowly
    assert (driver.timings() is None) is (device != "CPU")
    assert driver.predict_variant("model") == ""  # type: ignore[arg-type]


def test_an_engine_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"^no module openvino: install nnapi\[openvino\]$"):
        openvino.driver()


# Prepared models


def import_prepared() -> Any:
    return pytest.importorskip("nnapi.drivers.openvino.prepared", reason="OpenVINO is an extra: nnapi[openvino]")


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ([], []),
        ([None, None], [0, 0]),
        ([3, None, None, 5, None], [3, 5, 5, 5, 5]),
        ([None, 2, 1], [2, 2, 1]),
    ],
)
def test_nodes_that_the_engine_adds_belong_to_the_next_operation(numbers: list[int | None], found: list[int]) -> None:
    """The last ones belong to the last operation."""
    prepared = import_prepared()
    assert prepared._attribute(numbers) == found


@pytest.mark.parametrize(
    ("microseconds", "kernel", "seconds"),
    [
        (3, "jit_avx2", 3.5e-6),
        (0, "jit_avx2", 0.1e-6),
        (0, "undef", 0.0),
        (0, "unknown_f32", 0.0),
        (3, "undef", 3.5e-6),
    ],
)
def test_the_seconds_of_a_node(microseconds: int, kernel: str, seconds: float) -> None:
    """A node without a kernel is fused or only data."""
    prepared = import_prepared()
    node = SimpleNamespace(real_time=timedelta(microseconds=microseconds), exec_type=kernel)
    assert prepared._seconds(node) == pytest.approx(seconds)


@pytest.mark.parametrize(("name", "number"), [("#7.2", 7), ("#12.1/fused", 12), ("Relu_3", None), ("#5", None)])
def test_the_operation_of_a_node(name: str, number: int | None) -> None:
    prepared = import_prepared()
    node = SimpleNamespace(node_name=name, node_type="Relu", exec_type="jit")
    assert prepared._name(node) == (number, "Relu jit")


def make(monkeypatch: pytest.MonkeyPatch, most: int, copy: Any) -> Any:
    prepared = import_prepared()
    monkeypatch.setattr(prepared, "_Run", lambda model, shapes, bounds, limits, checks: model)
    return prepared.PreparedOpenVino([(2, 3)], 100, (), None, copy, most)


@pytest.mark.parametrize(
    ("most", "models"),
    [(1, [100] * 5), (2, [100, 101, 100, 101, 100]), (3, [100, 101, 102, 100, 101])],
)
def test_requests_take_turns_among_copies(monkeypatch: pytest.MonkeyPatch, most: int, models: list[int]) -> None:
    """The first request has the model itself; each copy is made when it is needed."""
    copies: list[int] = []

    def copy(compiled: int) -> int:
        assert compiled == 100
        copies.append(101 + len(copies))
        return copies[-1]

    prepared = make(monkeypatch, most, copy)
    assert prepared._copies.make_run() == 100
    assert copies == []
    assert [100, *(prepared._copies.make_run() for _ in range(4))] == models
    assert len(copies) == most - 1


def test_an_engine_that_makes_no_copy_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def fail(compiled: int) -> int:
        asked.append(compiled)
        raise RuntimeError("no memory")

    prepared = make(monkeypatch, 3, fail)
    assert [prepared._copies.make_run() for _ in range(4)] == [100] * 4
    assert asked == [100]


@pytest.mark.parametrize(
    ("array", "given"), [(None, "nothing"), (np.zeros((3, 2), np.float32), r"\[3, 2\]"), (np.zeros(6), r"\[6\]")]
)
def test_an_input_of_another_shape(monkeypatch: pytest.MonkeyPatch, array: Any, given: str) -> None:
    prepared = make(monkeypatch, 1, None)
    with pytest.raises(OpFailedError, match=rf"^input 0 was prepared for \[2, 3\], {given} is given$"):
        prepared.execute(Request([array]))
    assert open_handle(prepared, OpenOptions([(3, 2)])).call is None
    assert open_handle(prepared, OpenOptions([(2, 3)], borrow=True)).call is not None
