"""The passes that rewrite a graph."""

import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT has no wheel for this platform")

from nnapi.drivers.xnnpack import rewriting
from nnapi.drivers.xnnpack.passes.cost_model import ALL_SIGNED
from nnapi.drivers.xnnpack.passes.float_weights import use_float_weights
from nnapi.formats.tflite.graph import Graph
from nnapi.model.model import Model


def test_each_pass_gets_the_graph_of_the_one_before() -> None:
    graphs = [Graph([], [], [], (), name) for name in ("given", "first", "second")]

    def first(graph: Graph) -> Graph:
        assert graph is graphs[0]
        return graphs[1]

    def second(graph: Graph) -> Graph:
        assert graph is graphs[1]
        return graphs[2]

    assert rewriting.rewrite(Model(), graphs[0], (first, second), ALL_SIGNED) is graphs[2]
    assert rewriting.rewrite(Model(), graphs[0], (), ALL_SIGNED) is graphs[0]


def test_subgraphs_are_rewritten_too() -> None:
    graph = Graph(name="main", subgraphs=[Graph(name="body")], turns=(7,))
    found = rewriting.rewrite(Model(), graph, (lambda each: Graph(name=f"new {each.name}"),), ALL_SIGNED)
    assert (found.name, [each.name for each in found.subgraphs], found.turns) == ("new main", ["new body"], (7,))


@pytest.mark.parametrize("rounds", [False, True])
def test_cells_round_their_states_where_the_model_permits_it(rounds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def unroll(graph: Graph, rounds_states: bool) -> Graph:
        asked.append(rounds_states)
        return graph

    monkeypatch.setattr(rewriting, "unroll_lstm", unroll)
    model = Model()
    model.permit_rounded_states(rounds)
    rewriting.rewrite(model, Graph([], [], [], ()), (unroll,), ALL_SIGNED)  # type: ignore[arg-type]
    assert asked == [rounds]


def test_the_variants_have_their_passes() -> None:
    assert rewriting.FLOAT_PASSES[0] is use_float_weights
    assert rewriting.FLOAT_PASSES[1:] == rewriting.PASSES
    assert len(set(rewriting.PASSES)) == len(rewriting.PASSES)
