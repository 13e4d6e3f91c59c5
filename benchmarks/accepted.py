"""Count the conformance examples that each device accepts, by operation, with the most frequent reason of refusal.

    python benchmarks/accepted.py [CORPUS] [--device NAME …] > docs/accepted.md

The program asks each device for its verdicts on every example of CORPUS (by default the public corpus) that is expected
to work. It runs nothing; `nnapi check --device NAME` runs the accepted examples and checks their results. An example
counts as accepted for an operation if the device accepts all of the example's calls of that operation.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nnapi.codes import OperationCode
from nnapi.runtime.device import Device, device
from nnapi.testing.build import build
from nnapi.testing.corpus import PUBLISHED, Corpus
from nnapi.testing.example import Example

INTRODUCTION = """\
# What the engines accept

<!-- Written by `python benchmarks/accepted.py > docs/accepted.md`. -->

A conformance example is a small model with inputs and expected outputs. For each operation, the table counts the
examples with this operation: 4452/4457 means that the device accepts the operation in 4452 of 4457 examples. The table
also lists the most frequent reason why the device refuses the operation. If an example calls the operation several
times, the device must accept all these calls. The row **all** is the sum of the other rows, so an example with several
operations counts several times. If one device refuses an operation, another device computes it; `nnapi-reference`
accepts all operations.

"""
CALL_DETAILS = (
    (r"^\w+ \(#\d+\): ", ""),  # which call of the model
    (r" \(operand \d+\)", ""),
    (r"^(output \d+|\S+) is (TENSOR_\w+)", r"\2"),
    (r"^\S+ and \S+ differ", "the inputs differ"),
    (
        r"^\S+ has dimensions that are not known(?: before the run)?:.*|^a dimension( of \S+)? is not known.*",
        "the dimensions of an operand are not known before the run",
    ),
    (r", and its decomposition is refused: .*", ""),
    (r"[\[(]+[-\d][^a-zA-Z]*[\])]+|(?<=\s)-?\d[\d.e-]*", "…"),
)
"""Details that differ between two refusals for the same reason, and their replacements."""


@dataclass
class Count:
    """The number of examples with one operation, the number that one device accepts, and its reasons of refusal."""

    total: int = 0
    accepted: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def cells(self) -> list[str]:
        """Return the table cells: the count and the most frequent reason."""
        reason = "" if not self.reasons else self.reasons.most_common(1)[0][0]
        return [f"{self.accepted}/{self.total}", reason.replace("|", "\\|")]


Counts = dict[tuple[str, str], Count]
"""The counts by names of operation and device."""


def generalize(reason: str) -> str:
    """Remove from a reason the details of one call: its index, operand names and numbers."""
    for pattern, replacement in CALL_DETAILS:
        reason = re.sub(pattern, replacement, reason)
    return reason


def list_refusals(example: Example, engine: Device) -> Iterator[tuple[str, str]]:
    """Yield each operation of the main model with the first reason to refuse a call of it; "" if all are accepted."""
    model = build(example)
    refusals: defaultdict[str, str] = defaultdict(str)
    for call, verdict in zip(model.operations, engine.driver.verdicts(model), strict=True):
        name = OperationCode(call.code).name
        refusals[name] = refusals[name] or ("" if verdict.supported else generalize(verdict.reason))
    yield from refusals.items()


def counts(examples: Iterable[Example], engines: Sequence[Device]) -> Counts:
    """Return the counts of all devices over the examples."""
    found: Counts = defaultdict(Count)
    for example in examples:
        for engine in engines:
            for operation, refusal in list_refusals(example, engine):
                count = found[operation, engine.name]
                count.total += 1
                count.accepted += not refusal
                if refusal:
                    count.reasons[refusal] += 1
    return found


def page(found: Counts, engines: Sequence[Device]) -> str:
    """Return the page: one row for each operation, and one for all operations."""
    header = [
        "operation",
        *(cell for engine in engines for cell in (engine.name, f"main reason of refusal by {engine.name}")),
    ]
    sums = [_sum(found, engine) for engine in engines]
    rows = [["**all**", *(cell for text in sums for cell in (text, ""))]]
    for operation in sorted({operation for operation, _ in found}):
        cells = [cell for engine in engines for cell in found[operation, engine.name].cells()]
        rows.append([f"[{operation}](operations.md#{operation.lower()})", *cells])
    versions = " and ".join(f"{engine.name} runs {engine.version}" for engine in engines)
    lines = [header, ["---"] * len(header), *rows]
    return f"{INTRODUCTION}For this table, {versions}.\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _sum(found: Counts, engine: Device) -> str:
    mine = [count for (_, name), count in found.items() if name == engine.name]
    accepted, total = sum(count.accepted for count in mine), sum(count.total for count in mine)
    return f"{accepted}/{total} ({accepted / max(total, 1):.1%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?", default=PUBLISHED)
    parser.add_argument("--device", nargs="+", default=["xnnpack-cpu", "openvino-cpu"])
    options = parser.parse_args()
    engines = [device(name) for name in options.device]
    corpus = Corpus(options.corpus)
    print(page(counts(corpus.examples(lambda entry: not entry.expect_failure), engines), engines), end="")


if __name__ == "__main__":
    main()
