"""Where the library is, and `nnapi lib`."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from nnapi.capi import installation
from nnapi.cli import app
from nnapi.host import adb

built = pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem()))


def lib(*options: str) -> str:
    result = CliRunner().invoke(app, ["lib", *options])
    assert result.exit_code == 0, result.output
    return result.stdout


@built
def test_prints_the_path() -> None:
    assert lib() == f"{installation.library()}\n"
    assert Path(lib("--include").strip(), "NeuralNetworks.h").is_file()
    assert f"-L{installation.library().parent}" in lib("--pkg-config")


def test_prints_the_path_of_the_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(adb, "LOCAL", tmp_path / "nnapi-agent")
    assert "it has no agent" in CliRunner().invoke(app, ["lib", "--agent"]).stderr
    adb.LOCAL.touch()
    assert lib("--agent") == f"{adb.LOCAL}\n"


@built
def test_options_of_compiler_and_linker() -> None:
    assert lib("--cflags") == f"-I{installation.include()}\n"
    assert lib("--cflags", "--libs") == f"{lib('--cflags').strip()} {lib('--libs')}"
    assert lib("--libs").endswith(" -lneuralnetworks\n")


@built
def test_pkg_config_gives_the_same_of_any_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if shutil.which("pkg-config") is None:
        pytest.skip("no pkg-config")
    monkeypatch.setattr(installation, "FOLDER", Path("/a b/it's"))
    (tmp_path / "neuralnetworks.pc").write_text(installation.pkg_config())
    monkeypatch.setenv("PKG_CONFIG_PATH", str(tmp_path))
    words = ["pkg-config", "--cflags", "--libs", "neuralnetworks"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert shlex.split(printed) == [*installation.cflags(), *installation.libs()]


@built
def test_what_to_export(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/opt/lib:{installation.FOLDER}")
    assert lib("--env") == (
        f"export LD_LIBRARY_PATH={installation.FOLDER}:/opt/lib\n"
        f"export LIBNEURALNETWORKS_PATH={installation.library()}\n"
    )


@built
def test_warns_of_another_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / installation.NAME
    other.touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path}:{installation.FOLDER}")
    assert installation.find_earlier_libraries() == [other]
    assert str(other) in CliRunner().invoke(app, ["lib"]).stderr
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{installation.FOLDER}:{tmp_path}")
    assert installation.find_earlier_libraries() == []


def test_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(installation, "FOLDER", tmp_path)
    result = CliRunner().invoke(app, ["lib"])
    assert result.exit_code == 2
    assert "C compiler" in result.stderr


@pytest.mark.parametrize(
    ("recorded", "source"),
    [
        ('{"url": "file:///a%20b/nnapi", "dir_info": {"editable": true}}', "--editable '/a b/nnapi'"),
        ('{"url": "file:///dist/nnapi-1.tar.gz", "archive_info": {}}', "/dist/nnapi-1.tar.gz"),
        ('{"url": "https://example.org/nnapi", "vcs_info": {"vcs": "git"}}', "git+https://example.org/nnapi"),
        (None, "--no-binary nnapi nnapi"),
    ],
)
def test_says_how_to_install_from_where_it_came(
    recorded: str | None, source: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = SimpleNamespace(read_text=lambda name: recorded if name == "direct_url.json" else None)
    monkeypatch.setattr(installation, "FOLDER", tmp_path)
    monkeypatch.setattr(installation, "distribution", lambda name: told)
    assert str(installation.library_problem()).endswith(f" --no-cache-dir {source}")


def test_says_that_cffi_does_not_exist_for_a_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": 1}.get)
    monkeypatch.setattr(sys, "version_info", (3, 13))
    assert "needs cffi, which does not support this Python without a GIL" in str(installation.library_problem())
    monkeypatch.setattr(sys, "version_info", (3, 14))
    assert "needs cffi" not in str(installation.library_problem())


def test_says_that_the_bridge_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / installation.NAME).touch()
    monkeypatch.setattr(installation, "FOLDER", tmp_path)
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    problem = str(installation.library_problem())
    assert "no bridge" in problem
    assert "python3-dev" in problem
    assert " pip install --force-reinstall " in problem
