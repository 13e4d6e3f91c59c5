"""Networks that leave as files, operation by operation: each one as a file of its own, run by others on what the
reference gives to it.

    python -m benchmarks.exported_operations [--way "ONNX Runtime"] [--show] MODEL.tflite …

Rounding adds up through a quantized network, so that its end says little; here codes may be one apart, floats 1e-4 of
the largest. Exit code 1 where an operation is further away.
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
    parser.add_argument("--way", choices=WAYS, default="ONNX Runtime", help="who runs the files")
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
    said = f"{found['refused']}: {refused}" if refused else f"{found['refused']}"
    return f"| {name} | {found.total()} | {found['equal']} | {found['close']} | {said} | {found['wrong']} |"


if __name__ == "__main__":
    sys.exit(main())
