"""Packages with a rule per operation: rules lie in modules with the names of families."""

from collections.abc import Mapping
from typing import Any

import pytest

from nnapi.drivers.litert.context import RULES as LITERT
from nnapi.exporters.onnx.convert import Conversion as OnnxConversion
from nnapi.exporters.tflite.context import RULES as EXPORTER
from nnapi.lowering.decomposition_builder import RULES as DECOMPOSITIONS
from nnapi.lowering.tflite.context import RULES as CANONICAL
from nnapi.operation_codes import CODES, FAMILIES, FAMILY_OF, NAMES

PACKAGES = (
    "nnapi.lowering.tflite.",
    "nnapi.lowering.decompositions.",
    "nnapi.drivers.litert.rules.",
    "nnapi.drivers.openvino.rules.",
    "nnapi.exporters.tflite.",
    "nnapi.exporters.onnx.rules.",
)
TABLES = {
    "canonical": (CANONICAL, 80),
    "litert": (LITERT, 80),
    "tflite exporter": (EXPORTER, 80),
    "onnx exporter": (OnnxConversion.rules, 65),
    "decompositions": (DECOMPOSITIONS, 65),
}
"""The rules of packages by operation, and the least number of operations that have one."""


def test_every_operation_has_one_family() -> None:
    names = [name for listed in FAMILIES.values() for name in listed.split()]
    assert sorted(names) == sorted(CODES)


@pytest.mark.parametrize(("rules", "least"), TABLES.values(), ids=TABLES)
def test_rules_lie_in_modules_of_their_families(rules: Mapping[int, Any], least: int) -> None:
    """``FAMILY.py``, or ``FAMILY_more.py`` where one module would be too long."""
    found = {NAMES[code]: rule.__module__ for code, rule in rules.items()}
    own = {name: module for name, module in found.items() if module.startswith(PACKAGES)}
    assert len(own) > least
    assert {name: module for name, module in own.items() if not _is_of(module, FAMILY_OF[CODES[name]])} == {}


def test_openvino_s_rules_lie_in_modules_of_their_families() -> None:
    pytest.importorskip("openvino", reason="OpenVINO is an extra: nnapi[openvino]")
    from nnapi.drivers.openvino.context import RULES

    test_rules_lie_in_modules_of_their_families(RULES, 65)


def _is_of(module: str, family: str) -> bool:
    name = module.rpartition(".")[2]
    return name == family or name.startswith(f"{family}_")
