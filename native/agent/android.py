"""Build the agent for Android on aarch64: ``python native/agent/android.py FILE``.

If ``ANDROID_NDK`` is set, the NDK's compiler and libraries are used. Otherwise clang and lld link against stubs of
Android's libraries, which have the functions that bionic.h declares.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
INCLUDE = FOLDER.parent.parent / "src" / "nnapi" / "capi" / "include"
TARGET = "--target=aarch64-linux-android29"
COMPILE = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIE", "-fstack-protector-strong", f"-I{INCLUDE}"]
LINK = ["-pie", "-Wl,-z,max-page-size=16384", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,--build-id=none", "-s"]
WITHOUT_NDK = ["-nostdlib", "-fuse-ld=lld", "-Wl,-dynamic-linker,/system/bin/linker64"]


def find_compiler() -> str | None:
    """Return the NDK's clang, or the system's if it has lld; otherwise None."""
    if ndk := os.environ.get("ANDROID_NDK"):
        return next(map(str, Path(ndk).glob("toolchains/llvm/prebuilt/*/bin/clang")), None)
    return shutil.which("clang") if shutil.which("ld.lld") else None


def can_build() -> bool:
    """Return whether clang can make a library for Android's processor: it may lack that target or a linker."""
    if os.environ.get("ANDROID_NDK") or not (compiler := find_compiler()):
        return bool(find_compiler())
    try:
        with tempfile.TemporaryDirectory() as scratch:
            _make_stub(compiler, scratch, "libc.so", ["exit"])
    except subprocess.CalledProcessError:
        return False
    return True


def build(file: Path) -> None:
    """Build the agent. Raises CalledProcessError if the compiler refuses."""
    compiler = find_compiler()
    assert compiler
    sources = sorted(map(str, FOLDER.glob("*.c")))
    if os.environ.get("ANDROID_NDK"):
        _run(compiler, TARGET, *COMPILE, *sources, *LINK, "-ldl", "-o", str(file))
        return
    with tempfile.TemporaryDirectory() as scratch:
        stubs = [_make_stub(compiler, scratch, name, symbols) for name, symbols in list_symbols().items()]
        flags = ["-nostdlibinc", "-fno-builtin", *WITHOUT_NDK]
        _run(compiler, TARGET, *COMPILE, *flags, *sources, *LINK, *stubs, "-o", str(file))


def list_symbols() -> dict[str, list[str]]:
    """Return the functions and variables that bionic.h declares, by library."""
    sections = re.split(r"/\* (lib\w+\.so) \*/", (FOLDER / "bionic.h").read_text(encoding="utf-8"))[1:]
    names = re.compile(r"\*?(\w+)\([^;]*;$|\*(\w+)[,;]", re.MULTILINE)
    found = {}
    for library, text in zip(sections[::2], sections[1::2], strict=True):
        lines = [line.replace("void (*signal(", "void signal(") for line in text.splitlines()]
        found[library] = [a or b for line in lines for a, b in names.findall(line)]
    return found


def _make_stub(compiler: str, folder: str, name: str, symbols: list[str]) -> str:
    source, made = Path(folder, f"{name}.c"), str(Path(folder, name))
    source.write_text("".join(f"void {symbol}(void) {{}}\n" for symbol in symbols), encoding="utf-8")
    flags = ["-w", "-fno-builtin", "-ffreestanding", "-shared", "-nostdlib", "-fuse-ld=lld", f"-Wl,-soname,{name}"]
    _run(compiler, TARGET, *flags, str(source), "-o", made)
    return made


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
