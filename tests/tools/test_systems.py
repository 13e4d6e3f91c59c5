"""The systems in folders that `make release` builds and proves wheels in."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import systems
from tools.environment import FailedError
from tools.systems import System

INCLUDED = systems.REPOSITORY / "src" / "nnapi" / "capi" / "include"


@pytest.fixture
def system(tmp_path: Path) -> System:
    for folder in ("tmp", "usr/bin"):
        (tmp_path / folder).mkdir(parents=True)
    return System(tmp_path)


def test_the_newest_python_of_a_system_is_used(system: System) -> None:
    for name in ("python3.9", "python3.14", "python3.13", "python3.15-config", "python3.13t"):
        (system.folder / "usr/bin" / name).touch()
    assert system.python == "/usr/bin/python3.14"


def test_a_system_without_python_is_refused(system: System) -> None:
    with pytest.raises(FailedError, match=r"has no /usr/bin/python3\.N: install Python 3\.11 or newer there"):
        _ = system.python


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_workspace_holds_the_files_of_the_proofs_and_is_removed(system: System) -> None:
    with system.workspace() as workspace:
        assert (workspace / "tools/proofs.py").is_file()
        assert (workspace / "examples/digits/demo.py").is_file()
        program = ["cc", "-fsyntax-only", f"-I{INCLUDED}", str(workspace / "tests/clients/devices.c")]
        subprocess.run(program, check=True)
        assert system.inside(workspace / "raw") == f"/tmp/{workspace.name}/raw"
    assert list((system.folder / "tmp").iterdir()) == []


def test_a_wheel_is_built_from_a_copy_and_proved_with_the_examples(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (system.folder / "usr/bin/python3.14").touch()
    sdist, examples = tmp_path / "nnapi-1.0.0.tar.gz", tmp_path / "examples.whl"
    sdist.touch()
    examples.touch()
    commands: list[tuple[str, ...]] = []
    with system.workspace() as workspace:

        def run(_: System, *words: str, **variables: str) -> str:
            commands.append(words)
            if "wheel" in words:
                (workspace / "raw").mkdir()
                (workspace / "raw" / "nnapi-1.0.0-cp314-cp314-linux_x86_64.whl").touch()
            return variables.get("PYTHONPATH", "")

        monkeypatch.setattr(System, "run", run)
        wheel = system.build(workspace, sdist)
        there = system.inside(workspace)
        assert system.prove(workspace, wheel, examples) == there
        assert commands[-1] == (
            "/usr/bin/python3.14", "-m", "tools.proofs", f"{there}/{wheel.name}", f"{there}/{examples.name}"
        )  # fmt: skip
        assert [words[-1] for words in commands[2:4]] == [f"{there}/build-lock.txt", f"{there}/{sdist.name}"]
        assert "--require-hashes" in commands[2]
        assert "--no-build-isolation" in commands[3]


def test_a_program_sees_the_system_alone(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words reach chroot as they are, spaces included."""
    shown: list[list[str]] = []
    monkeypatch.setattr(systems, "output", lambda words, *_, **__: shown.append(list(map(str, words))))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    system.run("/bin/echo", "two words")
    assert shown[0][:3] == ["unshare", "--mount", "--map-root-user"]
    assert shown[0][-3:] == [str(system.folder), "/bin/echo", "two words"]


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("busybox") is None, reason="needs root and a static busybox")
def test_a_system_is_entered_and_left_without_mounts(system: System) -> None:
    for folder in ("proc", "dev", "bin"):
        (system.folder / folder).mkdir()
    shutil.copy(shutil.which("busybox") or "", system.folder / "bin" / "busybox")
    assert system.run("/bin/busybox", "ls", "/").split() == ["bin", "dev", "proc", "tmp", "usr"]
    assert not os.path.ismount(system.folder / "proc")
