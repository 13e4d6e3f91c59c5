"""Tables of rules: every rule stands where it is looked for, and is given once its module is there whole."""

import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from nnapi.importers.onnx import operators
from nnapi.importers.onnx.operators import RULES as ONNX_RULES
from nnapi.importers.refusals import explain_missing_rule
from nnapi.importers.tflite.rules import HIGH_RANK
from nnapi.importers.tflite.rules import RULES as TFLITE_RULES
from nnapi.rule_table import RuleTable
from tools.onnx_rule_modules import list_modules


@pytest.mark.parametrize("table", [TFLITE_RULES, HIGH_RANK, ONNX_RULES], ids=["tflite", "high rank", "onnx"])
def test_every_rule_stands_where_it_is_looked_for(table: RuleTable[str, Any]) -> None:
    assert table.modules is not None
    for kind, module in table.modules.items():
        rule = table.find(kind)
        assert rule is not None
        assert rule.__module__ == f"{table.package}.{module}"
    assert set(table) == set(table.own) == set(table.modules)


def test_the_generated_table_lists_all_rules_of_onnx() -> None:
    listed = (Path(operators.__file__).parent / "rule_modules.txt").read_text(encoding="utf-8")
    assert listed.splitlines() == list_modules()


def test_an_operation_has_one_rule() -> None:
    table: RuleTable[str, Any] = RuleTable()
    table.register("ADD")(print)
    with pytest.raises(AssertionError, match="ADD"):
        table.register("SUB", "ADD")(print)


def test_rules_of_a_base_stand_for_those_that_a_table_lacks() -> None:
    base: RuleTable[str, Any] = RuleTable()
    base.register("ADD", "SUB")(min)
    table = RuleTable(base=base)
    table.register("SUB")(max)
    assert (table["ADD"], table["SUB"], table.find("MUL")) == (min, max, None)
    with pytest.raises(KeyError, match="MUL"):
        table["MUL"]


class Package:
    """A package with one module of rules, which is half imported until it is told to go on."""

    TABLE: RuleTable[str, Any]
    HALFWAY, GO_ON = Event(), Event()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RuleTable[str, Any]]:
    folder = tmp_path / "made_up_rules"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "inexpressible.py").write_text("REASONS = {'TELL': 'it tells'}")
    (folder / "family.py").write_text(
        f"from {__name__} import Package\n"
        "@Package.TABLE.register('ADD', 'SUB')\n"
        "def rule(node): return last\n"
        "Package.HALFWAY.set()\n"
        "assert Package.GO_ON.wait(60)\n"
        "last = 'whole'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    Package.TABLE = RuleTable("made_up_rules", modules=dict.fromkeys(("ADD", "SUB"), "family"))
    yield Package.TABLE
    Package.GO_ON.set()
    for name in [name for name in sys.modules if name.startswith("made_up_rules")]:
        del sys.modules[name]


def test_a_thread_waits_for_a_module_that_another_imports(table: RuleTable[str, Any]) -> None:
    given: list[str] = []

    def use(kind: str) -> None:
        rule = table.find(kind)
        assert rule is not None
        given.append(rule(None))

    threads = [Thread(target=use, args=["ADD"]), Thread(target=use, args=["SUB"])]
    threads[0].start()
    assert Package.HALFWAY.wait(60)
    threads[1].start()
    threads[1].join(0.05)  # time enough for a table that does not wait to fail
    Package.GO_ON.set()
    for thread in threads:
        thread.join()
    assert given == ["whole", "whole"]


def test_an_operation_without_a_rule_has_a_reason(table: RuleTable[str, Any]) -> None:
    assert table.find("TELL") is None
    assert "TELL" not in table
    reasons = [explain_missing_rule(table.package, kind) for kind in ("TELL", "OTHER")]
    assert reasons == ["it tells", "NNAPI has no such operation"]
