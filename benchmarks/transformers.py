"""Compare nnapi with ONNX Runtime, OpenVINO and LiteRT on six transformers with random weights.

    python -m benchmarks.transformers [NAME…] [--variants float dynamic static] [--threads 1 2] [--folder FOLDER]

The program needs torch, transformers and onnxruntime. PyTorch exports each network as .onnx, ONNX Runtime's tool
quantizes its weights (dynamic) or its weights and activations (static), and nnapi exports each .onnx as .tflite. The
engines run in turns in one process. With one thread, times are processor time, which other load disturbs less.

``ratio`` is the time of the fastest other engine divided by nnapi's, of the medians and of the minima: above 1, nnapi
is faster. ``best`` is the same with nnapi's fastest device and file instead of the plan that trials chose. ``error`` is
the largest difference from ONNX Runtime, relative to its largest value. Files are cached in FOLDER, by default the
folder nnapi-transformers in the folder for temporary files. NAME "lengths" times the first run at each of 50 new
lengths.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.transformer_networks import NETWORKS, Feed, make

FOLDER = Path(tempfile.gettempdir()) / "nnapi-transformers"
VARIANTS = "float", "dynamic", "static"
SECONDS, LEAST_RUNS, PAUSE = 4.0, 12, 0.05
"""Seconds that all engines together run, the least number of runs of each, and the pause before a run on several
threads, in which the threads of the previous engine stop spinning."""

Run = Callable[[], Sequence[Any]]


def quantize(path: Path, variant: str, feed: Feed) -> Path:
    """Return the file of a variant; if necessary, make it with ONNX Runtime's tool."""
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    made = path.with_stem(f"{path.stem}-{variant}")
    if variant == "float":
        return path
    if not made.exists():
        prepared = path.with_stem(f"{path.stem}-prepared")
        quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
        if variant == "dynamic":
            quantization.quantize_dynamic(prepared, made, weight_type=quantization.QuantType.QInt8)
        else:
            signed = quantization.QuantType.QInt8
            reader = _Reader([feed, {key: vary(value) for key, value in feed.items()}])
            quantization.quantize_static(
                prepared, made, reader, per_channel=True, activation_type=signed, weight_type=signed
            )
    return made


def vary(array: Any) -> Any:
    return array[..., ::-1].copy() if array.dtype == np.float32 else array


class _Reader:
    """Reads the inputs of a calibration."""

    def __init__(self, feeds: Iterable[Feed]) -> None:
        self._feeds = iter(feeds)

    def get_next(self) -> Feed | None:
        return next(self._feeds, None)


def narrow(feed: Feed) -> list[Any]:
    return [value.astype(np.int32) if value.dtype == np.int64 else value for value in feed.values()]


def open_nnapi(path: Path, feed: Feed, threads: int, device: str | None = None) -> Run:
    """Return a run on a device, by default with the plan that trials choose."""
    import nnapi

    if path.suffix == ".onnx":
        model = nnapi.load(path, shapes={name: value.shape for name, value in feed.items()})
    else:
        model = nnapi.load(path, weights="dynamic-range")
    with nnapi.settings(tuning=True):
        compiled = nnapi.compile(model, device, threads=threads, cache=False)
    arrays = narrow(feed)
    compiled.run(*arrays)
    compiled.pin()
    return lambda: compiled.run(*arrays)


def open_onnxruntime(path: Path, feed: Feed, threads: int) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(str(path), options)
    return lambda: session.run(None, feed)  # type: ignore[no-any-return]


def open_openvino(path: Path, feed: Feed, threads: int) -> Run:
    """Return a run in OpenVINO, in float32 and with static shapes, without copies of inputs and outputs."""
    import openvino as ov

    core = ov.Core()
    model = core.read_model(path)
    arrays = [*feed.values()] if path.suffix == ".onnx" else narrow(feed)
    model.reshape({port: value.shape for port, value in zip(model.inputs, arrays, strict=True)})
    hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads}
    request = core.compile_model(model, "CPU", hints).create_infer_request()
    for index, value in enumerate(arrays):
        request.set_input_tensor(index, ov.Tensor(value, shared_memory=True))

    def run() -> Sequence[Any]:
        request.infer()
        return [each.data for each in request.output_tensors]

    return run


def open_litert(path: Path, feed: Feed, threads: int) -> Run:
    from ai_edge_litert import interpreter as litert

    interpreter = litert.Interpreter(str(path), num_threads=threads)
    for entry, value in zip(interpreter.get_input_details(), feed.values(), strict=True):
        interpreter.resize_tensor_input(entry["index"], value.shape)
    interpreter.allocate_tensors()
    for entry, value in zip(interpreter.get_input_details(), narrow(feed), strict=True):
        interpreter.set_tensor(entry["index"], value)
    outputs = [entry["index"] for entry in interpreter.get_output_details()]

    def run() -> Sequence[Any]:
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in outputs]

    return run


def export(path: Path, feed: Feed) -> Path:
    """Return the .tflite file that nnapi exports from an .onnx file for the shapes of the inputs."""
    import nnapi

    made = path.with_suffix(".tflite")
    if not made.exists():
        nnapi.export(nnapi.load(path, shapes={name: value.shape for name, value in feed.items()}), made)
    return made


def measure(runs: Mapping[str, Run], clock: Callable[[], float]) -> dict[str, list[float]]:
    """Return the seconds of each run, taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times["nnapi"]) < LEAST_RUNS:
        for name, run in runs.items():
            if clock is time.perf_counter:
                time.sleep(PAUSE)
            begin = clock()
            run()
            times[name].append(clock() - begin)
    return times


def distance(ours: Sequence[Any], theirs: Sequence[Any]) -> float:
    """Return the largest difference relative to the largest value."""
    return max(
        float(np.abs(a.astype(np.float64).reshape(b.shape) - b).max() / max(np.abs(b).max(), 1e-30))
        for a, b in zip(ours, theirs, strict=True)
    )


def compare(name: str, variant: str, threads: int, folder: Path) -> None:
    """Print the line of one network, variant and number of threads."""
    path, feed = make(name, folder)
    path = quantize(path, variant, feed)
    runs: dict[str, Run] = {}
    failed = []
    for label, opens, suffix in (
        ("nnapi", open_nnapi, ".onnx"),
        ("onnxruntime", open_onnxruntime, ".onnx"),
        ("openvino", open_openvino, ".onnx"),
        ("litert", open_litert, ".tflite"),
        ("nnapi-tflite", open_nnapi, ".tflite"),
        ("nnapi-xnnpack", partial(open_nnapi, device="xnnpack-cpu"), ".onnx"),
        ("nnapi-openvino", partial(open_nnapi, device="openvino-cpu"), ".onnx"),
    ):
        try:
            run = opens(path if suffix == ".onnx" else export(path, feed), feed, threads)
            run()
            runs[label] = run
        except Exception as error:  # an engine that fails is reported, and the others run
            failed.append(f"{label}: {str(error).strip().splitlines()[0][:90] if str(error) else type(error).__name__}")
    clock = time.process_time if threads == 1 else time.perf_counter
    times = measure(runs, clock) if "nnapi" in runs else {}
    cells = [f"{name:13} {variant:8} {threads}"]
    if times and "onnxruntime" in runs:
        cells.append(f"error {distance(runs['nnapi'](), runs['onnxruntime']()):.0e}")
    for statistic in (statistics.median, min):
        summary = {label: statistic(values) for label, values in times.items()}
        others = [value for label, value in summary.items() if not label.startswith("nnapi")]
        if others:
            best = min(value for label, value in summary.items() if label.startswith("nnapi"))
            ratios = f"{min(others) / summary['nnapi']:.2f}, best {min(others) / best:.2f}"
            cells.append(f"ratio of {statistic.__name__}s {ratios}")
    cells += [f"{label} {1e3 * statistics.median(values):.2f}" for label, values in times.items()]
    print("  ".join([*cells, *failed]), flush=True)


def compare_lengths(folder: Path, *, count: int = 50) -> None:
    """Print the median processor time of the first run at new lengths, its ratio to OpenVINO's time for reshape,
    compilation and run, and the largest error relative to ONNX Runtime."""
    import onnxruntime
    import openvino as ov

    import nnapi.onnx

    path, _ = make("minilm", folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    theirs = onnxruntime.InferenceSession(str(path), options)
    single = nnapi.onnx.SessionOptions(intra_op_num_threads=1)
    sessions = {
        "exact": nnapi.onnx.InferenceSession(str(path), single),
        "bucket": nnapi.onnx.InferenceSession(str(path), single, dynamic="bucket"),
    }
    core, model = ov.Core(), ov.Core().read_model(path)
    hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    times: dict[str, list[float]] = {name: [] for name in (*sessions, "openvino")}
    error, rng = 0.0, np.random.default_rng(0)
    for length in rng.permutation(np.arange(5, 200))[:count]:
        ids, mask = rng.integers(5, 30000, (1, length)), np.ones((1, length), np.int64)
        feed = {"input_ids": ids, "attention_mask": mask}
        expected = theirs.run(None, feed)
        for name, session in sessions.items():
            begin = time.process_time()
            found = session.run(None, feed)
            times[name].append(time.process_time() - begin)
            error = max(error, distance(found, expected))
        begin = time.process_time()
        model.reshape({port: [1, int(length)] for port in model.inputs})
        core.compile_model(model, "CPU", hints)([ids, mask])
        times["openvino"].append(time.process_time() - begin)
    usual = {name: statistics.median(values) for name, values in times.items()}
    cells = [f"{name} {1e3 * value:.0f} ms, {value / usual['openvino']:.2f}" for name, value in usual.items()]
    print("  ".join([f"{count} new lengths", f"error {error:.0e}", *cells]), flush=True)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[*NETWORKS, "lengths"])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--here", action="store_true", help="run in this process")
    return parser.parse_args(arguments)


def main() -> None:
    options = parse()
    options.folder.mkdir(exist_ok=True)
    if "lengths" in options.names:
        compare_lengths(options.folder)
    for name in (each for each in options.names if each != "lengths"):
        for variant in options.variants:
            for threads in options.threads:
                if options.here:
                    compare(name, variant, threads, options.folder)
                    continue
                arguments = [name, "--variants", variant, "--threads", str(threads), "--folder", str(options.folder)]
                command = [sys.executable, "-m", "benchmarks.transformers", *arguments, "--here"]
                with tempfile.TemporaryDirectory() as cache:  # empty, so that earlier choices do not count
                    variables = os.environ | {"NNAPI_CACHE_DIR": cache}
                    process = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, env=variables)
                if process.returncode:
                    reason = (process.stderr.strip().splitlines() or [""])[-1]
                    print(f"{name:13} {variant:8} {threads}  failed: {process.returncode} {reason[:140]}", flush=True)


if __name__ == "__main__":
    main()
