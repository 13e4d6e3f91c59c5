"""The operators that replace PyTorch's fused ones, and inputs that become floats."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (pip install 'nnapi[torch]')")

from nnapi.torch.rewriting import attend, encode, rewrite  # noqa: E402  # PyTorch may be missing

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # what PyTorch deprecates of its own
nn = torch.nn


def draw_masks(batch: int, length: int, heads: int) -> list[tuple[Any, int | None]]:
    """No mask, and masks of PyTorch's three types, each of which hides some tokens of each row."""
    later = torch.ones(length, length).triu(1).bool()
    padded = torch.arange(length)[None] >= torch.tensor([[length - 1 - row] for row in range(batch)])
    both = (later[None, None] | padded[:, None, None]).expand(batch, heads, length, length).contiguous()
    return [(None, None), (later, 0), (padded, 1), (both, 2)]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(("shares", "mean"), [(False, True), (True, True), (True, False)])
def test_attention_is_pytorch_s(number: int, shares: bool, mean: bool) -> None:
    torch.manual_seed(number)
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.randn(2, 5, 8)
    mask, kind = draw_masks(2, 5, 2)[number]
    weights = layer.in_proj_weight, layer.in_proj_bias, layer.out_proj.weight, layer.out_proj.bias
    with torch.no_grad():
        ours = attend(x, x, x, 8, 2, *weights, mask, shares, mean, kind)
        theirs = torch._native_multi_head_attention(x, x, x, 8, 2, *weights, mask, shares, mean, kind)
    torch.testing.assert_close(ours[0], theirs[0])
    if shares:
        torch.testing.assert_close(ours[1], theirs[1])


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(("gelu", "first"), [(False, False), (True, False), (False, True), (True, True)])
def test_encoder_layers_are_pytorch_s(number: int, gelu: bool, first: bool) -> None:
    torch.manual_seed(number)
    layer, x = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True).eval(), torch.randn(2, 5, 8)
    own = layer.self_attn
    given = (
        *(8, 2, own.in_proj_weight, own.in_proj_bias, own.out_proj.weight, own.out_proj.bias, gelu, first, 1e-3),
        *(layer.norm1.weight, layer.norm1.bias, layer.norm2.weight, layer.norm2.bias),
        *(layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias),
        *draw_masks(2, 5, 2)[number],
    )
    with torch.no_grad():
        torch.testing.assert_close(encode(x, *given), torch._transformer_encoder_layer_fwd(x, *given))


def make_graph(*uses: Any) -> Any:
    """Return a graph of a tensor and a number in a tensor, which each of these uses adds to the sum."""
    graph = torch.fx.Graph()
    x, number = graph.placeholder("x"), graph.placeholder("n")
    number.meta["example_value"], x.meta["example_value"] = torch.tensor(2.0), torch.ones(2)
    for use in uses:
        x = graph.call_function(torch.add, (x, use(graph, number)))
    graph.output((x,))
    return torch.fx.GraphModule(nn.Module(), graph)


def take_item(graph: Any, number: Any) -> Any:
    return graph.call_method("item", (number,))


def test_numbers_whose_item_is_taken_become_floats() -> None:
    graph = make_graph(take_item, take_item)
    assert rewrite(graph) == {1}
    torch.testing.assert_close(graph(torch.ones(2), 2.0)[0], torch.full((2,), 5.0))


def test_numbers_that_are_read_as_tensors_stay() -> None:
    assert rewrite(make_graph(take_item, lambda graph, number: number)) == frozenset()
    assert rewrite(make_graph()) == frozenset()
    assert rewrite(lambda x: (x,)) == frozenset()
