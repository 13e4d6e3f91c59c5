"""Compare the reference device with LiteRT's built-in kernels: latency, load time, memory; and time `import nnapi`.

Both run in one process on one thread, in turns, on the same random input. LiteRT runs without delegates, so its
portable kernels are compared, not XNNPACK. Times are minimum and median; a run includes setting the input and reading
the output. Memory is the peak of a process that loads, compiles and runs a model once, minus the peak of a process that
only imports NumPy.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # NumPy reads them when it is imported

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import nnapi
from nnapi.cli.inputs import random_input
from nnapi.model.model import Lifetime
from nnapi.runtime.executors.stopwatch import time_call

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("NNAPI_SHARED") or ROOT.parent / "shared") / "models"
DEVICE = "nnapi-reference"
FEWEST, MOST = 10, 1000  # rounds
ALLOWANCE = 60e6  # bytes for code, libraries and small data

# The peak in /proc is that of this process alone. getrusage's peak includes that of the parent before the fork.
PEAK = """
def peak():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return 1024 * int(lines["VmHWM"].split()[0])
"""


@dataclass(frozen=True)
class Times:
    """Seconds of repeated runs, or their ratios."""

    minimum: float
    median: float


@dataclass(frozen=True)
class Measured:
    """The measurements of one model: seconds, bytes, and the largest difference between the outputs (in LSB if
    quantized, else relative to the largest value)."""

    model: str
    operations: int
    rounds: int
    nnapi: Times
    litert: Times | None
    load: Times
    compile: Times
    peak: int
    limit: int
    difference: float | None
    is_quantized: bool

    @property
    def ratio(self) -> Times | None:
        """The reference's times divided by LiteRT's."""
        if self.litert is None:
            return None
        return Times(self.nnapi.minimum / self.litert.minimum, self.nnapi.median / self.litert.median)


def times(seconds: Sequence[float]) -> Times:
    return Times(min(seconds), statistics.median(seconds))


def default_models() -> list[Path]:
    """Return the MobileNet classifiers in NNAPI_SHARED, or else the two models of examples/digits."""
    return sorted(path for path in SHARED.glob("*mobilenet_v*.tflite") if "ssd" not in path.name) or sorted(
        (ROOT / "examples/digits").glob("*.tflite")
    )


def litert_call(path: Path, inputs: Sequence[np.ndarray]) -> Callable[[], list[np.ndarray]] | None:
    """Return a function that runs LiteRT's own kernels, or None if LiteRT is not installed or refuses the file."""
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError:
        return None
    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    try:
        interpreter = Interpreter(str(path), num_threads=1, experimental_op_resolver_type=plain)
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError):
        return None
    sources = [detail["index"] for detail in interpreter.get_input_details()]
    results = [detail["index"] for detail in interpreter.get_output_details()]

    def call() -> list[np.ndarray]:
        for index, array in zip(sources, inputs, strict=True):
            interpreter.set_tensor(index, array)
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in results]

    return call


def time_turns(calls: Sequence[Callable[[], object]], seconds: float) -> list[list[float]]:
    """Return the seconds of each call, in turns."""
    rounds: list[list[float]] = []
    end = time.perf_counter() + seconds
    while len(rounds) < FEWEST or (len(rounds) < MOST and time.perf_counter() < end):
        rounds.append([time_call(call) for call in calls])
    return rounds


def measure(path: Path, seconds: float) -> Measured:
    """Measure one model; the reference and LiteRT together run for about ``seconds``."""
    loads: list[float] = []
    compiles: list[float] = []
    for _ in range(5):
        loads.append(time_call(partial(nnapi.load, path)))
        model = nnapi.load(path)
        compiles.append(time_call(partial(nnapi.compile, model, DEVICE)))
    inputs = [random_input(model.operands[index], seed=0).array for index in model.inputs]
    compilation = nnapi.compile(model, DEVICE)
    burst = compilation.burst()
    theirs = litert_call(path, inputs)
    calls = [lambda: burst.run(*inputs)] + ([theirs] if theirs else [])
    outputs = [call() for call in calls]  # also warms up
    rounds = time_turns(calls, seconds)
    columns = [times(column) for column in zip(*rounds, strict=True)]
    type = model.operands[model.outputs[0]].type
    return Measured(
        model=path.stem,
        operations=len(model.operations),
        rounds=len(rounds),
        nnapi=columns[0],
        litert=columns[1] if theirs else None,
        load=times(loads),
        compile=times(compiles),
        peak=peak_memory(path),
        limit=memory_limit(path, model),
        difference=max(map(difference, *outputs)) if theirs else None,
        is_quantized=type.is_quantized,
    )


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    distance = float(np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max())
    return distance if ours.dtype.kind in "iu" else distance / max(float(np.abs(theirs).max()), 1e-30)


def memory_limit(path: Path, model: nnapi.Model) -> int:
    """Return the bytes that a run may take: three times the file, the two largest activations, and the allowance."""
    activation_lifetimes = (Lifetime.TEMPORARY, Lifetime.INPUT, Lifetime.OUTPUT)
    activations = sorted(operand.type.nbytes for operand in model.operands if operand.lifetime in activation_lifetimes)
    return int(3 * path.stat().st_size + sum(activations[-2:]) + ALLOWANCE)


def peak_memory(path: Path) -> int:
    """Return the peak bytes of a process that runs the model once, minus those of one that imports NumPy."""
    run = f"""
import numpy, nnapi
model = nnapi.load({str(path)!r})
types = [model.operands[index].type for index in model.inputs]
inputs = [numpy.zeros([dimension or 1 for dimension in type.dimensions], type.dtype) for type in types]
nnapi.compile(model, {DEVICE!r}).run(*inputs)
"""
    return int(in_process(PEAK + run + "print(peak())") - in_process(PEAK + "import numpy\nprint(peak())"))


def import_time(runs: int = 5) -> Times:
    """Return the seconds of `import nnapi` in processes that have imported NumPy before."""
    code = "import numpy, time; start = time.perf_counter(); import nnapi; print(time.perf_counter() - start)"
    return times([in_process(code) for _ in range(runs)])


def in_process(code: str) -> float:
    """Run code in a new Python process, and return the number that it prints."""
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def rows(found: Sequence[Measured]) -> Iterator[list[str]]:
    for one in found:
        unit = "LSB" if one.is_quantized else "relative"
        yield [
            one.model,
            str(one.operations),
            milliseconds(one.nnapi),
            milliseconds(one.litert) if one.litert else "–",
            f"{one.ratio.minimum:.2f} / {one.ratio.median:.2f}" if one.ratio else "–",
            f"{1e3 * one.load.median:.1f} + {1e3 * one.compile.median:.1f}",
            f"{one.peak / 1e6:.0f} of {one.limit / 1e6:.0f}",
            "–" if one.difference is None else f"{one.difference:.2g} {unit}",
        ]


def milliseconds(found: Times) -> str:
    return " / ".join(f"{1e3 * seconds:.3g}" for seconds in (found.minimum, found.median))


HEADINGS = (
    "model",
    "operations",
    "nnapi-reference ms",
    "LiteRT built-in ms",
    "ratio",
    "load + compile ms",
    "peak MB of limit",
    "outputs differ by",
)


def main() -> int:
    """Measure and print; return 1 if a model takes more memory than its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    help = "default: the MobileNet classifiers in NNAPI_SHARED, or else the models of examples/digits"
    parser.add_argument("models", nargs="*", type=Path, help=help)
    parser.add_argument("--seconds", type=float, default=6, help="measuring time of each model")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    progress = Console(stderr=True)
    found = []
    for path in options.models or default_models():
        with progress.status(f"running {path.name}"):
            found.append(measure(path, options.seconds))
    with progress.status("importing nnapi"):
        imported = import_time()
    if options.json:
        models = [{**asdict(one), "ratio": asdict(one.ratio) if one.ratio else None} for one in found]
        print(json.dumps({"models": models, "import": asdict(imported)}, indent=2))
    else:
        table = Table(*HEADINGS, title="Minimum / median; one thread, in turns, the same input")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in rows(found):
            table.add_row(*row)
        console = Console(width=None if sys.stdout.isatty() else 200)
        console.print(table)
        console.print(f"import nnapi after numpy: {milliseconds(imported)} ms (minimum / median)")
    return 0 if all(one.peak <= one.limit for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
