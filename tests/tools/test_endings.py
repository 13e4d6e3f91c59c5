"""The program that ends every command in all ways."""

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
def test_a_command_ends_as_it_should(capsys: pytest.CaptureFixture[str], interruptible: None) -> None:
    assert endings.main(["export .tflite"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].startswith("| `export .tflite` | 0 | 130")
    assert err == "\n"


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_a_wrong_ending_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(endings, "DELAYS", ())
    monkeypatch.setattr(endings, "prepare", lambda folder: None)
    assert endings.main(["info"]) == 1  # there is no model
    assert "info, head: Ending(code=2" in capsys.readouterr().err
