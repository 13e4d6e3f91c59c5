"""Compare quantized results with LiteRT's on random models of one operation each.

    python benchmarks/litert_codes.py [--models N] [--seed S] [--device NAME] [--json]

The device (by default the reference) must agree with LiteRT's built-in kernels, without delegates, within 1 LSB
(quantization step). LiteRT's reference kernels show how far two correct results may differ. The exit code is 1 if an
element differs by more than 1 LSB or a model could not be compared. LiteRT runs in child processes, because it aborts
the process on inputs that it does not expect.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # NumPy reads them when it is imported

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import nnapi
from tests.random_tflite import KINDS, Kind, random_codes, random_model

Arrays = Sequence[np.ndarray]
DEVICE = "nnapi-reference"
BUILTIN, REFERENCE = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, OpResolverType.BUILTIN_REF
TOLERANCE = 1  # LSB
MOST_SHOWN = 3  # violations of each kind


@dataclass
class Distance:
    """The numbers of elements and of equal ones, and the largest difference in LSB."""

    elements: int = 0
    equal: int = 0
    largest: int = 0

    def add(self, other: "Distance") -> None:
        self.elements += other.elements
        self.equal += other.equal
        self.largest = max(self.largest, other.largest)

    @property
    def share(self) -> float:
        return self.equal / self.elements if self.elements else 1.0


@dataclass
class Row:
    """The results of all models of one kind. ``builtin`` and ``reference`` compare nnapi with LiteRT's two sets of
    kernels, ``between`` compares these with each other, and ``saturated`` counts outputs of the built-in kernels that
    are the lowest or highest quantized value."""

    kind: Kind
    models: int = 0
    builtin: Distance = field(default_factory=Distance)
    reference: Distance = field(default_factory=Distance)
    between: Distance = field(default_factory=Distance)
    saturated: int = 0
    violations: list[str] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        return not self.violations and self.builtin.largest <= TOLERANCE

    def add(self, found: dict) -> None:
        if "violation" in found:
            self.violations.append(f"model {found['number']}: {found['violation']}")
            return
        self.models += 1
        self.saturated += found["saturated"]
        for name in ("builtin", "reference", "between"):
            getattr(self, name).add(Distance(**found[name]))
        if found["builtin"]["largest"] > TOLERANCE:
            self.violations.append(f"model {found['number']}: differs by {found['builtin']['largest']} LSB")


def distance(ours: Arrays, theirs: Arrays) -> Distance:
    found = Distance()
    for a, b in zip(ours, theirs, strict=True):
        apart = np.abs(a.astype(np.int32).reshape(-1) - b.astype(np.int32).reshape(-1))
        found.add(Distance(apart.size, int((apart == 0).sum()), int(apart.max(initial=0))))
    return found


def litert(content: bytes, resolver: OpResolverType) -> tuple[Interpreter, Callable[[Arrays], Arrays]]:
    interpreter = Interpreter(model_content=content, num_threads=1, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()

    def run(inputs: Arrays) -> Arrays:
        for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(detail["index"], value)
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]

    return interpreter, run


def kind_of(number: int) -> Kind:
    return KINDS[number % len(KINDS)]


def compared(seed: int, number: int, device: str, folder: Path) -> dict:
    """Run one random model on the device and on both sets of kernels; return the counts of a Row, or a violation."""
    rng = np.random.default_rng([seed, number])
    content = random_model(kind_of(number), rng)
    path = folder / f"{number}.tflite"
    path.write_bytes(content)
    interpreter, builtin = litert(content, BUILTIN)
    inputs = [random_codes(tuple(d["shape"]), d["dtype"], rng) for d in interpreter.get_input_details()]
    try:
        ours = nnapi.compile(nnapi.load(path), device).run(*inputs)
    except nnapi.NnapiError as error:
        return {"violation": str(error)}
    finally:
        path.unlink()
    theirs, references = builtin(inputs), litert(content, REFERENCE)[1](inputs)
    ends = [np.iinfo(array.dtype) for array in theirs]
    return {
        "builtin": asdict(distance(ours, theirs)),
        "reference": asdict(distance(ours, references)),
        "between": asdict(distance(theirs, references)),
        "saturated": sum(
            int(((array == end.min) | (array == end.max)).sum()) for array, end in zip(theirs, ends, strict=True)
        ),
    }


def work(seed: int, numbers: range, device: str) -> None:
    """Compare these models and print a line of JSON for each; runs in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="litert-codes-") as folder:
        for number in numbers:
            try:
                found = compared(seed, number, device, Path(folder))
            except (RuntimeError, ValueError) as error:
                found = {"violation": f"LiteRT: {' '.join(str(error).split())}"}
            print(json.dumps({"number": number} | found), flush=True)


def compare_all(seed: int, numbers: range, device: str) -> Iterator[dict]:
    """Yield the outcomes of :func:`work`. If its process dies, another one continues after that example."""
    at = numbers.start
    while at < numbers.stop:
        command = [sys.executable, __file__, "--seed", str(seed), "--device", device, "--work", f"{at}:{numbers.stop}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                found = json.loads(line)
                at = found["number"] + 1
                yield found
        if at < numbers.stop:
            yield {"number": at, "violation": f"the process died with {process.returncode}"}
            at += 1


def measure(models: int, seed: int, device: str, processes: int) -> list[Row]:
    """Compare ``models`` models, of all kinds in turns, with a progress bar."""
    rows = {kind: Row(kind) for kind in KINDS}
    bounds = [models * i // processes for i in range(processes + 1)]
    with Progress(console=Console(stderr=True), transient=True) as progress, ThreadPoolExecutor(processes) as pool:
        task = progress.add_task("comparing", total=models)

        def collect(numbers: range) -> None:
            for found in compare_all(seed, numbers, device):
                rows[kind_of(found["number"])].add(found)
                progress.advance(task)

        for future in [pool.submit(collect, range(*pair)) for pair in itertools.pairwise(bounds)]:
            future.result()
    return list(rows.values())


def total(rows: Sequence[Row]) -> Row:
    whole = Row(Kind("all", ""))
    for row in rows:
        whole.models += row.models
        whole.saturated += row.saturated
        for name in ("builtin", "reference", "between"):
            getattr(whole, name).add(getattr(row, name))
    return whole


def cells(row: Row) -> list[str]:
    saturated = row.saturated / row.builtin.elements if row.builtin.elements else 0
    distances = (row.builtin, row.reference, row.between)
    counts = [f"{row.models:,}", f"{row.builtin.elements:,}", f"{saturated:.0%}"]
    shares = [text for each in distances for text in (f"{each.share:.3%}", str(each.largest))]
    return [row.kind.operation, row.kind.type, *counts, *shares]


HEADINGS = (
    "operation",
    "type",
    "models",
    "elements",
    "saturated",
    "equal to built-in",
    "largest",
    "equal to reference",
    "largest",
    "built-in equal to reference",
    "largest",
)


def print_table(rows: Sequence[Row]) -> None:
    table = Table(*HEADINGS, title="Quantized results compared with LiteRT's kernels; largest differences in LSB")
    for column in table.columns[2:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*cells(row), style=None if row.is_right else "red")
    table.add_section()
    table.add_row(*cells(total(rows)))
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table)
    for row in rows:
        for violation in row.violations[:MOST_SHOWN]:
            console.print(f"{row.kind}, {violation}", style="red", markup=False)
        if len(row.violations) > MOST_SHOWN:
            console.print(f"{row.kind}: {len(row.violations) - MOST_SHOWN} more", style="red", markup=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=int, default=2500, help="number of models, over all operations and types")
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--device", default=DEVICE, help="the NNAPI device")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.seed, range(*map(int, options.work.split(":"))), options.device)
        return 0
    rows = measure(options.models, options.seed, options.device, options.processes)
    if options.json:
        print(json.dumps([asdict(row) | {"is_right": row.is_right} for row in rows], indent=2))
    else:
        print_table(rows)
    return 0 if all(row.is_right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
