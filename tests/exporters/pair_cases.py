"""One example of each operation and each combination of types, and the same with quantized values of scale 1.

    python -m tests.exporters.pair_cases WAY FIRST

exports and runs them from number FIRST on and prints a line of JSON for each: the process that runs a file may abort.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import nnapi
from nnapi.codes import OperandCode
from nnapi.errors import NnapiError
from nnapi.testing.build import build
from nnapi.testing.corpus import Entry, open_published
from nnapi.testing.example import Example
from tests.exporters.exported_cases import Outcome, outcome
from tests.warm_python import warm_python

ASYMMETRIC = (OperandCode.TENSOR_QUANT8_ASYMM.name, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED.name)
ENDED = "the process ended"


@cache
def list_pairs() -> list[Entry]:
    """The first example of each operation alone with each set of types."""
    found: dict[tuple[str, tuple[str, ...]], Entry] = {}
    for entry in open_published().entries:
        if len(entry.ops) == 1 and not entry.expect_failure:
            found.setdefault((entry.ops[0], entry.types), entry)
    return list(found.values())


def list_examples() -> Iterator[Example]:
    """The examples, each followed by itself with a scale of 1 where it has quantized values and can have that."""
    names = {(entry.file, entry.name) for entry in list_pairs()}
    for example in open_published().examples(lambda entry: (entry.file, entry.name) in names):
        yield example
        if any(operand.type in ASYMMETRIC for operand in example.main.operands):
            coarse = _with_scale_1(example)
            if coarse is not None:
                yield coarse


def _with_scale_1(example: Example) -> Example | None:
    operands = tuple(replace(each, scale=1.0) if each.type in ASYMMETRIC else each for each in example.main.operands)
    coarse = replace(example, name=f"{example.name}, scale 1", main=replace(example.main, operands=operands))
    try:
        inputs = [array for array in example.inputs.values() if array is not None]
        results = nnapi.compile(build(coarse), "nnapi-reference").run(*inputs)
    except NnapiError:  # the operation fixes another scale
        return None
    shaped = dict(zip(coarse.main.outputs, results, strict=True))
    return replace(coarse, outputs=shaped)


def run_all(way: str) -> dict[str, Outcome]:
    """Every example's outcome by its name; one that ended its process is wrong, for that reason."""
    found: dict[str, Outcome] = {}
    while True:
        command = [warm_python(), "-m", "tests.exporters.pair_cases", way, str(len(found))]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        started = ""
        for line in process.stdout.splitlines():
            name, result = json.loads(line)
            started = name if result is None else ""
            if result is not None:
                found[name] = Outcome(*result)
        if process.returncode == 0:
            return found
        if not started:
            raise RuntimeError(process.stderr[-2000:])
        found[started] = Outcome("wrong", f"{ENDED} with {process.returncode}")


def main(way: str, first: int) -> None:
    with tempfile.TemporaryDirectory(prefix="pairs-") as folder:
        for number, example in enumerate(list_examples()):
            if number >= first:
                label = f"{example.file}: {example.name}"
                print(json.dumps([label, None]), flush=True)
                print(json.dumps([label, outcome(example, way, Path(folder))]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
