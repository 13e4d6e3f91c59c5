"""`nnapi trace`: recording, and the timing table."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from nnapi import Device, trace
from nnapi.cli import app

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_float.tflite"


def ran(*arguments: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["trace", *map(str, arguments)])


@pytest.fixture(name="recorded", scope="module", params=[".html", ".json", ".txt"])
def _recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file: Path = tmp_path_factory.mktemp("traces") / f"trace{request.param}"
    result = ran(DIGITS, "-o", file, "--runs", "3", "--device", "nnapi-reference")
    assert result.exit_code == 0, result.output
    assert "digits_float.tflite, process " in result.stdout
    assert not trace.is_enabled()
    return file


def test_what_is_recorded_is_read(recorded: Path) -> None:
    result = ran("parse", recorded, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    (run,) = json.loads(result.stdout)["runs"]
    assert run["execution_counts"]["PO"] == 3
    times = run["times"]
    assert times["PE"]["LA"] >= times["PE"]["LR"] >= times["PE"]["LC"] >= times["PCO"]["LC"] > 0
    assert times["PC"]["LA"] >= times["PC"]["LR"] >= times["PC"]["LC"] > 0
    assert times["PP"]["LA"] >= times["PP"]["LR"] > 0


def test_table(recorded: Path) -> None:
    result = ran("parse", recorded)
    assert result.exit_code == 0
    assert "NNAPI timing summary (self-times, ms wall-clock)" in result.stdout
    assert "Execution (3x)" in result.stdout
    assert "note" not in result.output


def test_options(recorded: Path) -> None:
    result = ran("parse", recorded, "--total-times", "--per-execution", "--print-detail")
    assert "NNAPI timing summary (total times, ms wall-clock per execution)" in result.stdout
    assert result.stdout.count("[NN_LC_PCO]CONV_2D") == 6


def test_page_shows_the_table(recorded: Path) -> None:
    if recorded.suffix == ".html":
        page = recorded.read_text()
        assert "<h1>digits_float.tflite on nnapi-reference</h1>" in page
        assert page.index("<td>Application</td>") < page.index("CONV_2D") < page.index("tracing_mark_write")


def test_operations_are_named(recorded: Path) -> None:
    if recorded.suffix == ".json":
        events = json.loads(recorded.read_text())["traceEvents"]
        operations = [event["args"] for event in events if "operation" in event.get("args", {})]
        assert {args["operation"] for args in operations} == set(range(7))
        assert all(args["outputs"] for args in operations)


def test_output_must_have_a_known_form(tmp_path: Path) -> None:
    result = ran(DIGITS, "-o", tmp_path / "trace.pdf")
    assert result.exit_code == 2
    assert "trace.pdf must end in .html, .json, .txt" in result.stderr


def test_output_is_needed() -> None:
    result = ran(DIGITS)
    assert result.exit_code == 2
    assert "--output" in result.stderr


def test_tracing_ends_with_a_mistake(tmp_path: Path) -> None:
    assert ran(DIGITS, "-o", tmp_path / "trace.json", "--device", "toaster").exit_code == 4
    assert not trace.is_enabled()
    assert not (tmp_path / "trace.json").exists()


@pytest.mark.parametrize("text", ["", "hello\n", "{}", "[[["])
def test_no_trace(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    result = ran("parse", tmp_path / "file")
    assert result.exit_code == 3
    assert result.stderr.startswith(f"nnapi: {tmp_path / 'file'}: this is not a trace")


def test_nothing_of_nnapi(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("#           TASK-PID    TGID   CPU#  ||||    TIMESTAMP  FUNCTION\n")
    result = ran("parse", tmp_path / "file")
    assert result.exit_code == 3
    assert result.stderr == "nnapi: file contains no sections of the NNAPI runtime\n"


@pytest.mark.shared
def test_real_trace(shared: Path) -> None:
    folder = shared / "traces"
    result = ran("parse", folder / "omr1_incomplete.html", "--json", "--per-execution")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["runs"] == json.loads((folder / "omr1_incomplete.json").read_text())
    assert "incomplete" in result.stderr


def test_help() -> None:
    result = ran("--help")
    assert result.exit_code == 0
    assert "parse" in result.stdout


def test_our_own_trace_keeps_the_rules(tmp_path: Path) -> None:
    file = tmp_path / "trace.txt"
    assert ran(DIGITS, "-o", file, "--device", "nnapi-reference").exit_code == 0
    assert "against the rules" not in ran("parse", file, "--json").output


def test_a_substitute_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "substitute", "only pretended")
    result = ran(DIGITS, "-o", tmp_path / "trace.txt", "--runs", "1", "--device", "nnapi-reference")
    assert "nnapi-reference is only pretended" in result.stdout
