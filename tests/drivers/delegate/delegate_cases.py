"""The small delegate that tests build."""

import shutil
import subprocess
from pathlib import Path

COMPILER = shutil.which("gcc") or shutil.which("cc")
HERE = Path(__file__).parent
NATIVE = Path(__file__).resolve().parents[3] / "native"


def build(out: Path, *words: str, source: str = "") -> str:
    assert COMPILER
    files = ["-x", "c", "-"] if source else [str(HERE / "small.c")]
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-w", f"-I{NATIVE}", *files, "-o", str(out), *words]
    subprocess.run(command, input=source, text=True, check=True)
    return str(out)
