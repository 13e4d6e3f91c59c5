"""The agent for Android: the file, and what it does on an emulated processor, with a C library of Android's names."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nnapi.capi import installation
from nnapi.contract.driver import OpenOptions, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.drivers.foreign import transports
from tests.drivers.foreign.agent_cases import add_constant, load_driver
from tests.drivers.foreign.library_cases import AGENT_SOURCES, build_agent, can_compile

sys.path.append(str(AGENT_SOURCES))
android = __import__("android")

CROSS, EMULATOR = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
ROOT = "/usr/aarch64-linux-gnu"
EMULATE = [str(EMULATOR), "-L", ROOT]
needs_emulator = pytest.mark.skipif(
    not (EMULATOR and can_compile(CROSS, emulator=EMULATE)),
    reason="no qemu-aarch64, or no compiler for aarch64 whose programs run there",
)
needs_android = pytest.mark.skipif(not android.can_build(), reason="no clang for aarch64 with lld, and no NDK")

SHIM = """
#include <errno.h>
#include <stdlib.h>
int *__errno(void) { return &errno; }
void __libc_init(long *raw, void (*none)(void), int (*start)(int, char **, char **), const void *functions) {
    exit(start(*raw, (char **)raw + 1, NULL));
}
"""


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("android") / "nnapi-agent"
    android.build(made)
    return made


@needs_android
@pytest.mark.skipif(not shutil.which("readelf"), reason="no readelf")
def test_the_file_is_one_for_android(agent: Path) -> None:
    told = subprocess.run(["readelf", "-hldW", str(agent)], capture_output=True, text=True, check=True).stdout
    assert "Position-Independent Executable" in told
    assert "AArch64" in told
    assert "[Requesting program interpreter: /system/bin/linker64]" in told
    assert sorted(re.findall(r"NEEDED.*\[(.*)\]", told)) == ["libc.so", "libdl.so"]
    alignments = re.findall(r"^  LOAD .*(0x\w+)$", told, re.MULTILINE)
    assert alignments
    assert all(int(number, 16) % (16 << 10) == 0 for number in alignments)
    assert "BIND_NOW" in told


def compile_for_aarch64(made: Path, source: str, *words: str) -> None:
    command = [str(CROSS), "-shared", "-fPIC", "-w", f"-I{installation.include()}", *words, "-x", "c", "-"]
    subprocess.run([*command, "-o", str(made)], input=source, text=True, check=True)


@pytest.fixture
def emulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the libraries of an emulated phone, for the address emulated:AGENT."""
    compile_for_aarch64(tmp_path / "libc.so", SHIM, "-Wl,-soname,libc.so")
    compile_for_aarch64(tmp_path / "libdl.so", "", "-Wl,-soname,libdl.so")
    adder = Path(__file__).with_name("adder.c").read_text(encoding="utf-8")
    compile_for_aarch64(tmp_path / "libneuralnetworks.so", adder)
    linker = f"{ROOT}/lib/ld-linux-aarch64.so.1"
    start = [*EMULATE, linker, "--library-path", f"{tmp_path}:{ROOT}/lib"]
    monkeypatch.setitem(transports.CONNECT, "emulated", lambda path: transports.start([*start, path, "--stdio"]))
    return tmp_path


@needs_android
@needs_emulator
def test_it_computes_on_an_emulated_processor(agent: Path, emulated: Path) -> None:
    check_computes(agent)


@needs_emulator
def test_the_agent_for_linux_computes_there_too(emulated: Path) -> None:
    check_computes(build_agent(str(CROSS), emulated / "nnapi-agent"))


def check_computes(agent: Path) -> None:
    driver = load_driver("phone", f"emulated:{agent}", 0)
    assert driver.info[:2] == ("phone-adder", "1")
    prepared = driver.prepare(add_constant(), PrepareOptions())
    given = np.arange(64, dtype=np.float32)
    for session in (prepared, open_handle(prepared, OpenOptions(exclusive=True))):
        np.testing.assert_array_equal(session.execute(Request([given])).outputs[0], given + 1)
