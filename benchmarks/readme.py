"""Run the benchmarks of all measurements in README.md and docs/performance.md but the W3C's tests, one after the other.

    python benchmarks/readme.py FOLDER [--seconds S] [--list]

FOLDER has the .tflite files of the tables. 34 models take about half an hour. Engines that are not installed are
omitted. The last line lists the benchmarks that failed; a time is a failure only if its benchmark has a limit for it.
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
    """A measurement of README, and the command that prints it."""

    title: str
    command: tuple[str, ...]


def parts(folder: Path, seconds: float) -> list[Part]:
    """Return the benchmarks in the order of README."""
    against = [name for name, module in ENGINES.items() if find_spec(module)]
    several = ["--against", *against] if against else []
    models = sorted(map(str, folder.glob("*.tflite")))
    classifiers = [model for model in models if "mobilenet_v" in model and "ssd" not in model]
    found = [
        Part(
            "the table of engines, and its means with one thread and with two",
            ("engines.py", str(folder), *several, "--seconds", str(seconds)),
        ),
        Part(
            "the time from the start of a process to its first result, and its peak memory",
            ("first_answer.py", *models),
        ),
        Part(
            "the table of the reference, and the time of `import nnapi`",
            ("reference.py", *(classifiers or models), "--seconds", str(4 * seconds)),
        ),
        Part("the overhead of the drop-in interpreter", ("dropin.py", *models[:4])),
        Part("ONNX's own tests of single operators", ("-m", "benchmarks.onnx_nodes")),
        Part("the overhead of a burst, of a reused and of an asynchronous execution", ("overheads.py",)),
        Part("the cost of tracing, and the share of a step that it explains", ("tracing.py", *models[:4])),
        Part("the cost of plans relative to the cheapest ones", ("partition.py",)),
        Part(
            "the public conformance examples on the reference, with all kinds of runs",
            ("-m", "nnapi", "check", "--device", "nnapi-reference", "--jobs", "2"),
        ),
    ]
    return found if "litert" in against else [part for part in found if part.command[0] not in NEED_LITERT]


NEED_LITERT = ("engines.py", "first_answer.py", "dropin.py")


def run(part: Part) -> int:
    first, *rest = part.command
    words = [first, *rest] if first == "-m" else [str(HERE / first), *rest]
    print(f"\n== {part.title}: {first if first != '-m' else ' '.join(rest[:2])}", flush=True)
    return subprocess.run([sys.executable, *words], env={**os.environ, "COLUMNS": "200"}, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=1.5, help="measuring time of each engine on each model")
    parser.add_argument("--list", action="store_true", help="only print the commands")
    options = parser.parse_args()
    if not any(options.folder.glob("*.tflite")):
        parser.error(f"{options.folder} has no .tflite files")
    chosen = parts(options.folder, options.seconds)
    if options.list:
        for part in chosen:
            print(f"{part.title}: {' '.join(part.command)}")
        return 0
    failed = [part.title for part in chosen if run(part)]
    print(f"\nfailed: {'; '.join(failed)}" if failed else "\nno benchmark failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
