"""Measure a process from its start to its first result, with nnapi and with the same program for other engines.

    python benchmarks/first_answer.py MODEL… [--turns 5] [--threads 1] [--json FILE]

The other engines are LiteRT for a .tflite file, ONNX Runtime for an .onnx file, and OpenVINO for both.

Each process loads a model, prepares it and runs it once on zeros. nnapi is measured in three states:

- first: all caches are empty
- known: the plan and its measurements are cached, as by default after some processes
- cached: as known, and ``cache=`` names a folder with the compilation

The programs run in turns, and the minimum of the turns counts. "wall" is the time from start to result, "cpu" the
processor time of all threads, "peak" the peak memory, and "modules" the number of modules of Python. The last columns
compare nnapi and OpenVINO with the engine of the file's format.
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
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import nnapi

NNAPI = """
import nnapi, numpy as np
settings = nnapi.settings(tuning=bool(tuning) or None)
settings.__enter__()  # until the process ends
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
ONNX_RUNTIME = """
import numpy as np, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
dtypes = {"float": "f4", "int64": "i8", "int32": "i4", "bool": "?", "uint8": "u1"}
shapes = {each.name: [size if isinstance(size, int) else 1 for size in each.shape] for each in session.get_inputs()}
session.run(None, {each.name: np.zeros(shapes[each.name], dtypes[each.type[7:-1]]) for each in session.get_inputs()})
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
print("measured", end, cpu, peak, len(sys.modules))
"""
STATES = "first", "known", "cached"
BASES = {".tflite": ("litert", LITERT), ".onnx": ("onnxruntime", ONNX_RUNTIME)}
"""The engine of each file format, by suffix."""
WARM_PROCESSES = 4
"""Processes that run before the state *known*: later ones repeat measurements that the first one took under load."""


@dataclass(frozen=True)
class Start:
    """Milliseconds of wall time and of processor time, MB of peak memory, and the number of loaded modules."""

    wall: float
    cpu: float
    peak: float
    modules: float


def start(program: str, path: Path, home: Path, cache: Path | str, threads: int, *tuning: str) -> Start:
    """Run a process up to its first result. A failure raises RuntimeError with the last line of stderr."""
    command = [sys.executable, "-c", PROGRAM.format(program), str(path), str(cache), str(threads), *tuning]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NNAPI_CACHE_DIR": str(home)})
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("measured")]
    if done.returncode or not lines:
        raise RuntimeError((done.stderr.strip().splitlines() or ["the process printed nothing"])[-1])
    end, seconds, peak, modules = map(float, lines[0])
    return Start((end - begin) * 1e3, seconds * 1e3, peak / 1024, modules)


def measure(path: Path, turns: int, threads: int, folder: Path) -> dict[str, Start]:
    """Return the minimum of each value by state or engine; omit engines that cannot run the model."""
    known, cache = folder / "known", folder / "cache"
    for cache_folder in (*[""] * WARM_PROCESSES, cache, cache):
        start(NNAPI, path, known, cache_folder, threads, "first")
    found: dict[str, list[Start]] = {}
    for turn in range(turns):
        empty = folder / f"first{turn}"
        for state, home, cache_folder in zip(STATES, (empty, known, known), ("", "", cache), strict=True):
            found.setdefault(state, []).append(start(NNAPI, path, home, cache_folder, threads))
        for name, program in [BASES[path.suffix], ("openvino", OPENVINO)]:
            try:
                found.setdefault(name, []).append(start(program, path, known, "", threads))
            except RuntimeError:
                found.pop(name)
    return {
        name: Start(*(min(values) for values in zip(*map(astuple, starts), strict=True)))
        for name, starts in found.items()
    }


def draw(rows: dict[str, dict[str, Start]]) -> Table:
    values = "wall ms", "cpu ms", "peak MB", "modules", "wall ÷", "cpu ÷", "peak ÷"
    shown = Table("model", "size MB", "program", *values, box=None)
    for name, programs in rows.items():
        base = programs.get(BASES[Path(name).suffix][0])
        size = f"{Path(name).stat().st_size / 1e6:.2f}"
        for index, (program, value) in enumerate(programs.items()):
            numbers = (f"{value.wall:.0f}", f"{value.cpu:.0f}", f"{value.peak:.0f}", f"{value.modules:.0f}")
            ratios = ["", "", ""]
            if base is not None and value is not base:
                pairs = (value.wall, base.wall), (value.cpu, base.cpu), (value.peak, base.peak)
                ratios = [f"{ours / theirs:.2f}" for ours, theirs in pairs]
            shown.add_row(*((Path(name).stem, size) if not index else ("", "")), program, *numbers, *ratios)
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    out, rows = Console(), {}
    compileall.compile_dir(Path(nnapi.__file__).parent, quiet=2)  # as the other engines' packages are
    for path in options.models:
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows[str(path)] = measure(path, options.turns, options.threads, Path(folder))
            except RuntimeError as error:
                out.print(f"{path.name} is omitted: {str(error)[:100]}", markup=False)
    out.print(draw(rows))
    if options.json:
        values = {name: {program: asdict(s) for program, s in programs.items()} for name, programs in rows.items()}
        options.json.write_text(json.dumps(values, indent=1))
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
