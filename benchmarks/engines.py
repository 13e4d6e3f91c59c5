"""Run ``nnapi bench`` on a folder of models, beside engines that read the same files themselves.

    python benchmarks/engines.py FOLDER [--devices NAME …] [--threads 1 2] [--against litert openvino onnxruntime]
                                 [--seconds S] [--only TEXT] [--json FILE]

Without --devices, nnapi chooses among all installed devices by trials, as by default. ONNX Runtime reads the .onnx file
with the name of the .tflite file. The last table has the minimum time of every model, and the times of the fastest
other engine with right results and of LiteRT divided by nnapi's: above 1, nnapi is faster. The number of threads is
added to the name of the file that --json writes (FILE-2.json).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from nnapi.report.benchmark import BenchmarkSettings
from nnapi.report.engines import OTHERS


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--devices", nargs="+", default=[], help="a row for each; default: one row, the plan that trials choose"
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--against", nargs="+", choices=list(OTHERS), default=["litert"])
    parser.add_argument("--seconds", type=float, default=1.5, help="measuring time of each engine on each model")
    parser.add_argument("--only", default="", help="run only models whose name contains this text")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the measurements as JSON")
    return parser.parse_args(arguments)


def commands(options: argparse.Namespace) -> Iterator[list[str]]:
    """Yield the arguments of ``nnapi bench`` for each number of threads."""
    models = [str(path) for path in sorted(options.folder.glob("*.tflite")) if options.only in path.stem]
    rounds = max(3, round(options.seconds / BenchmarkSettings.block))
    for threads in options.threads:
        words = ["bench", "run", *models, "--only-latency", "--threads", str(threads), "--rounds", str(rounds)]
        words += ["--against", ",".join(options.against)]
        for device in options.devices:
            words += ["--device", device]
        if options.json:
            words += ["--output", str(options.json.with_stem(f"{options.json.stem}-{threads}"))]
        yield words


def main() -> int:
    environment = {"COLUMNS": "200", **os.environ}
    done = [
        subprocess.run([sys.executable, "-m", "nnapi", *words], env=environment, check=False).returncode
        for words in commands(parse())
    ]
    return max(done)


if __name__ == "__main__":
    sys.exit(main())
