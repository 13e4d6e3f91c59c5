"""Tables of rules: every rule stands where it is looked for, and is given once its module is there whole."""

import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from nnapi.importers.onnx import operators
from nnapi.importers.onnx.operators import FAMILIES as ONNX_FAMILIES
from nnapi.importers.onnx.operators import RULES as ONNX_RULES
from nnapi.importers.rule_table import RuleTable
from nnapi.importers.tflite.rules import FAMILIES as TFLITE_FAMILIES
from nnapi.importers.tflite.rules import RULES as TFLITE_RULES
from tools.onnx_rule_modules import list_modules

TABLES = [(TFLITE_RULES, TFLITE_FAMILIES), (ONNX_RULES, ONNX_FAMILIES)]


@pytest.mark.parametrize(("table", "families"), TABLES, ids=["tflite", "onnx"])
def test_every_rule_stands_where_it_is_looked_for(table: RuleTable, families: dict[str, list[str]]) -> None:
    for kind, module in table.modules.items():
        rule = table.find(kind)
        assert rule is not None
        assert rule.__module__ == f"{table.package}.{module}"
    assert set(table.registered) == set(table.modules)
    assert sum(len(kinds) for kinds in families.values()) == len(table.modules)


def test_the_generated_table_lists_all_rules_of_onnx() -> None:
    listed = (Path(operators.__file__).parent / "rule_modules.txt").read_text(encoding="utf-8")
    assert listed.splitlines() == list_modules()


class Package:
    """A package with one module of rules, which is half imported until it is told to go on."""

    TABLE: RuleTable
    HALFWAY, GO_ON = Event(), Event()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RuleTable]:
    folder = tmp_path / "made_up_rules"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "inexpressible.py").write_text("REASONS = {'TELL': 'it tells'}")
    (folder / "family.py").write_text(
        f"from {__name__} import Package\n"
        "@Package.TABLE.rule('ADD', 'SUB')\n"
        "def rule(node): return last\n"
        "Package.HALFWAY.set()\n"
        "assert Package.GO_ON.wait(60)\n"
        "last = 'whole'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    Package.TABLE = RuleTable("made_up_rules", {"family": ["ADD", "SUB"]})
    yield Package.TABLE
    Package.GO_ON.set()
    for name in [name for name in sys.modules if name.startswith("made_up_rules")]:
        del sys.modules[name]


def test_a_thread_waits_for_a_module_that_another_imports(table: RuleTable) -> None:
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


def test_what_has_no_rule(table: RuleTable) -> None:
    assert table.find("TELL") is None
    assert "ADD" in table
    assert "TELL" not in table
    assert [table.reason(kind) for kind in ("TELL", "OTHER")] == ["it tells", "NNAPI has no such operation"]
