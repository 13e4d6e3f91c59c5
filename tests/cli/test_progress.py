"""The bar that shows only when work lasts."""

import io
import sys
import time

import pytest
from rich.console import Console

from nnapi.cli.progress import _estimate, progress


@pytest.fixture(autouse=True)
def _cursor_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test run in a terminal without a cursor draws the same."""
    monkeypatch.setenv("TERM", "xterm")


def drawn(patience: float, until: str, *, terminal: bool = True) -> str:
    """Return the output of a task with two steps."""
    console = Console(file=io.StringIO(), force_terminal=terminal, width=80)
    with progress(console, 2, patience) as step:
        step("reading")
        step("running bird.bmp")
        wait_until_drawn(console, until)
        console.print("a result")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def wait_until_drawn(console: Console, words: str) -> None:
    """Or for a minute, after which what is looked for is missing."""
    assert isinstance(console.file, io.StringIO)
    end = time.monotonic() + 120
    while words not in console.file.getvalue() and time.monotonic() < end:
        time.sleep(0.01)


def test_long_work_shows_its_step() -> None:
    text = drawn(0.01, "running bird.bmp")
    assert "running bird.bmp" in text
    assert "a result" in text


def test_short_work_shows_nothing() -> None:
    assert drawn(60, "") == "a result\n"


def test_no_terminal_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    assert drawn(0, "", terminal=False) == "a result\n"
    assert capsys.readouterr().err == ""


def test_a_terminal_without_a_cursor_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert drawn(0, "") == "a result\n"


def test_long_work_without_a_terminal_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Again and again, also while one step lasts."""
    monkeypatch.setattr("sys.stderr", io.StringIO())
    console = Console(file=sys.stderr, force_terminal=False)
    with progress(console, 2, pause=0.01) as step:
        for line, name in (("0 of 2: reading", "reading"), ("1 of 2: running bird.bmp", "running bird.bmp")):
            step(name)
            wait_until_drawn(console, f"{line}\n{line}\n")
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines == sorted(lines)
    assert set(lines) == {"0 of 2: reading", "1 of 2: running bird.bmp"}


def fail_slowly(console: Console) -> None:
    with progress(console, 1, 0.01) as step:
        step("failing")
        wait_until_drawn(console, "failing")
        raise ZeroDivisionError


def test_stops_when_work_fails() -> None:
    console = Console(file=io.StringIO(), force_terminal=True)
    with pytest.raises(ZeroDivisionError):
        fail_slowly(console)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().endswith("\x1b[2K")  # the line is cleared


def test_the_rest_is_estimated_after_a_minute() -> None:
    assert _estimate(59, 1, 10) == ""
    assert _estimate(600, 0, 10) == ""
    assert _estimate(600, 5, 10) == ", about 10 min left"
    assert _estimate(600, 999, 1000) == ", less than a minute left"


def test_the_bar_counts() -> None:
    assert "1 of 2" in " ".join(drawn(0.01, "running bird.bmp").split())
