"""The requirements that setup.py states on other Pythons."""

import email
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
ELSEWHERE = """
import runpy, sys, sysconfig
from collections import namedtuple

import packaging.utils, packaging.version, setuptools.command.egg_info  # before the version is another

_, abi, version, folder = sys.argv
given = sysconfig.get_config_var
told = {"SOABI": abi, "Py_GIL_DISABLED": int("t-" in abi)}
sysconfig.get_config_var = lambda name: told[name] if name in told else given(name)
Version = namedtuple("Version", "major minor micro releaselevel serial")
sys.version_info = Version(*map(int, version.split(".")), 0, "final", 0)
sys.argv = ["setup.py", "-q", "egg_info", "--egg-base", folder]
runpy.run_path("setup.py", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("abi", "version", "has_wheels", "cffi"),
    [
        ("cpython-311-x86_64-linux-gnu", "3.11", True, ["cffi<3,>=1.17"]),
        ("cpython-311-arm-linux-gnueabihf", "3.11", False, ["cffi<3,>=1.17"]),
        ("cpython-312-x86_64-linux-musl", "3.12", False, ["cffi<3,>=1.17"]),
        ("cpython-313t-x86_64-linux-gnu", "3.13", False, []),
        ("cpython-314-x86_64-linux-gnu", "3.14", True, ["cffi<3,>=1.17"]),
        ("cpython-314t-x86_64-linux-gnu", "3.14", False, ["cffi<3,>=2"]),
        ("cpython-315-x86_64-linux-gnu", "3.15", False, ["cffi<3,>=1.17"]),
    ],
)
def test_only_packages_that_exist_there_are_needed(
    abi: str, version: str, has_wheels: bool, cffi: list[str], tmp_path: Path
) -> None:
    """No marker tells a Python of 32 bits on a kernel of 64, musl, or a Python without the GIL. Installing would fail
    there."""
    command = [sys.executable, "-W", "ignore", "-c", ELSEWHERE, abi, version, tmp_path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)  # type: ignore[arg-type]
    metadata = email.message_from_string((tmp_path / "nnapi.egg-info" / "PKG-INFO").read_text())
    there = {"python_version": version, "sys_platform": "linux", "platform_machine": "x86_64", "extra": ""}
    requirements = map(Requirement, metadata.get_all("Requires-Dist", []))
    needed = [str(each) for each in requirements if each.marker is None or each.marker.evaluate(there)]
    assert "numpy<3,>=2" in needed
    assert any(line.startswith("ai-edge-litert") for line in needed) == has_wheels
    assert [line for line in needed if line.startswith("cffi")] == cffi
    assert "requires-dist" in metadata.get_all("Dynamic", [])  # so nobody takes an sdist's word for it


@pytest.mark.slow
def test_sources_that_are_used_where_they_lie_are_compiled(tmp_path: Path) -> None:
    """Else every process compiles them anew where bytecode is not written."""
    for folder in ("src/nnapi", "nnapi/capi"):  # a package of one module, and where no library is put
        (tmp_path / folder).mkdir(parents=True)
    source = tmp_path / "src" / "nnapi" / "module.py"
    source.touch()
    command = [sys.executable, "-W", "ignore", ROOT / "setup.py", "-q", "build_ext", "--inplace"]
    without_compiler = {**os.environ, "CC": "no-compiler", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, env=without_compiler)  # type: ignore[arg-type]
    assert Path(cache_from_source(source)).exists()


@pytest.mark.slow
def test_the_file_that_starts_drop_in_replacements_lies_beside_the_package(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert "NNAPI_DROPIN" in (tmp_path / "nnapi.pth").read_text()
    assert (tmp_path / "nnapi" / "drop_in.py").is_file()


@pytest.mark.slow
def test_a_build_contains_nothing_of_an_earlier_one(tmp_path: Path) -> None:
    """Else a wheel that was built without gcc has the libraries of an earlier build, and removed modules stay."""
    base, chosen = tmp_path / "build", tmp_path / "chosen"
    command = [sys.executable, "-W", "ignore", "setup.py", "-q", "build", "--build-base", str(base)]
    without_compiler = {**os.environ, "CC": "no-compiler"}
    (target,) = _list_packages(base, command, without_compiler)
    old = [target / "removed.py", target / "capi" / "abi" / "libneuralnetworks.so"]
    for file in (*old, chosen / "kept.txt"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert _list_packages(base, command, without_compiler) == [target]
    assert not any(file.exists() for file in old)
    subprocess.run(
        [*command, "--build-lib", str(chosen)], cwd=ROOT, check=True, capture_output=True, env=without_compiler
    )
    assert (chosen / "kept.txt").exists()


def _list_packages(base: Path, command: list[str], environment: dict[str, str]) -> list[Path]:
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=environment)
    return [path.parent for path in base.glob("lib*/nnapi/__init__.py")]


@pytest.mark.slow
def test_the_page_of_the_package_has_no_dead_links(tmp_path: Path) -> None:
    """The index renders it elsewhere, where no file of the repository exists."""
    command = [sys.executable, "-W", "ignore", "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    metadata = email.message_from_string((tmp_path / "nnapi.egg-info" / "PKG-INFO").read_text())
    assert metadata["Description-Content-Type"] == "text/markdown"
    page = MarkdownIt("gfm-like", {"linkify": False}).render(str(metadata.get_payload()))
    readme = MarkdownIt("gfm-like", {"linkify": False}).render((ROOT / "README.md").read_text())
    assert list_targets(readme)
    assert [each for each in list_targets(page) if not each.startswith("https://")] == []
    for mark in ("](", "![", "[docs]"):
        assert mark not in page
    assert page.count("<table>") == readme.count("<table>") > 3
    assert page.count("<tr>") == readme.count("<tr>")


def list_targets(page: str) -> list[str]:
    """Return the targets of all links and pictures."""
    return re.findall(r'(?:href|src)="([^"]*)"', page)


def test_the_extra_for_ray_installs_the_client_of_remote_clusters() -> None:
    """Without it, ``--on ray://HOST:PORT`` cannot connect."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [each.partition(">")[0] for each in extras["ray"]] == ["ray[client]"]
