"""Records of runs, their table and their comparison."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nnapi.cli.printing import write_json
from nnapi.errors import UnusableFile
from nnapi.testing.suite.comparison import compare_runs
from nnapi.testing.suite.expectations import Expectations
from nnapi.testing.suite.matrix import make_matrix
from nnapi.testing.suite.record import AUTOMATIC, DeviceRun, describe_judged, merge_runs, read_runs
from nnapi.testing.suite.result import Result, Status

FLOAT, QUANT = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM"


def made(name: str, status: str = "passed", reason: str = "", type: str = FLOAT, *operations: str) -> Result:
    return Result("", name, operations or ("RELU",), "plain", Status(status), reason, 0.5, type)


def ran(device: str, *results: Result) -> DeviceRun:
    return DeviceRun(device, list(map(Expectations().judge, results)))


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    run = ran("npu", made("a"), made("b", "crashed", "SIGSEGV"))
    described: dict[str, Any] = {"device": "npu", "results": describe_judged(run.results)}
    write_json(tmp_path / "one.json", "check", described)
    write_json(tmp_path / "any.json", "check-webnn", described | {"device": None})
    write_json(tmp_path / "two.json", "check-random", {"devices": [described, described | {"device": "gpu"}]})
    assert read_runs(tmp_path / "one.json") == [run]
    assert [each.device for each in read_runs(tmp_path / "any.json")] == [AUTOMATIC]
    assert [each.device for each in read_runs(tmp_path / "two.json")] == ["npu", "gpu"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": "nnapi-bench"}', '{"format": "nnapi-check", "device": 1}']
)
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UnusableFile, match=r"x\.json: not results of nnapi check, as --output writes them$"):
        read_runs(tmp_path / "x.json")


def test_a_damaged_result_is_refused(tmp_path: Path) -> None:
    described = describe_judged(ran("npu", made("a")).results)
    described[0]["status"] = "late"
    (tmp_path / "x.json").write_text(json.dumps({"format": "nnapi-check", "device": "npu", "results": described}))
    with pytest.raises(UnusableFile, match="not results of nnapi check"):
        read_runs(tmp_path / "x.json")


def test_shards_of_a_device_are_one_column() -> None:
    first, second = ran("npu", made("a"), made("b", "failed")), ran("npu", made("b"), made("c"))
    (run,) = merge_runs([first, second])
    assert [(each.result.example, each.result.status) for each in run.results] == [
        ("a", "passed"),
        ("b", "passed"),
        ("c", "passed"),
    ]


def test_a_cell_has_the_results_of_an_operation_and_a_type() -> None:
    npu = ran(
        "npu",
        made("a"),
        made("b", "failed", "off by 1"),
        made("c", "failed", "off by 1"),
        made("d", "skipped", "too large"),
        made("e", "passed", "", QUANT, "ADD", "RELU"),
    )
    gpu = ran("gpu", made("a", "skipped", "no"), made("b"), made("f", "flaky", "now and then", FLOAT, "ADD"))
    table = make_matrix([npu, gpu])
    assert table.devices == ["npu", "gpu"]
    assert table.totals[0] == Counter({Status.PASSED: 2, Status.FAILED: 2, Status.SKIPPED: 1})
    kinds = {(row.operation, row.type): [cell and cell.kind for cell in row.cells] for row in table.rows}
    assert kinds == {
        ("ADD", FLOAT): [None, "flaky"],
        ("ADD", QUANT): ["passed", None],
        ("RELU", FLOAT): ["fault", "partial"],
        ("RELU", QUANT): ["passed", None],
    }
    (cell,) = (cell for cell in table.cells if cell.kind == "fault")
    assert [(each.status, each.reason, each.tests) for each in cell.reasons] == [
        ("failed", "off by 1", ["b/plain", "c/plain"]),
        ("skipped", "too large", ["d/plain"]),
    ]
    assert len({each.anchor for each in table.cells}) == len(table.cells)


def test_a_device_that_refuses_all() -> None:
    (cell,) = make_matrix([ran("npu", made("a", "skipped", "no"))]).cells
    assert cell.kind == "skipped"


def test_changes_are_better_worse_or_of_the_reason() -> None:
    before = ran("npu", made("a"), made("b", "failed", "1"), made("c", "crashed"), made("d", "failed", "1"), made("e"))
    after = ran("npu", made("a", "skipped", "no"), made("b"), made("c", "failed"), made("d", "failed", "2"), made("f"))
    found = compare_runs([before], [after])
    names = [[change.after.example for change in part] for part in (found.worse, found.better, found.others)]
    assert names == [["a"], ["b", "c"], ["d"]]
    assert (found.compared, found.removed, found.added) == (4, ["npu: e/plain"], ["npu: f/plain"])


def test_one_device_may_have_another_name() -> None:
    found = compare_runs([ran("npu-1", made("a"))], [ran("npu-2", made("a", "failed"))])
    assert [(change.device, change.after.example) for change in found.worse] == [("npu-2", "a")]


def test_several_devices_are_compared_by_name() -> None:
    before, after = [ran("npu", made("a")), ran("gpu", made("a"))], [ran("gpu", made("a", "failed"))]
    found = compare_runs(before, after)
    assert [change.device for change in found.worse] == ["gpu"]
    assert found.removed == ["npu: a/plain"]
