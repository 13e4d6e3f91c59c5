"""``nnapi view`` as a user calls it."""

from __future__ import annotations

import json
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import nnapi
from nnapi.cli import app
from tests.disk_cases import full_disk

MODEL = Path(__file__).parents[2] / "examples" / "digits" / "digits_quant.tflite"
REFERENCE = ("--device", "nnapi-reference")


def view(*words: object) -> Result:
    return CliRunner().invoke(app, ["view", str(MODEL), *REFERENCE, *map(str, words)])


class Browser:
    def __init__(self) -> None:
        self.opened: list[str] = []

    def open(self, url: str) -> bool:
        self.opened.append(url)
        return True


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Browser:
    made = Browser()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(webbrowser, "get", lambda: made)
    return made


def test_the_page_is_opened(browser: Browser, tmp_path: Path) -> None:
    result = view()
    assert result.exit_code == 0, result.output
    (page,) = tmp_path.glob("nnapi-view-*.html")
    assert page.stat().st_mode & 0o077 == 0  # other users share the folder
    assert browser.opened == [page.as_uri()]
    assert 'data-operation="0"' in page.read_text()
    assert result.stdout.splitlines()[-1] == f"written to {page}"


def test_a_page_of_a_chosen_name_is_not_opened(browser: Browser, tmp_path: Path) -> None:
    result = view("-o", tmp_path / "plan.html")
    assert (result.exit_code, browser.opened) == (0, [])
    assert [path.name for path in tmp_path.iterdir()] == ["plan.html"]


def test_no_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail() -> Any:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(webbrowser, "get", fail)
    result = view()
    (page,) = tmp_path.glob("nnapi-view-*.html")
    *_, path, words = result.stdout.splitlines()
    assert (result.exit_code, path) == (0, f"written to {page}")
    assert words == "no browser was found: open this file in one"


def test_a_full_disk_leaves_no_page(browser: Browser, tmp_path: Path) -> None:
    with nnapi.settings(tuning=False), full_disk():
        result = view()
    assert (result.exit_code, browser.opened, [*tmp_path.iterdir()]) == (2, [], [])
    assert f"nnapi: {tmp_path}/nnapi-view-" in result.stderr


def test_node_data(browser: Browser, tmp_path: Path) -> None:
    result = view("--node-data", tmp_path / "devices.json", "-o", tmp_path / "plan.html")
    assert result.exit_code == 0, result.output
    results = json.loads((tmp_path / "devices.json").read_text())["results"]
    assert {each["value"] for each in results.values()} == {"nnapi-reference"}
    assert "Identity" in results
