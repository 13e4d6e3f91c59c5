"""Six transformers with random weights beside ONNX Runtime, OpenVINO and LiteRT.

    python -m benchmarks.transformers [NAME…] [--variants float dynamic static] [--threads 1 2] [--folder FOLDER]

Needs torch, transformers and onnxruntime. PyTorch exports each network as .onnx, ONNX Runtime's tool quantizes its
weights (dynamic) or its weights and activations (static), and nnapi exports each .onnx as .tflite. The engines run in
turns in one process; with one thread processor time counts, which other processes disturb less. ``ratio`` is the time
of the fastest other engine over ours, of the medians and of the minima: above 1 nnapi is faster. ``error`` is the
largest difference from ONNX Runtime, relative to its largest value. Files are cached in FOLDER, by default the folder
nnapi-transformers in the folder for temporary files.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(tempfile.gettempdir()) / "nnapi-transformers"
VARIANTS = "float", "dynamic", "static"
SECONDS, LEAST = 4.0, 12
"""Seconds that all engines together run, and runs of each at least."""
WORDS, HEADS, WIDTH, LAYERS = 1000, 4, 256, 4
"""The sizes of the decoder."""

Feed = dict[str, Any]
Run = Callable[[], Sequence[Any]]


class Network(NamedTuple):
    """A module of PyTorch, its inputs by name, the names of its outputs, and the names of dynamic dimensions."""

    module: Any
    inputs: Feed
    outputs: Sequence[str]
    axes: Mapping[str, Mapping[int, str]] = {}


def wrap(model: Any, names: Sequence[str], output: str = "last_hidden_state") -> Any:
    """Return a model of transformers as a module of positional inputs with one output."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *given: Any) -> Any:
            return getattr(self.model(**dict(zip(names, given, strict=True))), output)

    return Wrapped()


def make_text(hidden: int, layers: int, heads: int, length: int, *, is_dynamic: bool) -> Network:
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * hidden
    )
    config._attn_implementation = "eager"
    names = "input_ids", "attention_mask"
    inputs = {names[0]: torch.randint(5, 30000, (1, length)), names[1]: torch.ones(1, length).long()}
    axes = {name: {1: "sequence"} for name in (*names, "output")} if is_dynamic else {}
    return Network(wrap(BertModel(config), names), inputs, ["output"], axes)


def make_vit() -> Network:
    import torch
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768)
    config._attn_implementation = "eager"
    return Network(wrap(ViTModel(config), ["pixel_values"]), {"pixel_values": torch.randn(1, 3, 224, 224)}, ["output"])


def make_whisper() -> Network:
    import torch
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig()  # the tiny one
    config._attn_implementation = "eager"
    inputs = {"input_features": torch.randn(1, 80, 3000)}
    return Network(wrap(WhisperEncoder(config), ["input_features"]), inputs, ["output"])


def make_segformer() -> Network:
    import torch
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    model = SegformerForSemanticSegmentation(SegformerConfig(num_labels=150))  # B0
    inputs = {"pixel_values": torch.randn(1, 3, 256, 256)}
    return Network(wrap(model, ["pixel_values"], "logits"), inputs, ["output"])


def make_decoder() -> Network:
    """Return a decoder with rotary embeddings that reads past keys and values, and writes them one token longer."""
    import torch

    def rotate(x: Any, cosine: Any, sine: Any) -> Any:
        low, high = x.chunk(2, -1)
        return x * cosine + torch.cat([-high, low], -1) * sine

    class Decoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            linear = torch.nn.Linear
            self.embed, self.head = torch.nn.Embedding(WORDS, WIDTH), linear(WIDTH, WORDS)
            self.frequencies = torch.nn.Parameter(1e4 ** -torch.linspace(0, 1, WIDTH // HEADS // 2))
            self.blocks = torch.nn.ModuleList(
                torch.nn.ModuleDict(
                    {
                        "norm": torch.nn.LayerNorm(WIDTH),
                        "in": linear(WIDTH, 3 * WIDTH),
                        "out": linear(WIDTH, WIDTH),
                        "next": torch.nn.LayerNorm(WIDTH),
                        "up": linear(WIDTH, 4 * WIDTH),
                        "down": linear(4 * WIDTH, WIDTH),
                    }
                )
                for _ in range(LAYERS)
            )

        def forward(self, ids: Any, mask: Any, *past: Any) -> Any:
            x, present = self.embed(ids), []
            bias = ((1 - mask.float()) * -1e9)[:, None, None, :]
            position = mask.float().sum(1, keepdim=True)[:, :, None] - 1
            angles = torch.cat([position * self.frequencies] * 2, -1)[:, None]
            cosine, sine = angles.cos(), angles.sin()
            for block, keys, values in zip(self.blocks, past[::2], past[1::2], strict=True):
                parts = block["in"](block["norm"](x)).view(1, -1, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
                query = rotate(parts[0], cosine, sine)
                keys = torch.cat([keys, rotate(parts[1], cosine, sine)], 2)
                values = torch.cat([values, parts[2]], 2)
                scores = query @ keys.transpose(2, 3) / (WIDTH // HEADS) ** 0.5 + bias
                x = x + block["out"]((scores.softmax(-1) @ values).transpose(1, 2).reshape(x.shape))
                x = x + block["down"](torch.nn.functional.gelu(block["up"](block["next"](x))))
                present += [keys, values]
            return self.head(x), *present

    names = [f"past{i}" for i in range(2 * LAYERS)]
    past = {name: torch.randn(1, HEADS, 32, WIDTH // HEADS) for name in names}
    inputs = {"ids": torch.ones(1, 1).long(), "mask": torch.ones(1, 33).long(), **past}
    later = [f"present{i}" for i in range(2 * LAYERS)]
    axes = {"mask": {1: "total"}, **{name: {2: "past"} for name in names}, **{name: {2: "total"} for name in later}}
    return Network(Decoder(), inputs, ["logits", *later], axes)


NETWORKS: dict[str, Callable[[], Network]] = {
    "bert-mini": lambda: make_text(256, 4, 4, 128, is_dynamic=False),
    "minilm": lambda: make_text(384, 6, 12, 128, is_dynamic=True),
    "vit-tiny": make_vit,
    "whisper-tiny": make_whisper,
    "decoder": make_decoder,
    "segformer-b0": make_segformer,
}


def make(name: str, folder: Path) -> tuple[Path, Feed]:
    """Return the .onnx file of a network and arrays to run it with; make both if necessary."""
    import torch

    path, arrays = folder / f"{name}.onnx", folder / f"{name}.npz"
    if not arrays.exists():
        torch.manual_seed(0)
        network = NETWORKS[name]()
        np.savez(arrays, **{key: value.numpy() for key, value in network.inputs.items()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            logging.disable(logging.WARNING)
            torch.onnx.export(
                network.module.eval(), tuple(network.inputs.values()), str(path), input_names=[*network.inputs],
                output_names=network.outputs, dynamic_axes=network.axes, opset_version=17, dynamo=False,
            )  # fmt: skip
    return path, dict(np.load(arrays))


def quantize(path: Path, variant: str, feed: Feed) -> Path:
    """Return the file of a variant, which ONNX Runtime's tool makes if necessary."""
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
    """The inputs of a calibration."""

    def __init__(self, feeds: Iterable[Feed]) -> None:
        self._feeds = iter(feeds)

    def get_next(self) -> Feed | None:
        return next(self._feeds, None)


def narrow(feed: Feed) -> list[Any]:
    return [value.astype(np.int32) if value.dtype == np.int64 else value for value in feed.values()]


def open_nnapi(path: Path, feed: Feed, threads: int) -> Run:
    """Return a run on the plan that trials chose."""
    import nnapi

    shapes = {name: value.shape for name, value in feed.items()} if path.suffix == ".onnx" else None
    with nnapi.settings(tuning=True):
        compiled = nnapi.compile(nnapi.load(path, shapes=shapes), threads=threads, cache=False)
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
    """Return a run by OpenVINO in float32 on the file's static shapes, without copies of inputs and outputs."""
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
    """Return the .tflite file that nnapi exports a file as, for the shapes of the inputs."""
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
    while time.perf_counter() < end or len(times["nnapi"]) < LEAST:
        for name, run in runs.items():
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
        best = min((value for label, value in summary.items() if label.startswith("nnapi")), default=0)
        cells.append(f"ratio {statistic.__name__} {min(others) / best:.2f}" if others and best else "")
    cells += [f"{label} {1e3 * statistics.median(values):.2f}" for label, values in times.items()]
    print("  ".join([*cells, *failed]), flush=True)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(NETWORKS))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--here", action="store_true", help="run in this process")
    return parser.parse_args(arguments)


def main() -> None:
    options = parse()
    options.folder.mkdir(exist_ok=True)
    for name in options.names:
        for variant in options.variants:
            for threads in options.threads:
                if options.here:
                    compare(name, variant, threads, options.folder)
                    continue
                words = [name, "--variants", variant, "--threads", str(threads), "--folder", str(options.folder)]
                command = [sys.executable, "-m", "benchmarks.transformers", *words, "--here"]
                process = subprocess.run(command, stdout=None, stderr=subprocess.PIPE, text=True, check=False)
                if process.returncode:
                    reason = (process.stderr.strip().splitlines() or [""])[-1]
                    print(f"{name:13} {variant:8} {threads}  failed: {process.returncode} {reason[:140]}", flush=True)


if __name__ == "__main__":
    main()
