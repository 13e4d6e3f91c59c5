"""libneuralnetworks.so as a wheel carries it: it finds the Python of the environment that it lies in."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from nnapi.capi import installation
from nnapi.host.adb import LOCAL as AGENT
from tests.capi.wheel_cases import REPOSITORY, build, build_once

CLIENT = REPOSITORY / "tests" / "clients" / "devices.c"
COMPILER = shutil.which("gcc") or shutil.which("cc")
PYTHON = f"python{sysconfig.get_python_version()}"

pytestmark = pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem()))
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc versions its symbols")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is in a wheel."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(build_once(), folder, ignore=shutil.ignore_patterns("temporary"), dirs_exist_ok=True)
    ignored = shutil.ignore_patterns("*.so")  # with the compiled modules, which each copy would compile again
    return Path(shutil.copytree(REPOSITORY / "src" / "nnapi", folder / "nnapi", ignore=ignored, dirs_exist_ok=True))


@pytest.fixture(scope="module")
def client(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program linked to the library, without a word of where that is."""
    assert COMPILER
    program = tmp_path_factory.mktemp("client") / "client"
    options = ["-std=c11", "-D_GNU_SOURCE", f"-I{package / 'capi' / 'include'}", f"-L{library(package).parent}"]
    subprocess.run([COMPILER, *options, CLIENT, "-o", program, "-lneuralnetworks", "-lm"], check=True)
    return program


def library(package: Path) -> Path:
    return package / installation.library().relative_to(installation.include().parent.parent)


def environment(package: Path, folder: Path, *options: str) -> Path:
    """A virtual environment with the package; the packages that it needs are this interpreter's."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", *options, folder], check=True)
    packages = folder / "lib" / PYTHON / "site-packages"
    shutil.copytree(package, packages / "nnapi")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def run(client: Path, package: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    """Run the client with nothing in its environment but where the library is."""
    variables = {"LD_LIBRARY_PATH": str(library(package).parent), "PATH": path}
    return subprocess.run([client], env=variables, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@needs_compiler
def test_finds_the_environment_wherever_it_is(package: Path, client: Path, tmp_path: Path) -> None:
    made = environment(package, tmp_path / "made")
    packages = Path("lib", PYTHON, "site-packages", "nnapi")
    first = run(client, made / packages)
    assert first.returncode == 0, first.stderr
    moved = made.rename(tmp_path / "moved")
    second = run(client, moved / packages)
    assert second.returncode == 0, second.stderr
    assert "nnapi-reference" in first.stdout
    assert second.stdout == first.stdout


@pytest.mark.slow
@needs_compiler
def test_environment_of_copies(package: Path, client: Path, tmp_path: Path) -> None:
    made = environment(package, tmp_path / "made", "--copies")
    done = run(client, made / "lib" / PYTHON / "site-packages" / "nnapi")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@needs_compiler
def test_folder_of_no_environment(package: Path, client: Path, tmp_path: Path) -> None:
    """As `pip install --user` and Debian lay packages out: the python is on PATH, or nowhere."""
    elsewhere = Path(shutil.copytree(package, tmp_path / "nnapi"))
    done = run(client, elsewhere)
    assert done.returncode == 1
    assert f"no {PYTHON} is where this library is installed, nor on PATH; name one in NNAPI_PYTHON" in done.stderr
    made = environment(package, tmp_path / "made")
    inside = made / "lib" / PYTHON / "site-packages" / "nnapi"
    path = f"/nowhere::{made / 'bin'}"
    done = run(client, elsewhere, path)
    assert done.returncode == 1
    assert f"Python imports {inside / 'capi' / 'library.py'}, and this library belongs to another nnapi" in done.stderr
    shutil.rmtree(inside)
    inside.symlink_to(elsewhere)
    done = run(client, elsewhere, path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@needs_compiler
@needs_glibc
def test_asks_for_no_new_glibc(package: Path) -> None:
    """The wheel's tag is that of the newest symbol; NumPy's and LiteRT's wheels run with 2.28."""
    if shutil.which("objdump") is None:
        pytest.skip("no objdump")
    agent = package.parent / AGENT.relative_to(REPOSITORY / "src")
    for built in [agent, *package.parent.rglob("*.so")]:
        printed = subprocess.run(["objdump", "-T", built], capture_output=True, text=True, check=True).stdout
        versions = {(int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", printed)}
        assert max(versions) <= (2, 28), built


@needs_compiler
@needs_glibc
def test_reads_numbers_with_a_function_of_older_glibcs(tmp_path: Path) -> None:
    """The headers of glibc 2.38 and newer rename strtol; an older one links this only if the name is mapped back."""
    source = tmp_path / "numbers.c"
    source.write_text(
        '#include "glibc.h"\n'
        "long __isoc23_strtol(const char *, char **, int);\n"
        'int main(void) { return __isoc23_strtol("42", (void *)0, 10) != 42; }\n'
    )
    program = tmp_path / "numbers"
    subprocess.run([str(COMPILER), f"-I{REPOSITORY / 'native'}", source, "-o", program, "-ldl"], check=True)
    subprocess.run([program], check=True)
    assert b"__isoc23_strtol\0" not in program.read_bytes()


@pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="no musl-gcc")
def test_threads_of_a_program_on_musl_have_stacks_for_python(tmp_path: Path) -> None:
    """The 128 KB that musl gives them end in a segmentation fault."""
    source, program = tmp_path / "stacks.c", tmp_path / "stacks"
    source.write_text(
        '#define _GNU_SOURCE\n#include <pthread.h>\n#include <stdio.h>\n#include "interpreter.h"\n'
        'int main(void) { size_t size; pthread_attr_t given; load_libpython("/nowhere/python");\n'
        'pthread_getattr_default_np(&given); pthread_attr_getstacksize(&given, &size); printf("%zu", size); }\n'
    )
    macros = ['-DNNAPI_PYTHON_VERSION="3.0"', '-DNNAPI_LIBPYTHON="libpython3.0.so.1.0"']
    native = REPOSITORY / "native"
    command = ["musl-gcc", f"-I{native}", *macros, str(source), str(native / "interpreter.c"), "-o", str(program)]
    subprocess.run(command, check=True)
    assert int(subprocess.run([program], check=True, capture_output=True).stdout) == 8 << 20


@pytest.mark.slow
@needs_compiler
def test_knows_nothing_of_the_machine_that_built_it(package: Path) -> None:
    for built in package.parent.rglob("*.so"):
        text = built.read_bytes()
        assert sys.executable.encode() not in text
        assert f"{sysconfig.get_config_var('LIBDIR')}\0".encode() not in text, built


@pytest.mark.slow
def test_no_compiler_is_one_message(tmp_path: Path) -> None:
    printed = build(tmp_path, CC="/nowhere/cc")
    messages = [line for line in printed.splitlines() if "C compiler" in line]
    assert len(messages) == 1
    assert "no C compiler /nowhere/cc, so libneuralnetworks.so" in messages[0]
    assert not list(tmp_path.rglob("*.so"))


def test_each_python_has_its_own() -> None:
    assert installation.library().parent.name == sysconfig.get_config_var("SOABI")
