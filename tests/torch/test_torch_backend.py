"""``torch.compile`` with this library's backend, beside eager PyTorch."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install 'nnapi[torch]')")
pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxscript", reason="PyTorch's exporter needs onnxscript")

from nnapi.errors import BadDataError  # noqa: E402
from nnapi.onnx import InferenceSession  # noqa: E402
from nnapi.torch import backend, options  # noqa: E402  # PyTorch may be missing
from nnapi.torch.backend import CompiledGraph, UnsuitableError, need_inference  # noqa: E402
from nnapi.torch.export import declare_dynamic, export_graph  # noqa: E402
from tests.importers.onnx.torch_cases import CASES, sample  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # what PyTorch deprecates of its own
nn, F = torch.nn, torch.nn.functional
REFERENCE = options(devices="nnapi-reference", strict=True)


@pytest.fixture(autouse=True)
def begin_anew() -> Iterator[None]:
    torch.manual_seed(1)
    yield
    torch._dynamo.reset()


def compiled(module: Any, **others: Any) -> Any:
    return torch.compile(module, backend="nnapi", options=REFERENCE | others)


def agree(ours: Any, theirs: Any) -> None:
    """To a ten thousandth of the largest, whatever holds the tensors."""
    if isinstance(theirs, tuple):
        for one, other in zip(ours, theirs, strict=True):
            agree(one, other)
        return
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4 * float(theirs.abs().max()))


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Compilations made during a test."""
    made: list[Any] = []

    def note(*arguments: Any, **named: Any) -> Any:
        made.append(InferenceSession(*arguments, **named))
        return made[-1]

    monkeypatch.setattr(backend, "InferenceSession", note)
    return made


def test_pytorch_finds_the_backend() -> None:
    assert "nnapi" in torch._dynamo.list_backends()


@pytest.mark.parametrize("name", CASES)
def test_networks_compute_what_they_do_in_pytorch(name: str, sessions: list[Any]) -> None:
    case = CASES[name]
    module = case.make().eval()
    fast = compiled(module)
    with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):  # or recurrent layers are not captured
        for seed in range(2):
            x = torch.from_numpy(sample(case, seed))
            agree(fast(x), module(x))
    assert sessions


def network() -> Any:
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4)).eval()


def test_weights_are_constants(sessions: list[Any]) -> None:
    module = network()
    with torch.no_grad():
        compiled(module)(torch.randn(2, 3))
    assert [[end.shape for end in session.get_inputs()] for session in sessions] == [[["input0_0", "input0_1"]]]


def test_weights_that_change_are_read_again() -> None:
    module = network()
    fast, x = compiled(module), torch.randn(2, 3)
    with torch.no_grad():
        agree(fast(x), module(x))
        module[0].weight.mul_(2)
        agree(fast(x), module(x))


def test_the_batch_may_change(sessions: list[Any]) -> None:
    module = network()
    fast = compiled(module)
    with torch.no_grad():
        for rows in (2, 5, 7, 2, 7):
            x = torch.randn(rows, 3)
            agree(fast(x), module(x))
    assert len(sessions) == 1, "the export for the first size serves all"


class Reshaping(nn.Module):  # type: ignore[misc,name-defined]
    """Sizes that a graph computes with, in the middle and at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 4, 3, padding=1), nn.Linear(64, 5)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.first(x))
        x = self.second(x.view(x.shape[0], -1))
        return torch.cat([x, torch.zeros(x.shape[0], 1)], 1).reshape(x.shape[0] * 2, 3)


def attend(x: Any) -> Any:
    rows, length, width = x.shape
    heads = x.reshape(rows, length, 2, width // 2).transpose(1, 2)
    return F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).reshape(rows, length, width)


def weighted(x: Any) -> Any:
    """By a number that Python makes of a size, which the exporter takes for constant."""
    return x * (1.0 / x.shape[0])


@pytest.mark.parametrize(
    ("make", "shape", "count"),
    [(Reshaping, (2, 4, 4), 2), (lambda: attend, (3, 8), 2), (lambda: weighted, (3,), None)],
    ids=["reshaping", "attention", "weighted"],
)
def test_a_graph_for_any_size_is_exported_once(make: Any, shape: Any, count: int, sessions: list[Any]) -> None:
    module = make()
    fast = compiled(module.eval() if isinstance(module, nn.Module) else module)
    with torch.no_grad():
        for rows in (2, 5, 7, 3, 5):
            x = torch.randn(rows, *shape)
            agree(fast(x), module(x))
    assert count in (len(sessions), None)


class Breaking(nn.Module):  # type: ignore[misc,name-defined]
    """Two graphs: what lies between them only Python can do."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.other = nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        torch._dynamo.graph_break()
        return self.second(x) if x.sum().item() > 0 else self.other(x)


class Noting(nn.Module):  # type: ignore[misc,name-defined]
    """Records every call."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)
        self.noted: list[float] = []

    def forward(self, x: Any) -> Any:
        x = torch.tanh(self.first(x))
        self.noted.append(x.mean().item())
        return self.second(x)


@pytest.mark.parametrize("network", [Breaking, Noting])
@pytest.mark.parametrize("sign", [1, -1])
def test_graphs_between_breaks_are_compiled(network: Any, sign: int, sessions: list[Any]) -> None:
    module, x = network().eval(), sign * torch.ones(2, 3)
    with torch.no_grad():
        agree(compiled(module)(x), module(x))
    assert len(sessions) >= 2


def changes(x: Any) -> Any:
    x.add_(1)
    return x * 2


def noise(x: Any) -> Any:
    return x + torch.rand_like(x)


def spectrum(x: Any) -> Any:
    return torch.fft.fft(x).real


@pytest.mark.parametrize(
    ("function", "reason"),
    [(changes, "in place"), (noise, "random numbers"), (spectrum, "")],
    ids=lambda each: str(each)[:12],
)
def test_what_cannot_run_here_is_pytorch_s_with_a_reason(
    function: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with torch.no_grad(), caplog.at_level(logging.WARNING, "nnapi.torch"):
        x = torch.ones(3)
        result = compiled(function, strict=False)(x.clone())
        if function is not noise:
            torch.testing.assert_close(result, function(x.clone()))
    assert "a graph is left to PyTorch" in caplog.text
    assert reason in caplog.text


def test_training_is_pytorch_s(caplog: pytest.LogCaptureFixture) -> None:
    module = network()
    with caplog.at_level(logging.WARNING, "nnapi.torch"):
        compiled(module, strict=False)(torch.randn(2, 3)).sum().backward()
    assert "gradients are wanted: call it under torch.no_grad()" in caplog.text
    assert module[0].weight.grad is not None


def test_strictly_it_is_an_error() -> None:
    with torch.no_grad(), pytest.raises(Exception, match="random numbers"):
        compiled(noise)(torch.ones(3))


def test_graphs_are_walked_without_computing() -> None:
    with torch.no_grad():
        need_inference(lambda x: (x @ x,), [torch.zeros(2, 2)])
        with pytest.raises(UnsuitableError, match="something other than tensors"):
            need_inference(lambda x: (x, 3), [torch.zeros(2, 2)])


def test_an_exported_graph_names_what_calls_give() -> None:
    import onnx

    content = export_graph(lambda w, x, n: (x * w + n,), [torch.ones(3), torch.zeros(3), 2], [1])
    assert [each.name for each in onnx.load_from_string(content).graph.input] == ["input0"]


def test_inputs_of_an_export_may_have_any_dimensions() -> None:
    import onnx

    content = declare_dynamic(export_graph(lambda w, x: (x * w,), [torch.ones(3), torch.zeros(2, 3)], [1]))
    graph = onnx.load_from_string(content).graph
    assert [each.dim_param for each in graph.input[0].type.tensor_type.shape.dim] == ["input0_0", "input0_1"]
    assert not graph.output[0].type.tensor_type.HasField("shape")
    assert len(graph.initializer) == 1


def test_options_are_what_torch_compile_takes() -> None:
    assert options(threads=2) == {"devices": None, "threads": 2, "cache": None, "strict": False}
    assert options("a")["devices"] == ["a"]
    with pytest.raises(BadDataError, match="threads is 50000, must be from 1 to 1024"):
        CompiledGraph(None, [], None, options(threads=50000))


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The names of dynamic dimensions of each export."""
    made: list[Any] = []

    def note(graph: Any, inputs: Any, live: Any, dynamic: Any) -> Any:
        made.append({axis for axes in dynamic.names.values() for axis in axes})
        return export_graph(graph, inputs, live, dynamic)

    monkeypatch.setattr(backend, "export_graph", note)
    return made


def pixels() -> Any:
    return nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))


def test_graphs_for_one_size_each_share_exports(exported: list[Any]) -> None:
    """The export for the first size has no constants of sizes: it serves all."""
    module = pixels().eval()
    fast = torch.compile(module, backend="nnapi", options=REFERENCE, dynamic=False)
    with torch.no_grad():
        for rows, size in ((2, 8), (3, 8), (5, 8), (1, 8), (2, 9), (2, 12), (4, 7)):
            x = torch.randn(rows, 2, size, size)
            agree(fast(x), module(x))
    assert exported == [set()]


def append_ones(x: Any) -> Any:
    return torch.cat([x, torch.ones_like(x)], 1)


def test_an_export_with_constants_of_sizes_is_made_anew(exported: list[Any]) -> None:
    """The second size makes the dimensions dynamic that differ."""
    fast = torch.compile(append_ones, backend="nnapi", options=REFERENCE, dynamic=False)
    with torch.no_grad():
        for rows, size in ((2, 8), (3, 8), (5, 8), (1, 8), (2, 9), (2, 12), (4, 7)):
            x = torch.randn(rows, 2, size, size)
            agree(fast(x), append_ones(x))
    assert exported == [set(), {0}, {0, 2, 3}]


def test_graphs_of_other_weights_are_exported_anew(exported: list[Any]) -> None:
    with torch.no_grad():
        for _ in range(2):
            module, x = network(), torch.randn(2, 3)
            agree(compiled(module)(x), module(x))
            torch._dynamo.reset()
    assert len(exported) == 2


def test_dynamic_graphs_take_python_s_floats(exported: list[Any]) -> None:
    """PyTorch passes the epsilon of a normalization as a tensor."""
    module = nn.Sequential(pixels(), nn.LayerNorm(3)).eval()
    fast = torch.compile(module, backend="nnapi", options=REFERENCE, dynamic=True)
    with torch.no_grad():
        for rows, size in ((4, 8), (3, 9), (5, 8)):
            x = torch.randn(rows, 2, size, size)
            agree(fast(x), module(x))
    assert exported == [set()]


@pytest.mark.parametrize("dynamic", [False, True])
def test_encoder_layers_run_and_print_nothing(dynamic: bool, capfd: pytest.CaptureFixture[str]) -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    module = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    fast = torch.compile(module, backend="nnapi", options=REFERENCE, dynamic=dynamic)
    with torch.no_grad():
        for length in (5, 7):
            x = torch.randn(2, length, 16)
            agree(fast(x), module(x))
    assert capfd.readouterr() == ("", "")


def test_a_graph_that_is_not_exported_is_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with torch.no_grad():
        compiled(spectrum, strict=False)(torch.ones(3))
    found = capfd.readouterr()
    assert "graph(" not in found.out + found.err
