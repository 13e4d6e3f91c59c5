"""The location of libneuralnetworks.so, and how clients find it."""

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distribution, version
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

FOLDER = Path(__file__).resolve().parent / str(sysconfig.get_config_var("SOABI"))
"""The library's folder; each Python has its own, because one checkout may be installed for several."""

NAME = "libneuralnetworks.so"
PIP_INSTALL = "pip install --force-reinstall --no-deps --no-cache-dir"
SYSTEM = (Path("/lib"), Path("/usr/lib"), Path("/lib64"), Path("/usr/lib64"))


def library() -> Path:
    """Return the library's path, even if it does not exist."""
    return FOLDER / NAME


def delegate() -> Path:
    """Return the path of LiteRT's delegate, even if it does not exist."""
    return FOLDER / "libnnapi_delegate.so"


def include() -> Path:
    """Return the folder of the headers."""
    return Path(__file__).resolve().parent / "include"


def library_problem() -> str | None:
    """Return the reason why the library is unusable, with its repair; None if it is usable."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info < (3, 14):
        return f"{NAME} needs cffi, which does not support this Python without a GIL: use Python 3.14 or newer"
    if not library().is_file():
        return (
            f"{library()} has not been built: pip found no C compiler. "
            f"Install one (gcc or clang), and the package again: {_command()}"
        )
    if find_spec("nnapi.capi._bridge") is None:
        return (
            f"{FOLDER} holds no bridge for Python {sysconfig.get_python_version()}: it was built for another Python, "
            "or without Python's headers (Python.h). "
            f"Install them (Debian, Ubuntu: apt install python3-dev), and the package again: {_command()}"
        )
    return None


def _command() -> str:
    """Return the command that builds and installs the package again, from the source that pip used."""
    recorded = json.loads(distribution("nnapi").read_text("direct_url.json") or "{}")
    if not recorded:
        return f"{PIP_INSTALL} --no-binary nnapi nnapi"
    repository = recorded.get("vcs_info", {}).get("vcs")
    url = f"{repository}+{recorded['url']}" if repository else unquote(recorded["url"].removeprefix("file://"))
    editable = ["--editable"] if recorded.get("dir_info", {}).get("editable") else []
    return " ".join([PIP_INSTALL, *editable, shlex.quote(url)])


def environment() -> dict[str, str]:
    """Return the variables by which programs find the library, among them PyTorch's tests."""
    present = os.environ.get("LD_LIBRARY_PATH", "")
    others = [part for part in present.split(":") if part and Path(part).resolve() != FOLDER]
    return {"LD_LIBRARY_PATH": ":".join([str(FOLDER), *others]), "LIBNEURALNETWORKS_PATH": str(library())}


def find_earlier_libraries() -> list[Path]:
    """Return other libraries of the same name that programs load instead of this one, first match first."""
    found = []
    for path in _search_order():
        if path.exists():
            if path.resolve() == library():
                break
            found.append(path)
    return found


def _search_order() -> Iterator[Path]:
    for part in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if part:
            yield Path(part) / NAME
    yield from _read_linker_cache()
    for folder in SYSTEM:
        yield folder / NAME


def _read_linker_cache() -> list[Path]:
    """Return the paths for the library's name in the linker's cache; [] if it cannot be read."""
    for ldconfig in ("/sbin/ldconfig", "/usr/sbin/ldconfig"):
        if Path(ldconfig).is_file():
            listed = subprocess.run(
                [ldconfig, "-p"], capture_output=True, text=True, errors="surrogateescape", check=False
            ).stdout
            return [Path(path) for path in re.findall(rf"^\s*{re.escape(NAME)} .*=> (.+)$", listed, re.MULTILINE)]
    return []


def cflags() -> list[str]:
    """Return the compiler options for the headers."""
    return [f"-I{include()}"]


def libs() -> list[str]:
    """Return the linker options, with the folder for loading at run time."""
    return [f"-L{FOLDER}", f"-Wl,-rpath,{FOLDER}", "-lneuralnetworks"]


def pkg_config() -> str:
    """Return the text of a pkg-config file for the installed library."""
    return f"""\
Name: neuralnetworks
Description: The Android Neural Networks API, feature level 8
Version: {version("nnapi")}
Cflags: {shlex.join(cflags())}
Libs: {shlex.join(libs())}
"""
