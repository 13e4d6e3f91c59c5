"""Export a graph to ONNX by PyTorch's own exporter."""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from nnapi.formats.onnx.messages import ModelProto


class DynamicDimensions(NamedTuple):
    """``names`` of dynamic dimensions by input and axis; ``sizes`` maps inputs that are sizes to (input, axis)."""

    names: Mapping[int, Mapping[int, str]]
    sizes: Mapping[int, tuple[int, int]]


ALL_STATIC = DynamicDimensions({}, {})


def find_dynamic_dimensions(graph: Any) -> DynamicDimensions | None:
    """Return the dynamic dimensions of a graph's inputs; None if there are none, or if a size is not one of them."""
    examples, unused = [node.meta.get("example_value") for node in _list_inputs(graph)], find_unused_sizes(graph)
    names = {
        index: {axis: str(size) for axis, size in enumerate(each.shape) if isinstance(size, torch.SymInt)}
        for index, each in enumerate(examples)
        if isinstance(each, torch.Tensor)
    }
    sources = {name: (index, axis) for index, axes in names.items() for axis, name in axes.items()}
    wanted = {
        index: str(each)
        for index, each in enumerate(examples)
        if isinstance(each, torch.SymInt) and index not in unused
    }
    if not sources or any(name not in sources for name in wanted.values()):
        return None
    return DynamicDimensions(names, {index: sources[name] for index, name in wanted.items()})


def find_unused_sizes(graph: Any) -> frozenset[int]:
    """Return the positions of inputs that are sizes, and that the graph does not read."""
    places = enumerate(_list_inputs(graph))
    return frozenset(
        index for index, node in places if isinstance(node.meta.get("example_value"), torch.SymInt) and not node.users
    )


def describe_code(graph: Any) -> tuple[Any, ...]:
    """Return the code of a graph without the sizes that it does not read; a number if it has no code."""
    if not isinstance(graph, torch.fx.GraphModule):
        return (id(graph),)
    unused, (_, _, body) = find_unused_sizes(graph), graph.code.partition("):\n")
    return body, *(node.target for index, node in enumerate(_list_inputs(graph)) if index not in unused)


def _list_inputs(graph: Any) -> list[Any]:
    is_graph = isinstance(graph, torch.fx.GraphModule)
    return [node for node in graph.graph.nodes if node.op == "placeholder"] if is_graph else []


class _Frozen(torch.nn.Module):  # type: ignore[misc]  # PyTorch may be missing when types are checked
    """A graph whose weights and scalars are constants, except for dynamic sizes."""

    def __init__(self, graph: Any, inputs: Sequence[Any], live: Sequence[int], dynamic: DynamicDimensions) -> None:
        super().__init__()
        self._computed, self._live = graph, {index: number for number, index in enumerate(live)}
        self._plain = {index: each for index, each in enumerate(inputs) if not isinstance(each, torch.Tensor)}
        self._count, self._sizes = len(inputs), dynamic.sizes
        for index, each in enumerate(inputs):
            if isinstance(each, torch.Tensor) and index not in self._live:
                self.register_buffer(f"weight{index}", each.detach())

    def forward(self, *given: Any) -> Any:
        return self._computed(*(self._value(index, given) for index in range(self._count)))

    def _value(self, index: int, given: Sequence[Any]) -> Any:
        if index in self._live:
            return given[self._live[index]]
        if index in self._sizes:
            tensor, axis = self._sizes[index]
            return given[self._live[tensor]].shape[axis]
        return self._plain[index] if index in self._plain else getattr(self, f"weight{index}")


def export_graph(
    graph: Any, inputs: Sequence[Any], live: Sequence[int], dynamic: DynamicDimensions = ALL_STATIC
) -> bytes:
    """Return the graph as ONNX for these shapes. ``live`` are the indices of the inputs that calls pass, which are
    named ``input0`` and so on."""
    frozen = _Frozen(graph, inputs, live, dynamic).eval()
    samples = tuple(inputs[index].detach().clone() for index in live)
    names = [f"input{number}" for number in range(len(live))]
    axes = {name: dict(dynamic.names.get(index, {})) for name, index in zip(names, live, strict=True)}
    buffer = io.BytesIO()
    with _quiet(), torch.inference_mode(False), torch.no_grad():
        torch.onnx.export(frozen, samples, buffer, input_names=names, dynamic_axes=axes, dynamo=False, opset_version=17)
    return buffer.getvalue()


def declare_dynamic(content: bytes) -> bytes:
    """Return an .onnx file with all dimensions of its inputs dynamic, and without the shapes that follow from them."""
    model = ModelProto(content)
    for info in model.graph.input:
        for axis, size in enumerate(info.type.tensor_type.shape.dim):
            size.ClearField("dim_value")
            size.dim_param = f"{info.name}_{axis}"
    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
    model.graph.ClearField("value_info")
    return model.SerializeToString()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Let the exporter print and log nothing. It switches on the library's own log, which has graphs that fail."""
    noisy = logging.getLogger("torch.onnx")
    level, print_graph = noisy.level, torch._C._jit_onnx_log
    noisy.setLevel(logging.ERROR)
    torch._C._jit_onnx_log = lambda *graphs: None
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        noisy.setLevel(level)
        torch._C._jit_onnx_log = print_graph
