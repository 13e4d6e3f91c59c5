"""Vulkan on the CPU is no choice of the runtime's: by its declared figures the reference is faster with any model."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.runtime.planning_cases import make_plan

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi import Builder, Device, Model, compile, device, tensor
from nnapi.codes import PreferenceCode
from nnapi.contract.driver import Verdict
from nnapi.drivers.webgpu.driver import WebGpuDriver
from nnapi.runtime.planning.device_answers import DeviceAnswers
from nnapi.runtime.planning.planner import make_first_plan


def make_image_model() -> Model:
    net = Builder("image")
    x = net.input(tensor("float32", (1, 64, 64, 32)))
    filter, bias = np.ones((64, 3, 3, 32), np.float32), np.zeros(64, np.float32)
    net.output(net.conv_2d(x, filter, bias, padding_scheme=1, stride_w=1, stride_h=1))
    return net.finish()


def make_coded_model() -> Model:
    net = Builder("codes")
    x = net.input(tensor("quant8_asymm_signed", (1, 128, 128, 16), 0.5, 3))
    net.output(net.softmax(net.add(x, x, scale=1.0, zero_point=3), 1.0))
    return net.finish()


def make_product_model() -> Model:
    net = Builder("product")
    x = net.input(tensor("float32", (256, 1024)))
    net.output(net.fully_connected(x, np.ones((2048, 1024), np.float32), np.zeros(2048, np.float32)))
    return net.finish()


@pytest.mark.parametrize("make", [make_image_model, make_coded_model, make_product_model])
@pytest.mark.parametrize("preference", [*PreferenceCode])
def test_the_cpu_is_preferred_before_anything_is_measured(
    make: Callable[[], Model], preference: PreferenceCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    software = Device(WebGpuDriver("llvmpipe", is_software=True))
    given = [software, device("nnapi-reference")]
    monkeypatch.setattr(WebGpuDriver, "verdicts", lambda self, model: [Verdict(True)] * len(model.operations))
    model = make()
    first = make_first_plan(DeviceAnswers(model, given, preference))
    assert first is not None
    assert first.devices == ("nnapi-reference",)
    assert make_plan(model, given, preference).devices == ("nnapi-reference",)
    assert set(compile(model, given).plan.devices) == {"nnapi-reference"}


def test_a_gpu_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WebGpuDriver, "verdicts", lambda self, model: [Verdict(True)] * len(model.operations))
    given = [device("nnapi-reference"), Device(WebGpuDriver("a GPU"))]
    first = make_first_plan(DeviceAnswers(make_product_model(), given, PreferenceCode.PREFER_FAST_SINGLE_ANSWER))
    assert first is not None
    assert first.devices == ("webgpu",)
