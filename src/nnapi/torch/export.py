"""A graph of PyTorch's as the bytes of an ONNX model, by PyTorch's own exporter."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Sequence
from typing import Any

import torch


class _Frozen(torch.nn.Module):  # type: ignore[misc]  # PyTorch may be missing when types are checked
    """A graph whose weights and numbers are constants."""

    def __init__(self, graph: Any, inputs: Sequence[Any], live: Sequence[int]) -> None:
        super().__init__()
        self.graph, self._live = graph, {place: number for number, place in enumerate(live)}
        self._plain = {place: each for place, each in enumerate(inputs) if not isinstance(each, torch.Tensor)}
        self._count = len(inputs)
        for place, each in enumerate(inputs):
            if isinstance(each, torch.Tensor) and place not in self._live:
                self.register_buffer(f"weight{place}", each.detach())

    def forward(self, *given: Any) -> Any:
        return self.graph(*(self._value(place, given) for place in range(self._count)))

    def _value(self, place: int, given: Sequence[Any]) -> Any:
        if place in self._live:
            return given[self._live[place]]
        return self._plain[place] if place in self._plain else getattr(self, f"weight{place}")


def export_graph(graph: Any, inputs: Sequence[Any], live: Sequence[int]) -> bytes:
    """The graph for inputs of these shapes; ``live`` are the places of those that calls give, named ``input0`` on."""
    frozen = _Frozen(graph, inputs, live).eval()
    samples = tuple(inputs[place].detach().clone() for place in live)
    buffer = io.BytesIO()
    noisy = logging.getLogger("torch.onnx")
    level = noisy.level
    noisy.setLevel(logging.ERROR)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            torch.inference_mode(False),
            torch.no_grad(),
        ):
            warnings.simplefilter("ignore")
            names = [f"input{number}" for number in range(len(live))]
            torch.onnx.export(frozen, samples, buffer, input_names=names, dynamo=False, opset_version=17)
    finally:
        noisy.setLevel(level)
    return buffer.getvalue()
