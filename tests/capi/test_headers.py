"""Each header is enough for a program that includes only it, by the names of the NDK and of AOSP."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nnapi.capi import installation
from tools.size import REPOSITORY

COMPILER = shutil.which("gcc") or shutil.which("cc")
CPP = shutil.which("g++") or shutil.which("c++")
PROGRAMS = {
    "android/NeuralNetworks.h": "return ANeuralNetworks_getRuntimeFeatureLevel() != ANEURALNETWORKS_FEATURE_LEVEL_8;",
    "android/NeuralNetworksTypes.h": "ANeuralNetworksOperandType type = {ANEURALNETWORKS_INT32, 0, 0, 0, 0};"
    " return type.type != 1;",
    "android/hardware_buffer.h": "AHardwareBuffer_Desc wanted = {16, 1, 1, AHARDWAREBUFFER_FORMAT_BLOB, 0, 0, 0, 0};"
    " return wanted.width != 16;",
    "android/sharedmem.h": "int fd = ASharedMemory_create(0, 8); return ASharedMemory_getSize(fd) != 8;",
    "android/trace.h": "return ATrace_isEnabled();",
    "NeuralNetworks.h": "return ANeuralNetworks_getDefaultLoopTimeout() == 0;",
    "NeuralNetworksTypes.h": "ANeuralNetworksDevice *device = 0; AHardwareBuffer *buffer = 0;"
    " return device || buffer || ANEURALNETWORKS_ADD;",
    "NeuralNetworksExtensions.h": "return ANeuralNetworksDevice_getExtensionSupport == 0;",
    "NeuralNetworksSupportLibraryImpl.h": "NnApiSLDriverImplFL8 given = {0};"
    " NnApiSLDriverImpl *base = &given.base.base;"
    " given.base.ANeuralNetworksCompilation_free = &ANeuralNetworksCompilation_free;"
    " given.ANeuralNetworksExecution_addExtensionAttribute = &ANeuralNetworksExecution_addExtensionAttribute;"
    " base->implFeatureLevel = ANEURALNETWORKS_FEATURE_LEVEL_7;"
    " return ANeuralNetworks_getSLDriverImpl()->implFeatureLevel != base->implFeatureLevel;",
}
needs_library = pytest.mark.skipif(
    installation.library_problem() is not None, reason=str(installation.library_problem())
)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def compile_and_run(compiler: str, source: Path, *options: str) -> int:
    program, folder = source.with_suffix(""), installation.library().parent
    linked = [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lneuralnetworks"]
    strict = ["-Wall", "-Wextra", "-Werror", "-Wno-address", f"-I{installation.include()}"]
    subprocess.run([compiler, *options, *strict, source, "-o", program, *linked], check=True)
    return subprocess.run([program], timeout=300).returncode


def test_every_header_has_a_program() -> None:
    folder = installation.include()
    assert PROGRAMS.keys() == {str(path.relative_to(folder)) for path in folder.rglob("*.h")}


@needs_library
@needs_compiler
@pytest.mark.parametrize("header", PROGRAMS)
def test_a_program_includes_one_header(header: str, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(f"#include <{header}>\nint main(void) {{ {PROGRAMS[header]} }}\n")
    assert compile_and_run(str(COMPILER), source, "-std=c99") == 0


@needs_library
@pytest.mark.skipif(CPP is None, reason="no C++ compiler")
def test_a_program_in_cpp_chooses_a_table_by_its_level(tmp_path: Path) -> None:
    """As AOSP's SupportLibrary.h: a variant of two tables, each of which begins with that of level 5."""
    source = tmp_path / "program.cpp"
    source.write_text(
        "#include <NeuralNetworksSupportLibraryImpl.h>\n#include <NeuralNetworksTypes.h>\n#include <variant>\n"
        "int main() {\n"
        "    std::variant<NnApiSLDriverImplFL5, NnApiSLDriverImplFL8> table =\n"
        "        *reinterpret_cast<NnApiSLDriverImplFL5*>(ANeuralNetworks_getSLDriverImpl());\n"
        "    auto* found = std::visit([](auto&& one) { return (NnApiSLDriverImplFL5*)&one; }, table);\n"
        "    return found->ANeuralNetworks_getRuntimeFeatureLevel() != ANEURALNETWORKS_FEATURE_LEVEL_8;\n"
        "}\n"
    )
    assert compile_and_run(str(CPP), source, "-std=c++17") == 0


@needs_library
@needs_compiler
def test_shared_memory_becomes_read_only(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text("""
#include <android/sharedmem.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    int fd = ASharedMemory_create("values", 4096);
    char *before = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (before == MAP_FAILED || ASharedMemory_setProt(fd, PROT_READ | PROT_WRITE)) return 1;
    if (ASharedMemory_setProt(fd, PROT_READ) || ASharedMemory_setProt(fd, PROT_READ)) return 2;
    before[0] = 42;
    const char *after = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (after == MAP_FAILED || after[0] != 42) return 3;
    if (mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED) return 4;
    if (ASharedMemory_setProt(fd, PROT_READ | PROT_WRITE) != -1 || errno != EINVAL) return 5;
    return ASharedMemory_setProt(-1, PROT_READ) != -1 || errno != EBADF;
}
""")
    assert compile_and_run(str(COMPILER), source, "-std=gnu99") == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no cc")
def test_the_documented_line_compiles_the_agent(tmp_path: Path) -> None:
    (line,) = re.findall(r"`(cc [^`]*native/agent[^`]*)`", (REPOSITORY / "docs" / "phones.md").read_text())
    line = line.replace("-o nnapi-agent", f"-o {tmp_path / 'agent'}")
    assert str(tmp_path) in line
    subprocess.run(line, shell=True, cwd=REPOSITORY, check=True)
    done = subprocess.run([tmp_path / "agent", "--help"], capture_output=True, text=True)
    assert "--library" in done.stdout + done.stderr
