"""Every number that README.md quotes, measured anew: the benchmarks behind them, one after the other.

    python benchmarks/readme.py FOLDER [--seconds S] [--list]

FOLDER holds the .tflite files of the tables. It takes about half an hour for 34 models. Engines that are not installed
are left out. The last line names what failed or broke a promise; times are no failure unless a benchmark promises one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENGINES = {"litert": "ai_edge_litert", "openvino": "openvino", "onnxruntime": "onnxruntime"}


@dataclass(frozen=True)
class Part:
    """A number of README, and the command that prints it."""

    says: str
    command: tuple[str, ...]


def parts(folder: Path, seconds: float) -> list[Part]:
    """The benchmarks, in the order in which README quotes them."""
    against = [name for name, module in ENGINES.items() if find_spec(module)]
    several = ["--against", *against] if against else []
    models = sorted(map(str, folder.glob("*.tflite")))
    classifiers = [model for model in models if "mobilenet_v" in model and "ssd" not in model]
    found = [
        Part(
            "the table of engines, and its means with one thread and with two",
            ("engines.py", str(folder), *several, "--seconds", str(seconds)),
        ),
        Part("from the start of a process to its first answer, and its peak", ("first_answer.py", *models)),
        Part(
            "the table of the reference, and what importing takes",
            ("reference.py", *(classifiers or models), "--seconds", str(4 * seconds)),
        ),
        Part("a burst, a reused and an asynchronous execution", ("overheads.py",)),
        Part("what tracing costs, and how much of a step it explains", ("tracing.py", *models[:4])),
        Part("partitions beside the best ones", ("partition.py",)),
        Part(
            "the public conformance examples on the reference, in all ways",
            ("-m", "nnapi", "check", "--device", "nnapi-reference", "--jobs", "2"),
        ),
    ]
    return found if "litert" in against else [part for part in found if part.command[0] not in NEED_LITERT]


NEED_LITERT = ("engines.py", "first_answer.py")


def run(part: Part) -> int:
    first, *rest = part.command
    words = [first, *rest] if first == "-m" else [str(HERE / first), *rest]
    print(f"\n== {part.says}: {first if first != '-m' else ' '.join(rest[:2])}", flush=True)
    return subprocess.run([sys.executable, *words], env={**os.environ, "COLUMNS": "200"}, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each engine on each model")
    parser.add_argument("--list", action="store_true", help="only say what would run")
    options = parser.parse_args()
    if not any(options.folder.glob("*.tflite")):
        parser.error(f"{options.folder} holds no .tflite files")
    chosen = parts(options.folder, options.seconds)
    if options.list:
        for part in chosen:
            print(f"{part.says}: {' '.join(part.command)}")
        return 0
    failed = [part.says for part in chosen if run(part)]
    print(f"\nnot as promised: {'; '.join(failed)}" if failed else "\nevery promise is kept")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
