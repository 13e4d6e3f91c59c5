"""Every operation with every combination of types, as files in LiteRT and ONNX Runtime: none aborts or differs.

Each is run once with quantized values of scale 1 too, which importers of ONNX give to plain bytes.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.exporters.pair_cases import list_pairs, run_all

MODULES = {"LiteRT": "ai_edge_litert", "ONNX Runtime": "onnxruntime"}


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("way", MODULES)
def test_every_operation_with_every_type_that_can_be_written_runs(way: str) -> None:
    pytest.importorskip(MODULES[way], reason=f"{MODULES[way]} is not installed")
    found = run_all(way)
    assert not {name: each.reason for name, each in found.items() if each.kind == "wrong"}
    assert len(found) > len(list_pairs())
    assert Counter(each.kind for each in found.values())["passed"] > 0.8 * len(found)
