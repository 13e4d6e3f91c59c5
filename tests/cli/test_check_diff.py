"""``nnapi check diff`` and ``nnapi check page``."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nnapi.cli import app
from nnapi.cli.printing import write_json
from nnapi.testing.suite.expectations import Expectations
from nnapi.testing.suite.record import describe_judged
from nnapi.testing.suite.result import Result, Status
from tests.report.browser import ask


def record(file: Path, device: str, **statuses: str) -> Path:
    """Write results: the status and the reason of each example, as in ``failed: off by 1``."""
    results = []
    for name, text in statuses.items():
        status, _, reason = text.partition(": ")
        results.append(Result("", name, (name.upper(),), "plain", Status(status), reason, 0.1, "TENSOR_FLOAT32"))
    judged = map(Expectations().judge, results)
    write_json(file, "check", {"device": device, "results": describe_judged(judged)})
    return file


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    before = record(tmp_path / "a.json", "npu", relu="failed: off by 1", abs="passed", neg="failed: NaN", add="passed")
    after = record(tmp_path / "b.json", "npu", relu="passed", abs="crashed: SIGSEGV", neg="failed: 0", mul="passed")
    return before, after


def call(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_what_became_worse_ends_with_1(files: tuple[Path, Path]) -> None:
    result = call("diff", *files)
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "npu, abs/plain: passed → crashed: SIGSEGV",
        "npu, relu/plain: failed: off by 1 → passed",
        "1 test only in the earlier run",
        "1 test only in the later run",
        "3 tests compared: 1 became worse, 1 better, 1 changed the reason",
    ]
    assert "npu, neg/plain: failed: NaN → failed: 0" in call("diff", "--all", *files).output


def test_what_is_better_ends_with_0(files: tuple[Path, Path], tmp_path: Path) -> None:
    better = record(tmp_path / "c.json", "npu", relu="passed")
    assert call("diff", files[0], better).exit_code == 0


def test_json(files: tuple[Path, Path]) -> None:
    said = json.loads(call("diff", *files, "--json").output)
    assert said["format"] == "nnapi-check-diff"
    assert [(change["device"], change["test"]) for change in said["worse"]] == [("npu", "abs/plain")]
    assert said["worse"][0]["after"] == {"status": "crashed", "reason": "SIGSEGV"}
    assert [change["test"] for change in said["better"]] == ["relu/plain"]
    assert [change["test"] for change in said["others"]] == ["neg/plain"]
    assert (said["compared"], said["removed"], said["added"]) == (3, ["npu: add/plain"], ["npu: mul/plain"])


def test_other_files_are_refused(tmp_path: Path, files: tuple[Path, Path]) -> None:
    (tmp_path / "x.json").write_text("{}")
    result = call("diff", tmp_path / "x.json", files[0])
    assert result.exit_code == 3
    assert "x.json: not results of nnapi check, as --output writes them" in result.stderr


@pytest.mark.slow
def test_the_page_shows_only_the_rows_that_are_sought(files: tuple[Path, Path], tmp_path: Path) -> None:
    assert call("page", *files, "-o", tmp_path / "out.html").exit_code == 0
    script = """
        const input = document.querySelector("[data-filter]");
        return ["", "fault", "float32 fault ab", "quant8"].map(words => {
            input.value = words;
            input.dispatchEvent(new Event("input"));
            return [...document.querySelectorAll(".matrix tbody tr:not([hidden])")].map(row => row.cells[0].innerText);
        });
    """
    found = ask((tmp_path / "out.html").read_text(), script, tmp_path)
    assert found == [["ABS", "ADD", "MUL", "NEG", "RELU"], ["ABS", "NEG"], ["ABS"], []]


@pytest.mark.slow
def test_the_page_leads_from_each_cell_to_its_reasons(files: tuple[Path, Path], tmp_path: Path) -> None:
    gpu = record(tmp_path / "g.json", "<gpu>", relu="skipped: rank > 4", abs="passed")
    page = tmp_path / "out.html"
    assert call("page", *files, gpu, "-o", page).exit_code == 0
    text = page.read_text()
    assert "<gpu>" not in text
    script = """
        const rows = [...document.querySelectorAll(".matrix tbody tr")].map(row => [...row.cells].map(cell => {
            const link = cell.querySelector("a");
            const section = link && document.querySelector(link.getAttribute("href"));
            return cell.innerText.trim() + (link ? "|" + cell.className.replace("n ", "") : "")
                + (section ? "|" + [...section.querySelectorAll("summary")].map(each => each.innerText).join() : "");
        }));
        return {rows, heads: [...document.querySelectorAll(".matrix thead th")].map(each => each.innerText.trim())};
    """
    found = ask(text, script, tmp_path)
    assert [head.rstrip("↕") for head in found["heads"]] == ["operation", "type", "npu", "<gpu>"]
    assert found["rows"] == [
        ["ABS", "TENSOR_FLOAT32", "0 of 1|fault|1 crashed: SIGSEGV", "1|passed|"],
        ["ADD", "TENSOR_FLOAT32", "1|passed|", "–"],
        ["MUL", "TENSOR_FLOAT32", "1|passed|", "–"],
        ["NEG", "TENSOR_FLOAT32", "0 of 1|fault|1 failed: 0", "–"],
        ["RELU", "TENSOR_FLOAT32", "1|passed|", "0 of 1|skipped|1 skipped: rank > 4"],
    ]
