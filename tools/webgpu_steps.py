"""Print by how many quantization steps the GPU differs from the reference, as in the table of docs/webgpu.md.

    python -m tools.webgpu_steps MODEL…

The models are quantized. Each operation runs alone, with inputs that the reference computed, and then the whole model
runs. Without a GPU, run the program with Mesa's lavapipe and NNAPI_WEBGPU_SOFTWARE=1. The exit code is 1 if an
operation differs by more than one step.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import nnapi
from nnapi import Device, Model
from nnapi.cli.inputs import read_arrays
from nnapi.testing.divergence import Closeness, Step, find_divergence

HEAD = """\
| model | operations | same | off by one step | off by more | refused | whole model off by (steps) |
|---|---|---|---|---|---|---|"""


class Row(NamedTuple):
    """Counts of a model's operations: equal, off by one quantization step, off by more, refused."""

    name: str
    same: int
    near: int
    wrong: int
    refused: int
    whole: float | None
    """Quantization steps by which the whole model's last result differs; None if the device computed none of it."""

    def __str__(self) -> str:
        total = self.same + self.near + self.wrong + self.refused
        whole = "–" if self.whole is None else f"{self.whole:g}"
        return f"| `{self.name}` | {total} | {self.same} | {self.near} | {self.wrong} | {self.refused} | {whole} |"


def count_steps(name: str, steps: Sequence[Step]) -> Row:
    """Return the row of a model. An operation that fails counts as wrong."""
    refused = sum(step.verdict is Closeness.REFUSED for step in steps)
    same = sum(step.alone is not None and not step.alone.largest for step in steps)
    wrong = len(list(list_wrong(steps)))
    last = steps[-1].grown
    return Row(name, same, len(steps) - same - wrong - refused, wrong, refused, None if last is None else last.largest)


def list_wrong(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the operations that differ by more than one quantization step, or without a scale by more than rounding."""
    for step in steps:
        is_off = step.alone is not None and step.alone.in_steps and step.alone.largest > 1
        if is_off or step.verdict in (Closeness.DIFFERS, Closeness.FAILED):
            yield step


def compare(model: Model, tried: Device) -> Sequence[Step]:
    """Compare the operations of a model with the reference, on random inputs."""
    return find_divergence(model, read_arrays(model, []), tried).steps


def main() -> int:
    tried = nnapi.device("webgpu")
    print(HEAD, flush=True)
    is_wrong = False
    for path in map(Path, sys.argv[1:]):
        steps = compare(nnapi.load(path), tried)
        print(count_steps(path.stem, steps), flush=True)
        for step in steps:
            if step.verdict is Closeness.REFUSED:
                print(f"{path.stem}: {step.operation} (#{step.number}): {step.reason}", file=sys.stderr)
        for step in list_wrong(steps):
            is_wrong = True
            print(
                f"{path.stem}: {step.operation} (#{step.number}) is off: {step.alone}, {step.reason}", file=sys.stderr
            )
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
