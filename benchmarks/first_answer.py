"""From the start of a process to its first answer: ours beside the same program written against LiteRT and OpenVINO.

Ours is measured in three states: *first* (nothing is kept of anything), *known* (what was chosen and measured for the
model is kept, as by default) and *cached* (``cache=`` names a directory that has the compilation). Every number is of a
fresh process that loads a model, prepares it and runs it once on zeros; the programs take turns, the least counts, in
milliseconds. "cpu" is the process's own time on all processors, "peak" its most memory in MB. The ratio and the
difference are to LiteRT, of what the clock says.

    python benchmarks/first_answer.py MODEL.tflite … [--turns 5] [--threads 1] [--json FILE]
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import nnapi

OURS = """
import nnapi, numpy as np
kept = nnapi.settings(tuning=bool(tuning) or None)
kept.__enter__()  # not in a block: its end is the process's
model = nnapi.load(path)
with_cache = {"cache": cache} if cache else {}
compilation = nnapi.compile(model, threads=threads, **with_cache)
types = [model.operands[index].type for index in model.inputs]
compilation.run(*(np.zeros([dimension or 1 for dimension in type.dimensions], type.dtype) for type in types))
"""
LITERT = """
import numpy as np
from ai_edge_litert.interpreter import Interpreter
interpreter = Interpreter(path, num_threads=threads)
interpreter.allocate_tensors()
for detail in interpreter.get_input_details():
    interpreter.set_tensor(detail["index"], np.zeros(detail["shape"], detail["dtype"]))
interpreter.invoke()
[interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
"""
OPENVINO = """
import numpy as np, openvino
core = openvino.Core()
model = core.read_model(path)
for source in model.inputs:
    if source.partial_shape.is_dynamic:
        model.reshape([1 if dimension.is_dynamic else dimension for dimension in source.partial_shape])
options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
request = core.compile_model(model, "CPU", options).create_infer_request()
for tensor in request.input_tensors:
    tensor.data[...] = 0
request.infer()
[np.array(tensor.data) for tensor in request.output_tensors]
"""
PROGRAM = """import sys
path, cache, threads, tuning = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
{}
import time
end, cpu = time.perf_counter(), time.process_time()
with open("/proc/self/status") as lines:
    (peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM")]
print("measured", end, cpu, peak)
"""
STATES = "first", "known", "cached"
OTHERS = {"litert": LITERT, "openvino": OPENVINO}
SETTLED = 4
"""Processes that run before *known*: what the first measured under load is measured again by the next ones."""


@dataclass(frozen=True)
class Start:
    """Milliseconds by the clock and of the processors, MB."""

    wall: float
    cpu: float
    peak: float


def start(program: str, path: Path, home: Path, cache: Path | str, threads: int, *tuning: str) -> Start:
    """One process to its first answer; RuntimeError, with the last line of what it says, where it has none."""
    command = [sys.executable, "-c", PROGRAM.format(program), str(path), str(cache), str(threads), *tuning]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NNAPI_CACHE_DIR": str(home)})
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("measured")]
    if done.returncode or not lines:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it says nothing"])[-1])
    end, seconds, peak = map(float, lines[0])
    return Start((end - begin) * 1e3, seconds * 1e3, peak / 1024)


def measure(path: Path, turns: int, threads: int, folder: Path) -> dict[str, Start]:
    """The least of each number, by program; what cannot run the model is left out."""
    known, cache = folder / "known", folder / "cache"
    for where in (*[""] * SETTLED, cache, cache):
        start(OURS, path, known, where, threads, "first")
    found: dict[str, list[Start]] = {}
    for turn in range(turns):
        empty = folder / f"first{turn}"
        for state, home, where in zip(STATES, (empty, known, known), ("", "", cache), strict=True):
            found.setdefault(state, []).append(start(OURS, path, home, where, threads))
        for name, program in OTHERS.items():
            try:
                found.setdefault(name, []).append(start(program, path, known, "", threads))
            except RuntimeError:
                found.pop(name)
    return {
        name: Start(min(s.wall for s in starts), min(s.cpu for s in starts), min(s.peak for s in starts))
        for name, starts in found.items()
    }


def draw(rows: dict[str, dict[str, Start]]) -> Table:
    shown = Table("model", "MB", "program", "wall", "cpu", "peak", "÷ LiteRT", "− LiteRT", "peak ÷ LiteRT", box=None)
    for name, programs in rows.items():
        litert = programs.get("litert")
        size = f"{Path(name).stat().st_size / 1e6:.2f}"
        for place, (program, value) in enumerate(programs.items()):
            numbers = (f"{value.wall:.0f}", f"{value.cpu:.0f}", f"{value.peak:.0f}")
            ratios: tuple[str, ...] = ("", "", "")
            if litert is not None and program != "litert":
                more = value.wall - litert.wall
                ratios = (f"{value.wall / litert.wall:.2f}", f"{more:.0f}", f"{value.peak / litert.peak:.2f}")
            shown.add_row(*((Path(name).stem, size) if not place else ("", "")), program, *numbers, *ratios)
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    out, rows = Console(), {}
    compileall.compile_dir(Path(nnapi.__file__).parent, quiet=2)  # the others' bytecode is there, whoever runs this
    for path in options.models:
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows[str(path)] = measure(path, options.turns, options.threads, Path(folder))
            except RuntimeError as error:
                out.print(f"{path.name} is left out: {str(error)[:100]}", markup=False)
    out.print(draw(rows))
    if options.json:
        values = {name: {program: asdict(s) for program, s in programs.items()} for name, programs in rows.items()}
        options.json.write_text(json.dumps(values, indent=1))
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
