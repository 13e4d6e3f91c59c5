"""Generate texts with decoders of six families, and count compilations and processor time beside other engines.

    python -m benchmarks.decoders [FAMILY… | FILE.onnx…] [--width 64 256] [--texts 3] [--tokens 64]

Each file runs in processes of nnapi, ONNX Runtime, and OpenVINO with dynamic dimensions, all on one thread.
A text is a prompt with an empty past, and then single tokens. ``text1`` contains compilations; for the other texts,
``÷`` is nnapi's processor time divided by that of the faster of the two other engines in the same text. The lengths
of prompts differ. VITS and the network of speech, which have no past, read texts that grow by a letter. Exporting a
family needs torch and transformers; a file is run as it is. The values of all engines must agree within 1e-4 of the
largest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.decoder_networks import FAMILIES, SOURCE, WITHOUT_POSITIONS, make

PROMPTS = 6, 9, 7, 5
"""Lengths of the texts' prompts, in turn."""
ENGINES = "nnapi.onnx", "onnxruntime", "openvino"
CLOSE = 1e-4
Run = Callable[[dict[str, Any]], Sequence[Any]]
Inputs = dict[str, list[int]]
"""The dimensions of inputs by name; 0 for dynamic ones."""


def open_session(engine: str, path: str) -> tuple[Run, Inputs, Callable[[], int]]:
    """Return a function that runs a file, its inputs, and a function that returns the number of compilations."""
    if engine == "openvino":
        return open_openvino(path)
    module = __import__(engine, fromlist=["InferenceSession"])
    options = module.SessionOptions()
    options.intra_op_num_threads = 1
    session = module.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = {each.name: [size if isinstance(size, int) else 0 for size in each.shape] for each in session.get_inputs()}
    explain = getattr(session, "explain", str)
    return (lambda feed: session.run(None, feed)), inputs, lambda: explain().count(": compiled in")


def open_openvino(path: str) -> tuple[Run, Inputs, Callable[[], int]]:
    import openvino as ov

    core = ov.Core()
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
    compiled = core.compile_model(core.read_model(path), "CPU", options | {"ENABLE_CPU_PINNING": False})
    request, names = compiled.create_infer_request(), [each.any_name for each in compiled.inputs]

    def run(feed: dict[str, Any]) -> list[Any]:
        for position, name in enumerate(names):
            request.set_input_tensor(position, ov.Tensor(np.ascontiguousarray(feed[name]), shared_memory=True))
        request.infer()
        return [request.get_output_tensor(position).data.copy() for position in range(len(compiled.outputs))]

    shapes = [each.partial_shape for each in compiled.inputs]
    inputs = [[0 if size.is_dynamic else size.get_length() for size in shape] for shape in shapes]
    return run, dict(zip(names, inputs, strict=True)), lambda: 1


def generate(run: Run, inputs: Inputs, text: int, tokens: int) -> list[Any]:
    """Return the results of each step of a text: those for its last token, and the most likely next one."""
    rng = np.random.default_rng(text)
    fixed = {
        name: rng.normal(size=[size or SOURCE for size in shape]).astype(np.float32)
        for name, shape in inputs.items()
        if name.startswith("cross")
    }
    past = {name: np.zeros(shape, np.float32) for name, shape in inputs.items() if name.startswith("past")}
    ids, total, found = rng.integers(1, 39, (1, PROMPTS[text % len(PROMPTS)])), 0, []
    for _ in range(tokens):
        total += ids.shape[1]
        places = np.arange(total - ids.shape[1], total)[None]
        given = {"ids": ids, "mask": np.ones((1, total), np.int64), "position_ids": places, **past, **fixed}
        values, *present = run({name: given[name] for name in inputs})
        found.append(values[0, -1].reshape(-1))
        if past:
            ids = np.array([[int(found[-1].argmax())]])
            past = dict(zip(past, present, strict=True))
        else:
            ids, total = np.concatenate([ids, rng.integers(1, 39, (1, 1))], 1), 0
    return found


def time_texts(engine: str, path: str, texts: int, tokens: int, results: str) -> dict[str, Any]:
    """Return the processor time of each text and the number of compilations; write the values of all steps."""
    begin, seconds, found = time.process_time(), [], []
    run, inputs, count = open_session(engine, path)
    for text in range(texts):
        found += generate(run, inputs, text, tokens)
        seconds.append(time.process_time() - begin)
        begin = time.process_time()
    np.savez(results, *found)
    return {"seconds": seconds, "compilations": count()}


def compare(path: Path, texts: int, tokens: int) -> dict[str, Any]:
    """Return nnapi's compilations, the first text's seconds, and the ratio of each further text to the faster of other
    engines."""
    with tempfile.TemporaryDirectory(prefix="decoders-") as folder:
        found, values = {}, {}
        for engine in ENGINES:
            results = Path(folder) / f"{engine}.npz"
            command = [sys.executable, "-m", "benchmarks.decoders", "--one", engine, str(path), str(results)]
            environment = {**os.environ, "NNAPI_CACHE_DIR": folder}
            done = subprocess.run(
                [*command, "--texts", str(texts), "--tokens", str(tokens)],
                capture_output=True, text=True, env=environment, check=True,
            )  # fmt: skip
            found[engine] = json.loads(done.stdout.splitlines()[-1])
            with np.load(results) as arrays:
                values[engine] = [arrays[name] for name in arrays.files]
    ours, *others = (found[engine]["seconds"] for engine in ENGINES)
    fastest = [min(pair) for pair in zip(*others, strict=True)]
    return {
        "error": measure_error(values[ENGINES[0]], values[ENGINES[1]]),
        "compilations": found[ENGINES[0]]["compilations"],
        "text1": round(ours[0], 2),
        "text1 ÷": round(ours[0] / fastest[0], 2),
        **{f"text{i + 1} ÷": round(ours[i] / fastest[i], 2) for i in range(1, texts)},
        "text2 ÷ raw OpenVINO": round(ours[1] / found["openvino"]["seconds"][1], 2) if texts > 1 else None,
    }


def measure_error(ours: Sequence[Any], theirs: Sequence[Any]) -> float:
    """Return the largest difference relative to the largest value of a step."""
    pairs = zip(ours, theirs, strict=True)
    return max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in pairs)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(FAMILIES), metavar="FAMILY or FILE")
    parser.add_argument("--width", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--texts", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        engine, path, results = options.names
        print(json.dumps(time_texts(engine, path, options.texts, options.tokens, results)))
        return 0
    worst = 0.0
    with tempfile.TemporaryDirectory(prefix="decoders-") as folder:
        files = [Path(name) for name in options.names if name.endswith(".onnx")]
        files += [
            make(name, width, Path(folder), positions=positions)
            for name in options.names
            if name in FAMILIES
            for width in options.width
            for positions in ([False] if name in WITHOUT_POSITIONS else [False, True])
        ]
        for path in files:
            found = compare(path, options.texts, options.tokens)
            worst = max(worst, found["error"])
            print(
                f"{path.stem:24}", "  ".join(f"{key} {value:.4g}" for key, value in found.items() if value), flush=True
            )
    return 0 if worst <= CLOSE else 1


if __name__ == "__main__":
    sys.exit(main())
