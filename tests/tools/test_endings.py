"""The program that ends every command in all ways."""

import math
import re

import pytest

from tools import endings
from tools.automation import list_commands


def test_every_command_is_ended() -> None:
    lines = [line.split() for line in endings.LINES.values()]
    named = {" ".join(words[:count]) for words in lines for count in (1, 2)}
    named |= {"bench run", "check run", "trace record"}
    without = {"phone disconnect", "phone push", "phone remove"}  # as phone connect
    assert set(list_commands()) - without <= named


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_commands_end_as_they_should(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A fast computer exports before Ctrl-C comes; the service ends by Ctrl-C alone."""
    monkeypatch.setattr(endings, "LONGEST", math.inf)
    assert endings.main(["export .tflite", "serve"]) == 0
    out, err = capsys.readouterr()
    export, serve = out.splitlines()[-2:]
    assert re.match(r"\| `export .tflite` \| 0 \| (0|130), (0|130), (0|130); ", export)
    assert serve.startswith("| `serve` | endless | 130, 130, 130; ")
    assert err == "\n"


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_a_wrong_ending_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(endings, "DELAYS", ())
    monkeypatch.setattr(endings, "prepare", lambda folder: None)
    assert endings.main(["info"]) == 1  # there is no model
    assert "info, head: Ending(code=2" in capsys.readouterr().err
