"""Export of a graph to ONNX by PyTorch's own exporter."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from nnapi.torch.open_dimensions import OpenDimensions

NOTHING_OPEN = OpenDimensions({}, {})


class _Frozen(torch.nn.Module):  # type: ignore[misc]  # PyTorch may be missing when types are checked
    """A graph whose weights and scalars are constants, except dynamic sizes."""

    def __init__(self, graph: Any, inputs: Sequence[Any], live: Sequence[int], open: OpenDimensions) -> None:
        super().__init__()
        self._computed, self._live = graph, {place: number for number, place in enumerate(live)}
        self._plain = {place: each for place, each in enumerate(inputs) if not isinstance(each, torch.Tensor)}
        self._count, self._sizes = len(inputs), open.sizes
        for place, each in enumerate(inputs):
            if isinstance(each, torch.Tensor) and place not in self._live:
                self.register_buffer(f"weight{place}", each.detach())

    def forward(self, *given: Any) -> Any:
        return self._computed(*(self._value(place, given) for place in range(self._count)))

    def _value(self, place: int, given: Sequence[Any]) -> Any:
        if place in self._live:
            return given[self._live[place]]
        if place in self._sizes:
            tensor, axis = self._sizes[place]
            return given[self._live[tensor]].shape[axis]
        return self._plain[place] if place in self._plain else getattr(self, f"weight{place}")


def export_graph(graph: Any, inputs: Sequence[Any], live: Sequence[int], open: OpenDimensions = NOTHING_OPEN) -> bytes:
    """Return the graph as ONNX for inputs of these shapes; ``live`` are the indices of inputs that calls pass, named
    ``input0`` on."""
    frozen = _Frozen(graph, inputs, live, open).eval()
    samples = tuple(inputs[place].detach().clone() for place in live)
    names = [f"input{number}" for number in range(len(live))]
    axes = {name: dict(open.names.get(place, {})) for name, place in zip(names, live, strict=True)}
    buffer = io.BytesIO()
    with _quiet(), torch.inference_mode(False), torch.no_grad():
        torch.onnx.export(frozen, samples, buffer, input_names=names, dynamic_axes=axes, dynamo=False, opset_version=17)
    return buffer.getvalue()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warnings of PyTorch's exporter."""
    noisy = logging.getLogger("torch.onnx")
    level = noisy.level
    noisy.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        noisy.setLevel(level)
