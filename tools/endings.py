"""Run every command with `| head -1`, with Ctrl-C, on a full disk and without a cache; print a table of its endings.

    python -m tools.endings [COMMAND…]

The full disk is a small tmpfs, which only root may mount; for others, outputs are links to /dev/full. The exit code is
1 if an ending is wrong: another exit code than docs/automation.md says, more than a second from Ctrl-C to the end, a
file or folder that is left, or an error that does not name the file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nnapi.cli.failure import ExitCode
from tools.size import REPOSITORY

DIGITS = REPOSITORY / "examples" / "digits"
DELAYS = 0.3, 0.8, 1.5
"""Seconds from the start of a command to Ctrl-C. Before, Python itself may be starting."""
LONGEST = 1.0
FULL = "No space left on device"
NO_CACHE = "/proc/none"
LINES = {
    "bench run": "bench m.tflite --against none --rounds 200 --html OUT.html -o OUT.json",
    "bench diff": "bench diff b.json b.json",
    "cache list": "cache list",
    "cache prune": "cache prune",
    "check": "check --filter RELU6 -d nnapi-reference -o OUT.json",
    "check diff": "check diff c.json c.json",
    "check page": "check page c.json -o OUT.html",
    "check --random": "check --random --seconds 5 -d nnapi-reference -v -o OUT.json",
    "compare": "compare m.tflite -d nnapi-reference -d nnapi-reference --all --html OUT.html",
    "devices": "devices --costs",
    "devices --matrix": "devices --matrix m.csv --save-profile OUT.toml",
    "explain": "explain m.tflite --html OUT.html",
    "export .tflite": "export m.tflite -o OUT.tflite",
    "export .onnx": "export m.tflite -o OUT.onnx",
    "golden": "golden m.tflite -o FOLDER",
    "info": "info m.tflite",
    "lib": "lib --cflags --libs",
    "migrate": "migrate m.tflite -o FOLDER",
    "quantize": "quantize f.tflite --scheme dynamic -o OUT.tflite",
    "run": "run m.tflite x.npy",
    "run --json": "run m.tflite x.npy --json",
    "run --jsonl": "run m.tflite x.npy --jsonl OUT.jsonl",
    "run -o": "run m.tflite x.npy -o FOLDER",
    "serve": "serve socket",
    "strace": "strace -o OUT.txt -- true",
    "trace record": "trace m.tflite -o OUT.html --runs 500",
    "trace parse": "trace parse t.html --print-detail",
    "tune": "tune m.tflite",
    "view": "view m.tflite --node-data OUT.json -o OUT.html",
    "phone connect": "phone connect none",
}
"""A line for each command; OUT is a file, FOLDER a folder on the full disk."""
WITHOUT_END = ("serve",)
"""Commands that end only when they are interrupted."""
WITHOUT_DEVICE = ("phone connect",)
NEEDS_CACHE = ("tune",)
"""Commands whose purpose is to write to the cache."""


class Ending(NamedTuple):
    """The exit code and standard error of a command, the seconds since it was interrupted, and what it left."""

    code: int
    error: str
    seconds: float = 0.0
    left: tuple[str, ...] = ()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"by default all: {', '.join(LINES)}")
    wanted = parser.parse_args(arguments).commands or list(LINES)
    wrong: list[str] = []
    print("| command | `\\| head -1` | Ctrl-C | full disk | unwritable cache |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, full_disk(Path(folder)) as full:
        prepare(Path(folder))
        for name in wanted:
            cells = describe(name, Path(folder), full, wrong)
            print(f"| `{name}` | {' | '.join(cells)} |", flush=True)
    print(*wrong, sep="\n", file=sys.stderr)
    return bool(wrong)


def prepare(folder: Path) -> None:
    """Write the inputs of the commands."""
    shutil.copy(DIGITS / "digits_quant.tflite", folder / "m.tflite")
    shutil.copy(DIGITS / "digits_float.tflite", folder / "f.tflite")
    np.save(folder / "x.npy", np.zeros((1, 8, 8, 1), np.int8))
    (folder / "m.csv").write_text("operation,type,supported\nCONV_2D,TENSOR_FLOAT32,yes\n")
    for line in (
        "bench m.tflite -d nnapi-reference --against none --rounds 1 --only-latency -o b.json",
        "check --filter RELU6 --variants plain -d nnapi-reference -o c.json",
        "trace m.tflite -o t.html",
    ):
        subprocess.run(command(line), cwd=folder, capture_output=True, check=True)


@contextmanager
def full_disk(folder: Path) -> Iterator[Path]:
    """Yield a folder on a full disk, or one whose files are links to /dev/full."""
    full = folder / "full"
    full.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", full], capture_output=True).returncode:
        for suffix in ("html", "json", "jsonl", "onnx", "tflite", "toml", "txt"):
            (full / f"out.{suffix}").symlink_to("/dev/full")
        yield full
        return
    try:
        (full / "filler").write_bytes(bytes(4096))
        yield full
    finally:
        subprocess.run(["umount", full], check=True)


def command(line: str, out: Path = Path("out"), folder: Path = Path("folder")) -> list[str]:
    words = [word.replace("OUT", str(out)).replace("FOLDER", str(folder)) for word in line.split()]
    return [str(Path(sys.executable).with_name("nnapi")), *words]


def describe(name: str, folder: Path, full: Path, wrong: list[str]) -> list[str]:
    """Run a command in all situations; return the cells of its row, and add to ``wrong`` what is wrong."""

    def judge(situation: str, ending: Ending, codes: Sequence[int], words: str = "") -> str:
        if ending.code not in codes or ending.left or words not in ending.error or ending.seconds > LONGEST:
            wrong.append(f"{name}, {situation}: {ending}, expected {' or '.join(map(str, codes))} {words}")
        return f"{ending.code}{', left: ' + ', '.join(ending.left) if ending.left else ''}"

    line = LINES[name]
    usual = ExitCode.NO_DEVICE if name in WITHOUT_DEVICE else ExitCode.SUCCESS
    cells = []
    if name in WITHOUT_END:
        cells.append("endless")
    else:
        cells.append(judge("head", pipe_to_head(line, folder), [usual, ExitCode.BROKEN_PIPE]))
    endings = [interrupt(line, folder, delay) for delay in DELAYS]
    codes = [judge("Ctrl-C", ending, [ExitCode.STOPPED, usual]) for ending in endings]
    slowest = max((each.seconds for each in endings if each.code == ExitCode.STOPPED), default=0.0)
    cells.append(f"{', '.join(codes)}; at most {slowest:.2f} s")
    cells.append(judge("full disk", *fill(line, folder, full, usual)))
    if name in WITHOUT_END:
        cells.append("endless")
    else:
        found = run(line, folder, {"NNAPI_CACHE_DIR": NO_CACHE})
        cells.append(judge("cache", found, [ExitCode.BAD_INPUT if name in NEEDS_CACHE else usual]))
    return cells


def pipe_to_head(line: str, folder: Path) -> Ending:
    with subprocess.Popen(command(line), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        error = running.stderr.read().decode(errors="replace")
        running.wait()
    clean(folder)
    return Ending(running.returncode, error)


def interrupt(line: str, folder: Path, delay: float) -> Ending:
    """Interrupt a command after a delay; also return the temporary files and folders that it left."""
    with tempfile.TemporaryDirectory() as temporary:
        there = {**os.environ, "TMPDIR": temporary}
        running = subprocess.Popen(
            command(line), cwd=folder, env=there, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        time.sleep(delay)
        sent = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, error = running.communicate()
        seconds = time.monotonic() - sent
        left = [*Path(temporary).iterdir(), *folder.rglob(".nnapi-*")]
        clean(folder)
        # At the very end of Python, the signal ends the process; a shell reports that as 130 too.
        code = ExitCode.STOPPED if running.returncode == -signal.SIGINT else running.returncode
        return Ending(code, error, seconds, tuple(each.name for each in left))


def fill(line: str, folder: Path, full: Path, usual: int) -> tuple[Ending, list[int], str]:
    """Run a command whose outputs are on a full disk; if it writes no files, its standard output is. Return the ending,
    and the codes and the words that it should have."""
    bad = [int(ExitCode.BAD_INPUT)]
    if "OUT" not in line and "FOLDER" not in line:
        if usual == ExitCode.NO_DEVICE or line.startswith("serve"):
            bad.append(int(usual))
        with open("/dev/full", "wb") as out:
            done = subprocess.run(command(line), cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True)
        return Ending(done.returncode, done.stderr), bad, FULL if usual == ExitCode.SUCCESS else ""
    before = set(full.rglob("*"))
    line = line.replace("--rounds 200", "--rounds 1").replace("--seconds 5", "--seconds 1").replace("500", "5")
    done = subprocess.run(command(line, full / "out", full / "folder"), cwd=folder, capture_output=True, text=True)
    left = sorted(path for path in set(full.rglob("*")) - before if path.is_file())
    shutil.rmtree(full / "folder", ignore_errors=True)
    if line.startswith("migrate"):
        bad = [int(ExitCode.BAD_INPUT), int(ExitCode.REFUSED)]
    return Ending(done.returncode, done.stderr, left=tuple(each.name for each in left)), bad, FULL


def run(line: str, folder: Path, variables: Mapping[str, str]) -> Ending:
    line = line.replace("--rounds 200", "--rounds 1").replace("--seconds 5", "--seconds 1").replace("500", "5")
    done = subprocess.run(command(line), cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True)
    clean(folder)
    return Ending(done.returncode, done.stderr)


def clean(folder: Path) -> None:
    """Remove the outputs of commands."""
    for path in folder.glob("out.*"):
        path.unlink()
    shutil.rmtree(folder / "folder", ignore_errors=True)
    (folder / "socket").unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
