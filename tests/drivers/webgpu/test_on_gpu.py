"""The accelerator itself, where there is one: right results, a relaxed model, the cache, and the end of its process."""

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nnapi import Builder, Compilation, Device, Model, compile, device, tensor
from nnapi.contract.driver import REFERENCE, Capabilities, Performance
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.limited import Limited
from nnapi.testing.conformance import run
from nnapi.testing.corpus import Corpus
from nnapi.testing.suite.result import Status
from tests.drivers.webgpu.gpu_cases import Ending, open_device

pytestmark = [pytest.mark.gpu, pytest.mark.engine]
X = np.array([[1, 2, 3, 4]], np.float32)


@pytest.fixture(scope="module")
def gpu() -> Iterator[Device]:
    with open_device() as found:
        yield found


def make_sum() -> Model:
    net = Builder("sum")
    x = net.input(tensor("float32", (1, 4)))
    net.output(net.add(x, net.input(x.type)))
    return net.finish()


def test_two_numbers_are_added(gpu: Device) -> None:
    (result,) = compile(make_sum(), gpu).run(X, X)
    np.testing.assert_array_equal(result, 2 * X)


def test_runs_of_a_burst_use_the_same_buffers(gpu: Device) -> None:
    with compile(make_sum(), gpu).burst() as burst:
        for factor in (1, 2, 3):
            (result,) = burst.run(factor * X, factor * X)
            np.testing.assert_array_equal(result, 2 * factor * X)


def test_it_is_restored_from_the_cache(gpu: Device, tmp_path: Path) -> None:
    for _ in range(2):
        (result,) = compile(make_sum(), gpu, cache=tmp_path).run(X, X)
        np.testing.assert_array_equal(result, 2 * X)


def test_one_on_the_cpu_is_slower_than_the_cpu_and_chosen_by_nobody(gpu: Device) -> None:
    if "llvmpipe" not in gpu.version:
        pytest.skip(f"{gpu.version} is hardware")
    assert gpu.is_by_name
    assert gpu.driver.capabilities().default.exec_time > REFERENCE.exec_time


def test_examples_are_right(gpu: Device, corpus: Corpus) -> None:
    names = {"add", "add_relaxed", "conv_quant8", "avg_pool_v1_2_nhwc_2", "softmax_float_1", "pad_low_rank", "sqrt"}
    found = {each.example: each for each in run(corpus, [gpu], ["plain"], lambda entry: entry.name in names)}
    assert {name: str(each.reason) for name, each in found.items() if each.status == Status.FAILED} == {}
    assert {name for name, each in found.items() if each.status == Status.PASSED} >= {
        "add",
        "conv_quant8",
        "add_relaxed",
    }


def test_what_is_not_proven_is_refused_with_the_pattern(gpu: Device) -> None:
    net = Builder("topk")
    x = net.input(tensor("float32", (1, 4)))
    net.output(*net.topk_v2(x, 2))
    (verdict,) = gpu.driver.verdicts(net.finish())
    assert not verdict.supported
    assert "the accelerator is not known to compute" in verdict.reason


def compile_on(gpu: Device, model: Model, patch: pytest.MonkeyPatch) -> Compilation:
    """The model on the GPU because the runtime takes it for the fastest, so that the CPU may stand in."""
    free = Capabilities(Performance(0, 0), launch_seconds=0, seconds_per_byte=0)
    preferred = Device(Limited(gpu.driver, "webgpu-preferred", declared=free))
    patch.setattr("nnapi.runtime.device.devices", lambda: [preferred, device("nnapi-reference")])
    compiled = compile(model)
    assert set(compiled.plan.devices) == {"webgpu-preferred"}
    return compiled


def list_fallbacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if "falling back to the CPU" in record.message]


def test_the_end_of_its_process_between_runs_is_answered_by_the_cpu(
    gpu: Device, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compiled = compile_on(gpu, make_sum(), monkeypatch)
    driver = gpu.driver
    assert isinstance(driver, Isolated)
    driver.connect()
    assert driver.pid is not None
    os.kill(driver.pid, signal.SIGKILL)
    with caplog.at_level(logging.WARNING, "nnapi"):
        (result,) = compiled.run(X, X)
    np.testing.assert_array_equal(result, 2 * X)
    assert list_fallbacks(caplog)


def test_the_end_of_its_process_in_a_run_is_answered_by_the_cpu(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with open_device(Ending) as gpu, caplog.at_level(logging.WARNING, "nnapi"):
        (result,) = compile_on(gpu, make_sum(), monkeypatch).run(X, X)
    np.testing.assert_array_equal(result, 2 * X)
    (line,) = list_fallbacks(caplog)
    assert "was ended by SIGKILL" in line
