"""Export each operation of networks as a file, run it with another engine, and compare it with the reference.

    python -m benchmarks.exported_operations [--way "ONNX Runtime"] [--show] MODEL.tflite …

The inputs of an operation are those that it has on the reference, because rounding differences add up in a quantized
network. An operation is close if quantized values differ by at most 1 LSB, and floats by at most 1e-4 of the largest
value. The exit code is 1 if an operation differs by more.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.exporters.exported_cases import WAYS, run_operations


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--way", choices=WAYS, default="ONNX Runtime", help="the engine that runs the files")
    parser.add_argument("--show", action="store_true", help="print each operation that is not equal")
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    options = parser.parse_args(arguments)
    print("| model | operations | equal | close | refused | wrong |", "|---|---|---|---|---|---|", sep="\n")
    totals: Counter[str] = Counter()
    for path in options.models:
        found: Counter[str] = Counter()
        refused: Counter[str] = Counter()
        with tempfile.TemporaryDirectory(prefix="exported-") as folder:
            for name, each in run_operations(path, options.way, Path(folder)):
                kind = each.kind if each.kind != "passed" else "close" if _differs(each.reason) else "equal"
                found[kind] += 1
                refused[name] += kind == "refused"
                if kind != "equal" and options.show:
                    print(path.stem, name, kind, each.reason, sep=" | ", file=sys.stderr)
        totals += found
        names = ", ".join(f"{name} ×{count}" for name, count in refused.items() if count)
        print(_row(path.stem, found, names), flush=True)
    print(_row("all", totals, ""))
    return 1 if totals["wrong"] else 0


def _differs(text: str) -> bool:
    return any(each not in ("equal", "0.0e+00") for each in text.split("; "))


def _row(name: str, found: Counter[str], refused: str) -> str:
    reasons = f"{found['refused']}: {refused}" if refused else f"{found['refused']}"
    return f"| {name} | {found.total()} | {found['equal']} | {found['close']} | {reasons} | {found['wrong']} |"


if __name__ == "__main__":
    sys.exit(main())
