"""Ten small networks as people write them in PyTorch, exported to ONNX by both of its exporters."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install 'nnapi[torch]')")
nn, F = torch.nn, torch.nn.functional

IMAGE = (1, 3, 16, 16)
WORDS = 50


def small_cnn() -> Any:
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3)]
    layers += [nn.BatchNorm2d(16), nn.LeakyReLU(0.1), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(144, 10)]
    return nn.Sequential(*layers, nn.Softmax(-1))


class Residual(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8))
        self.next = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16))
        self.short, self.head = nn.Conv2d(8, 16, 1, 2), nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        x = F.relu(x + self.body(x))
        x = F.relu(self.short(x) + self.next(x))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Inverted(nn.Module):  # type: ignore[misc,name-defined]
    """An inverted residual with a gate, as MobileNetV3 has it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = 3 * channels
        across = nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False)
        self.body = nn.Sequential(nn.Conv2d(channels, wide, 1), nn.ReLU6(), across, nn.BatchNorm2d(wide))
        self.last = nn.Sequential(nn.Hardswish(), nn.Conv2d(wide, channels, 1, bias=False))
        squeezed = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, 4, 1), nn.ReLU())
        self.gate = nn.Sequential(squeezed, nn.Conv2d(4, channels, 1), nn.Hardsigmoid())

    def forward(self, x: Any) -> Any:
        y = self.last(self.body(x))
        return x + y * self.gate(y)


def depthwise() -> Any:
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), Inverted(8), head)


class Upsampling(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.first, self.wide, self.narrow = (
            nn.Conv2d(3, 8, 3, 2, 1),
            nn.Conv2d(8, 12, 3, padding=1),
            nn.Conv2d(8, 4, 1),
        )

    def forward(self, x: Any) -> Any:
        x = F.relu(self.first(x))
        smooth = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        near = F.interpolate(self.narrow(x), scale_factor=2, mode="nearest")
        return torch.sigmoid(F.pixel_shuffle(self.wide(smooth), 2)), near


class UNet(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()

        def block(i: int, o: int) -> Any:
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())

        self.down, self.middle, self.out = block(3, 8), block(8, 16), nn.Conv2d(8, 2, 1)
        self.up, self.joined = nn.ConvTranspose2d(16, 8, 2, 2), block(16, 8)

    def forward(self, x: Any) -> Any:
        wide = self.down(x)
        deep = self.middle(F.max_pool2d(wide, 2))
        return self.out(self.joined(torch.cat([self.up(deep), wide], 1)))


class Recurrent(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 12, batch_first=True, bidirectional=True)
        self.gru, self.head = nn.GRU(24, 10, batch_first=True), nn.Linear(10, 6)

    def forward(self, x: Any) -> Any:
        x, _ = self.lstm(x)
        x, state = self.gru(x)
        return self.head(x[:, -1]), state


class Attention(nn.Module):  # type: ignore[misc,name-defined]
    """A transformer's block, written out."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.norms = heads, nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        b, t, d = x.shape
        parts = self.qkv(self.norms[0](x)).chunk(3, -1)
        q, k, v = (each.reshape(b, t, self.heads, d // self.heads).transpose(1, 2) for each in parts)
        weights = torch.softmax(q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Text(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, 16), nn.Parameter(torch.randn(7, 16) * 0.1)
        self.block, self.norm, self.head = Attention(), nn.LayerNorm(16), nn.Linear(16, 3)

    def forward(self, words: Any) -> Any:
        return self.head(self.norm(self.block(self.words(words) + self.places)).mean(1))


class Encoder(nn.Module):  # type: ignore[misc,name-defined]
    """PyTorch's own attention between norms."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(16), nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        y = self.norm(x)
        return x + self.attention(y, y, y, need_weights=False)[0]


def perceptron() -> Any:
    layers = [nn.Linear(20, 32), nn.ELU(), nn.Linear(32, 32), nn.Tanh(), nn.LayerNorm(32), nn.Linear(32, 5)]
    return nn.Sequential(*layers, nn.LogSoftmax(-1))


class TorchCase(NamedTuple):
    make: Callable[[], Any]
    shape: tuple[int, ...]
    open_batch: bool = False


CASES = {
    "small CNN": TorchCase(small_cnn, IMAGE),
    "residual": TorchCase(Residual, IMAGE),
    "depthwise": TorchCase(depthwise, IMAGE),
    "upsampling": TorchCase(Upsampling, IMAGE),
    "U-Net": TorchCase(UNet, IMAGE),
    "recurrent": TorchCase(Recurrent, (1, 5, 8)),
    "attention": TorchCase(Attention, (1, 7, 16)),
    "encoder": TorchCase(Encoder, (1, 7, 16)),
    "text": TorchCase(Text, (1, 7)),
    "perceptron": TorchCase(perceptron, (4, 20)),
    "open batch": TorchCase(small_cnn, (2, *IMAGE[1:]), open_batch=True),
}


def sample(case: TorchCase, seed: int = 0) -> Any:
    """Random inputs: words of a text, else numbers between -1 and 1."""
    rng = np.random.default_rng(seed)
    if case.make is Text:
        return rng.integers(0, WORDS, case.shape)
    return rng.uniform(-1, 1, case.shape).astype(np.float32)


def exported(case: TorchCase, path: Path, *, dynamo: bool) -> Path:
    """The case as a file by the older exporter, or by that of ``torch.export``."""
    torch.manual_seed(3)
    net = case.make()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):  # as after training
            nn.init.uniform_(module.running_mean, -0.2, 0.2)
            nn.init.uniform_(module.running_var, 0.6, 1.4)
    torch.backends.mha.set_fastpath_enabled(False)  # the older exporter has no operator for it
    options: dict[str, Any] = {"dynamo": dynamo, "input_names": ["x"]}
    if case.open_batch and dynamo:
        options["dynamic_shapes"] = ({0: torch.export.Dim("batch")},)
    elif case.open_batch:
        options["dynamic_axes"] = {"x": {0: "batch"}}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # it warns of what it will do in later versions
        torch.onnx.export(net.eval(), (torch.from_numpy(sample(case)),), path, verbose=False, **options)
    return path
