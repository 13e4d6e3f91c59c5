"""The environment of programs that are run as a user would run them."""

import sys
from pathlib import Path

import pytest

from tools.environment import Environment, FailedError, output


def test_programs_see_only_what_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("PIP_QUIET", "1")
    seen = output([sys.executable, "-c", "import os; print(*sorted(os.environ))"], "/nowhere", GIVEN="1").split()
    assert {"GIVEN", "PATH", "PIP_QUIET"} <= set(seen)
    assert "PYTHONPATH" not in seen


def test_no_compiler_is_on_the_path_of_an_environment(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    search = "import shutil; print(shutil.which('cc'), shutil.which('gcc'))"
    assert Environment(tmp_path).run("python", "-c", search) == "None None\n"


def test_failures_say_what_was_run_and_printed() -> None:
    with pytest.raises(FailedError, match=r"(?s)-c print\('said'\).*: exit code 3\nsaid\n"):
        output([sys.executable, "-c", "print('said'); raise SystemExit(3)"])
