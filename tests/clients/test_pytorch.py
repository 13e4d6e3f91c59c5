"""PyTorch, unmodified, on libneuralnetworks.so: its NNAPI back end against its own eager results."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from ctypes import CDLL
from typing import Any

import pytest

from nnapi.capi import installation

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install 'nnapi[torch]')")
prepare = pytest.importorskip("torch.backends._nnapi.prepare", reason="this PyTorch has no NNAPI delegate")
if installation.library_problem():
    pytest.skip(str(installation.library_problem()), allow_module_level=True)

# PyTorch deprecates what its own back end is made of.
pytestmark = pytest.mark.filterwarnings("ignore")

nn = torch.nn


@pytest.fixture(scope="module", autouse=True)
def library() -> CDLL:
    """As PyTorch's own tests do it: once loaded by path, the library is found by its bare name."""
    torch.manual_seed(0)
    return CDLL(os.environ.get("LIBNEURALNETWORKS_PATH", str(installation.library())))


def nhwc(tensor: Any) -> Any:
    """Mark an image for the serializer: NNAPI takes it with channels last."""
    tensor = tensor.contiguous(memory_format=torch.channels_last)
    tensor.nnapi_nhwc = True
    return tensor


def qtensor(shape: tuple[int, ...], scale: float, zero_point: int) -> Any:
    return torch.quantize_per_tensor(torch.randn(*shape), scale, zero_point, torch.quint8)


def check(model: Any, inputs: Any, *, limit: int = 0, atol: float | None = None, rtol: float | None = None) -> None:
    """The converted model gives what eager PyTorch gives: by PyTorch's tolerances, codes with ``limit`` exceptions."""
    inputs = [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
    with torch.no_grad():
        model.eval()
        eager = model(*inputs)
        traced = torch.jit.trace(model, inputs)
        converted = prepare.convert_model_to_nnapi(traced, inputs)
        for _ in range(2):  # the second run uses the compilation that the first has made
            result = converted(*inputs)
    if eager.is_quantized:
        assert result.q_scale() == eager.q_scale()
        assert int((result.int_repr() != eager.int_repr()).sum()) <= limit
        assert int((result.int_repr().int() - eager.int_repr().int()).abs().max()) <= 1
    else:
        torch.testing.assert_close(result, eager, atol=atol, rtol=rtol)


class Call(nn.Module):  # type: ignore[misc, name-defined]
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def image(channels: int = 3, size: int = 8, batch: int = 1) -> Any:
    return torch.randn(batch, channels, size, size)


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
    "add": (lambda a, b: a + b, lambda: (torch.randn(2, 3), torch.randn(2, 3))),
    "sub": (lambda a, b: a - b, lambda: (torch.randn(2, 3), torch.randn(2, 3))),
    "mul": (lambda a, b: a * b, lambda: (torch.randn(2, 3), torch.randn(2, 3))),
    "div": (lambda a, b: a / b, lambda: (torch.randn(2, 3), torch.rand(2, 3) + 1)),
    "mul broadcast": (lambda a, b: a * b, lambda: (torch.randn(2, 3), torch.randn(1, 3))),
    "relu": (torch.relu, lambda: torch.randn(2, 5)),
    "sigmoid": (torch.sigmoid, lambda: torch.randn(2, 5)),
    "hardtanh": (nn.functional.hardtanh, lambda: torch.randn(2, 5) * 4),
    "hardtanh 0 to 6": (lambda x: nn.functional.hardtanh(x, 0.0, 6.0), lambda: torch.randn(2, 5) * 9),
    "softmax": (lambda x: torch.softmax(x, -1), lambda: torch.randn(3, 7)),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), lambda: torch.randn(3, 7)),
    "reshape": (lambda x: x.reshape(2, 6), lambda: torch.randn(3, 4)),
    "flatten": (lambda x: torch.flatten(x, 1), lambda: torch.randn(2, 3, 4, 5)),
    "unsqueeze": (lambda x: x.unsqueeze(1), lambda: torch.randn(4, 5)),
    "slice": (lambda x: x[:, 1:3], lambda: torch.randn(2, 5)),
    "cat": (lambda a, b: torch.cat([a, b], 1), lambda: (torch.randn(1, 2, 3, 3), torch.randn(1, 4, 3, 3))),
    "cat of images": (lambda a, b: torch.cat([a, b], 1), lambda: (nhwc(image(2)), nhwc(image(4)))),
    "mean": (lambda x: torch.mean(x, [2, 3]), lambda: nhwc(image(5))),
    "mean kept": (lambda x: torch.mean(x, [2, 3], True), lambda: nhwc(image(5))),
    "upsample": (lambda x: nn.functional.interpolate(x, scale_factor=2), lambda: nhwc(image(4))),
    "max_pool2d": (lambda x: nn.functional.max_pool2d(x, 2, 2), lambda: nhwc(image())),
    "max_pool2d padded": (lambda x: nn.functional.max_pool2d(x, 3, 2, 1), lambda: nhwc(image())),
    "avg_pool2d": (lambda x: nn.functional.avg_pool2d(x, 2, 2), lambda: nhwc(image())),
    "adaptive_avg_pool2d": (lambda x: nn.functional.adaptive_avg_pool2d(x, 1), lambda: nhwc(image())),
    "quantize": (lambda x: torch.quantize_per_tensor(x, 0.05, 120, torch.quint8), lambda: nhwc(image())),
    "dequantize": (lambda x: x.dequantize(), lambda: nhwc(qtensor((1, 3, 4, 4), 0.05, 120))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    function, inputs = FUNCTIONS[name]
    check(Call(function), inputs())


MODULES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "linear": (lambda: nn.Linear(16, 32), lambda: torch.randn(2, 16)),
    "prelu": (nn.PReLU, lambda: nhwc(image())),
    "prelu per channel": (lambda: nn.PReLU(4), lambda: nhwc(image(4))),
    "conv2d": (lambda: nn.Conv2d(3, 5, 3), lambda: nhwc(image())),
    "conv2d without bias": (lambda: nn.Conv2d(3, 5, 3, bias=False), lambda: nhwc(image())),
    "conv2d strided": (lambda: nn.Conv2d(3, 5, 3, stride=2, padding=1), lambda: nhwc(image(size=9, batch=2))),
    "conv2d dilated": (lambda: nn.Conv2d(3, 5, 3, padding=2), lambda: nhwc(image())),
    "conv2d depthwise": (lambda: nn.Conv2d(4, 4, 3, padding=1, groups=4), lambda: nhwc(image(4))),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(3, 5, 3, stride=2), lambda: nhwc(image())),
    "conv2d and relu": (lambda: nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU()), lambda: nhwc(image())),
}


@pytest.mark.parametrize("name", MODULES)
def test_module(name: str) -> None:
    module, inputs = MODULES[name]
    check(module(), inputs())


def quantized(module: Any, inputs: Any) -> Any:
    """Calibrated on the inputs and quantized after training, in PyTorch's eager mode."""
    torch.backends.quantized.engine = "qnnpack"
    quantization = torch.ao.quantization
    model = nn.Sequential(quantization.QuantStub(), module, quantization.DeQuantStub()).eval()
    model.qconfig = quantization.get_default_qconfig("qnnpack")
    quantization.prepare(model, inplace=True)
    model(inputs)
    quantization.convert(model, inplace=True)
    return model


QUANTIZED: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "conv2d": (lambda: nn.Conv2d(3, 5, 3), lambda: image()),
    "conv2d and relu": (lambda: nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU()), lambda: image()),
    "conv2d padded": (lambda: nn.Conv2d(3, 8, 3, padding=1, stride=2), lambda: image()),
    "conv2d depthwise": (lambda: nn.Conv2d(4, 4, 3, padding=1, groups=4), lambda: image(4)),
}


@pytest.mark.parametrize("name", QUANTIZED)
def test_quantized_module(name: str) -> None:
    module, make = QUANTIZED[name]
    inputs = make()
    model = quantized(module(), inputs)
    layer = model[1] if hasattr(model[1], "scale") else model[1][0]
    check(model, nhwc(inputs), atol=float(layer.scale) * 1.01, rtol=0)


def test_quantized_linear() -> None:
    model = quantized(nn.Linear(16, 8), torch.randn(4, 16))[1]
    check(model, qtensor((4, 16), 0.05, 128), limit=1)


@pytest.mark.parametrize("name", ["add", "add_relu", "mul"])
def test_quantized_function(name: str) -> None:
    function = getattr(torch.ops.quantized, name)
    model = Call(lambda a, b: function(a, b, 0.1, 100))
    check(model, (qtensor((3, 4), 0.05, 128), qtensor((3, 4), 0.04, 110)), limit=1)


def digits() -> tuple[Any, Any]:
    """Pictures of handwritten digits, 8 by 8, and what they show."""
    sets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    pictures, labels = sets.load_digits(return_X_y=True)
    return torch.tensor(pictures / 16, dtype=torch.float32).reshape(-1, 1, 8, 8), torch.tensor(labels)


@pytest.mark.parametrize("is_quantized", [False, True], ids=["float", "quantized"])
def test_trained_network_gives_the_same_classes(is_quantized: bool) -> None:
    pictures, labels = digits()
    network = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 64, 4),
        nn.ReLU(),
        nn.Flatten(1),
        nn.Linear(64, 10),
    )
    optimizer = torch.optim.Adam(network.parameters(), 0.01)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(pictures[:1000]), labels[:1000]).backward()
        optimizer.step()
    network.eval()
    shown = nhwc(pictures[1000:1256])
    model = quantized(network, pictures[:256]) if is_quantized else network
    with torch.no_grad():
        eager = model(shown).argmax(1)
        converted = prepare.convert_model_to_nnapi(torch.jit.trace(model, shown), [shown])
        classes = converted(shown).argmax(1)
    assert float((eager == labels[1000:1256]).float().mean()) > 0.8
    assert int((classes != eager).sum()) <= (2 if is_quantized else 0)


BARE = """
import torch
from torch.backends._nnapi.prepare import convert_model_to_nnapi
model, x = torch.nn.Linear(4, 2).eval(), torch.randn(3, 4)
with torch.no_grad():
    converted = convert_model_to_nnapi(torch.jit.trace(model, x), [x])
    torch.testing.assert_close(converted(x), model(x))
print("done")
"""


def test_found_by_bare_name() -> None:
    environment = os.environ | installation.environment()
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", BARE], env=environment, capture_output=True, text=True)
    assert run.stdout == "done\n", run.stderr
