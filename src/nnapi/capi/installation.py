"""The location of libneuralnetworks.so, the variables with which clients find it, and obstacles to that."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distribution, version
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

FOLDER = Path(__file__).resolve().parent / str(sysconfig.get_config_var("SOABI"))
"""The library's folder. Each Python has its own, because one checkout may be installed for several."""

HEADERS = Path(__file__).resolve().parent / "include"
NAME = "libneuralnetworks.so"
SYSTEM = (Path("/lib"), Path("/usr/lib"), Path("/lib64"), Path("/usr/lib64"))


def library() -> Path:
    """The library, whether it is there or not."""
    return FOLDER / NAME


def delegate() -> Path:
    """The delegate for LiteRT, whether it is there or not."""
    return FOLDER / "libnnapi_delegate.so"


def include() -> Path:
    """The folder of the headers."""
    return HEADERS


def library_problem() -> str | None:
    """Why the library cannot be used, and what would help; None where it can."""
    if not library().is_file():
        return (
            f"{library()} has not been built: no C compiler was found when the package was installed. "
            "Install one (gcc or clang), and the package again: "
            f"pip install --force-reinstall --no-deps --no-cache-dir {_source()}"
        )
    if find_spec("nnapi.capi._bridge") is None:
        return (
            f"{FOLDER} holds no bridge for Python {sysconfig.get_python_version()}: it was built for another Python, "
            "or its build failed. Install the package again."
        )
    return None


def _source() -> str:
    """Return the source of pip's installation, as an argument for pip: a folder, a file, a URL, or else the name."""
    recorded = json.loads(distribution("nnapi").read_text("direct_url.json") or "{}")
    if not recorded:
        return "--no-binary nnapi nnapi"
    repository = recorded.get("vcs_info", {}).get("vcs")
    url = f"{repository}+{recorded['url']}" if repository else unquote(recorded["url"].removeprefix("file://"))
    return ("--editable " if recorded.get("dir_info", {}).get("editable") else "") + shlex.quote(url)


def environment() -> dict[str, str]:
    """The variables by which programs find the library: by its bare name, and as PyTorch's tests do."""
    present = os.environ.get("LD_LIBRARY_PATH", "")
    others = [part for part in present.split(":") if part and Path(part).resolve() != FOLDER]
    return {"LD_LIBRARY_PATH": ":".join([str(FOLDER), *others]), "LIBNEURALNETWORKS_PATH": str(library())}


def find_earlier_libraries() -> list[Path]:
    """Other libraries of the same name that a program would be given before this one, the first to win first."""
    found = []
    for path in _search_order():
        if path.exists():
            if path.resolve() == library():
                break
            found.append(path)
    return found


def _search_order() -> Iterator[Path]:
    """Return where the dynamic linker searches the name: the environment, its cache, the system's folders."""
    for part in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if part:
            yield Path(part) / NAME
    yield from _read_linker_cache()
    for folder in SYSTEM:
        yield folder / NAME


def _read_linker_cache() -> list[Path]:
    """The paths that the linker's cache has for the name; empty if it cannot be read."""
    for ldconfig in ("/sbin/ldconfig", "/usr/sbin/ldconfig"):
        if Path(ldconfig).is_file():
            listed = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=False).stdout
            return [Path(path) for path in re.findall(rf"^\s*{re.escape(NAME)} .*=> (.+)$", listed, re.MULTILINE)]
    return []


def cflags() -> list[str]:
    """The compiler's options for finding the headers."""
    return [f"-I{include()}"]


def libs() -> list[str]:
    """The linker's options, with which the program also finds the library when it runs."""
    return [f"-L{FOLDER}", f"-Wl,-rpath,{FOLDER}", "-lneuralnetworks"]


def pkg_config() -> str:
    """The text of a pkg-config file for the library as it is installed."""
    return f"""\
Name: neuralnetworks
Description: The Android Neural Networks API, feature level 8
Version: {version("nnapi")}
Cflags: {shlex.join(cflags())}
Libs: {shlex.join(libs())}
"""
