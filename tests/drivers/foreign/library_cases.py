"""Small NNAPI libraries in C that take everything, lie, hang, die or lack functions."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from nnapi.capi import installation
from tools.size import REPOSITORY

COMPILER = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
needs_library = pytest.mark.skipif(installation.library_problem() is not None, reason="the C library is not built")

PREFIX = "ANeuralNetworks"
AGENT_SOURCES = REPOSITORY / "native" / "agent"
AGENT_FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", f"-I{installation.include()}", f"-I{AGENT_SOURCES.parent}"]
"""Words for the compiler, as in setup.py."""
FUNCTIONS = {
    name: int(level)
    for level, name in re.findall(r"F\((\d), (\w+)\)", (AGENT_SOURCES / "functions.h").read_text(encoding="utf-8"))
}
"""The feature level that requires each function that an agent calls, 0 for none, by names without the prefix."""
HEADER = (installation.include() / "NeuralNetworks.h").read_text(encoding="utf-8")
SUPPORT_LIBRARY = (installation.include() / "NeuralNetworksSupportLibraryImpl.h").read_text(encoding="utf-8")
TABLE = re.findall(r"^    .* \(\*(\w+)\)\(", SUPPORT_LIBRARY.partition("struct NnApiSLDriverImplFL8")[0], re.MULTILINE)
"""The pointers of a support library with level 7, in their order."""

DEVICE = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int made;
int ANeuralNetworks_getDeviceCount(uint32_t* n) { COUNT *n = 1; return 0; }
int ANeuralNetworks_getDevice(uint32_t i, void** d) { *d = (void*)1; return 0; }
int ANeuralNetworksDevice_getName(void* d, const char** s) { *s = "chip"; return 0; }
int ANeuralNetworksDevice_getVersion(void* d, const char** s) { *s = "0.9"; return 0; }
int ANeuralNetworksDevice_getType(void* d, int32_t* t) { *t = 4; return 0; }
int ANeuralNetworksDevice_getFeatureLevel(void* d, int64_t* level) { *level = LEVEL; return 0; }
"""
TAKING = {name: "return 0;" for name, level in FUNCTIONS.items() if level and not name.endswith("_free")} | {
    "Model_create": "*(void**)a = &made; return 0;",
    "Model_getSupportedOperationsForDevices": "*(_Bool*)d = 1; return 0;",
    "Compilation_createForDevices": "*(void**)d = &made; return 0;",
    "Execution_create": "*b = &made; return 0;",
}
"""Bodies of a library that takes everything, and computes nothing."""

TRIVIAL = "#include <dlfcn.h>\n#include <stdlib.h>\nint main(void) { free(malloc(1)); return !dlopen(0, RTLD_NOW); }\n"


def can_compile(compiler: str | None, *words: str, emulator: Sequence[str] = ()) -> bool:
    """Return whether a compiler makes programs that run here: it may lack a sanitizer, a linker or a C library."""
    if compiler is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/program"
        command = [compiler, *words, "-x", "c", "-", "-o", program, "-ldl"]
        made = subprocess.run(command, input=TRIVIAL, text=True, capture_output=True, check=False)
        started = [*emulator, program]
        return not made.returncode and not subprocess.run(started, capture_output=True, check=False).returncode


def build_agent(compiler: str, made: Path, *words: str) -> Path:
    """Compile the agent. CalledProcessError if its source is at fault."""
    sources = map(str, sorted(AGENT_SOURCES.glob("*.c")))
    subprocess.run([compiler, *words, *AGENT_FLAGS, *sources, "-o", str(made), "-ldl"], check=True)
    return made


def build(folder: Path, level: str = "29", count: str = "", **bodies: str) -> str:
    """A library with one device and the functions up to level 3, which answer with 7 unless a body says otherwise."""
    return build_source(folder, describe_names(level, count, 3, "", bodies))


def build_level(folder: Path, highest: int, bodies: Mapping[str, str]) -> str:
    """A library with the functions up to a level, which says that it has level 8."""
    return build_source(folder, describe_names("1000008", "", highest, "", bodies))


def describe_names(level: str, count: str, highest: int, storage: str, bodies: Mapping[str, str]) -> str:
    parts = [DEVICE.replace("LEVEL", level).replace("COUNT", count).replace("\nint ", f"\n{storage}int ")]
    for name, needed in FUNCTIONS.items():
        if PREFIX + name + "(" not in DEVICE and (0 < needed <= highest or name in bodies):
            result = "void" if name.endswith("_free") else "int"
            body = bodies.get(name, "" if result == "void" else "return 7;")
            parts.append(f"{storage}{result} {PREFIX}{name}(void* a, void** b, void* c, void* d, void* e) {{ {body} }}")
    return "\n".join(parts)


def build_source(folder: Path, source: str, *words: str) -> str:
    made = folder / "libneuralnetworks.so"
    made.unlink(missing_ok=True)  # an agent may have mapped it
    made.write_bytes(compile_library(source, *words))
    return str(made)


@cache
def compile_library(source: str, *words: str) -> bytes:
    """Return the library's file; each is compiled once."""
    assert COMPILER
    include = f"-I{installation.include()}"
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "libneuralnetworks.so")
        command = [COMPILER, "-shared", "-fPIC", "-w", include, *words, "-x", "c", "-", "-o", str(made)]
        subprocess.run(command, input=source, text=True, check=True)
        return made.read_bytes()


def build_adder(folder: Path, *words: str) -> str:
    """The library of adder.c."""
    return build_source(folder, Path(__file__).with_name("adder.c").read_text(encoding="utf-8"), *words)
