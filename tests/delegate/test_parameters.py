"""Parameters of operators as LiteRT hands them over, beside what the file says."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from nnapi.capi import installation
from nnapi.formats.tflite.operators import OPERATORS, options_table
from nnapi.formats.tflite.reader import File
from tests.networks import find_networks

cases = pytest.importorskip("tests.delegate.delegate_cases", reason="ai-edge-litert is not installed")
pytest.importorskip("nnapi.capi._bridge", reason=str(installation.library_problem()))
from nnapi.delegate import delegate as room  # noqa: E402
from nnapi.delegate.graph import LiteRtGraph  # noqa: E402
from nnapi.delegate.parameters import can_read_parameters, read_parameters, size_of  # noqa: E402
from nnapi.delegate.partition import NodeSubset, NotClaimed  # noqa: E402

pytestmark = [*cases.pytestmark, pytest.mark.shared]
UNREAD = {"source", "target", "type", "asymmetric_quantize_inputs"}
"""Parameters that no rule reads, or that are other numbers to LiteRT."""

LEFT_OUT = {
    "tflm_person_detect_int8": "LiteRT refuses the file",
    "hair_segmentation_float": "LiteRT has no kernels for its custom operations, and does not show it to delegates",
    "selfie_segmenter_f16": "LiteRT has no kernels for its custom operations, and does not show it to delegates",
}
"""Networks that no delegate is shown, and why."""


def read_by_the_delegate(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """The operators that the delegate is shown, with their parameters; nothing is taken."""
    seen: list[tuple[str, dict[str, Any]]] = []

    class Watched(LiteRtGraph):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            seen.extend((node.kind, vars(node.options())) for node in self.nodes if can_read_parameters(node.kind))

    def refuse(graph: LiteRtGraph, subset: NodeSubset) -> None:
        raise NotClaimed(dict.fromkeys(subset.nodes, "nothing is taken"))

    monkeypatch.setattr(room, "LiteRtGraph", Watched)
    monkeypatch.setattr(room, "convert", refuse)
    cases.litert.Interpreter(str(path), experimental_delegates=[cases.load()])
    return seen


@pytest.mark.slow
def test_parameters_are_the_files(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = set()
    for path in (path for name, path in find_networks(shared).items() if name not in LEFT_OUT):
        subgraph = File(memoryview(path.read_bytes())).subgraph(0)
        operators = subgraph.operators
        seen = read_by_the_delegate(path, monkeypatch)
        assert [kind for kind, _ in seen] == [operator.kind for operator in operators], path
        for (kind, given), operator in zip(seen, operators, strict=True):
            described = vars(operator.options())
            names = (set(described) & set(given)) - UNREAD - {"_"}
            assert {name: given[name] for name in names} == {name: described[name] for name in names}, kind
            kinds.add(kind)
    assert len(kinds) > 20


SIZES = {
    "ADD": 4,
    "CONV_2D": 24,
    "DEPTHWISE_CONV_2D": 28,
    "RESHAPE": 36,
    "RESIZE_BILINEAR": 2,
    "MULTINOMIAL": 16,
    "UNPACK": 8,
}
"""Bytes of C structures, as far as the schema has their members."""
UNREADABLE = {"BUCKETIZE", "VAR_HANDLE"}
"""Boundaries and names are pointers."""


@pytest.mark.parametrize("kind", SIZES)
def test_sizes_of_structures(kind: str) -> None:
    assert size_of(kind) == SIZES[kind]


def test_parameters_of_all_operators_can_be_read_but_pointers_and_those_of_stablehlo() -> None:
    unreadable = {row.name for row in OPERATORS if not can_read_parameters(row.name)}
    assert unreadable == UNREADABLE | {row.name for row in OPERATORS if options_table(row.name).is_second}
    assert can_read_parameters("CUSTOM:mine")


@pytest.mark.parametrize("kind", ["CONV_3D", "CONV_3D_TRANSPOSE"])
def test_structs_of_volumes_have_their_own_order(kind: str) -> None:
    """Padding, then the strides and dilations of width, height and depth, and the activation."""
    found = vars(read_parameters(kind, struct.pack("@8i", 2, 3, 4, 5, 6, 7, 8, 1)))
    strides, dilations = (
        {f"{name}_{axis}": found[f"{name}_{axis}"] for axis in "whd"} for name in ("stride", "dilation")
    )
    assert (found["padding"], found["activation"]) == (1, 1)
    assert list(strides.values()) == [3, 4, 5]
    assert list(dilations.values()) == [6, 7, 8]
