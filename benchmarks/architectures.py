"""Load, compare, export and time public architectures with random weights that PyTorch exports.

    python -m benchmarks.architectures [NAME… | --seed NUMBER]

The program needs torch and onnxruntime. It omits the architectures of torchvision, timm and transformers if these are
not installed. Each architecture runs in a process of its own. ``error`` is the largest difference from ONNX Runtime
relative to the largest value; for detectors, it says whether both find the same boxes. ``ratio`` is nnapi's time of a
run divided by ONNX Runtime's, both with two threads and both the minimum of 20 turns of ten runs. ``first``,
``memory``, ``new_shape`` and ``further_shape`` are ratios of :mod:`benchmarks.session_costs` on one thread; the batch
of their file is dynamic. The last architecture is a decoder that generates 64 tokens with past keys. ``--seed`` chooses
20 architectures at random.
"""

from __future__ import annotations

import json
import logging
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import detections, session_costs
from benchmarks.detection_networks import DETECTORS
from benchmarks.networks import NETWORKS
from nnapi.importers.import_cache import SETTLED

VISION = {
    "torchvision": "alexnet vgg11 resnet18 resnet50 squeezenet1_1 densenet121 googlenet inception_v3 mobilenet_v2 "
    "mobilenet_v3_large shufflenet_v2_x1_0 mnasnet1_0 regnet_y_400mf resnext50_32x4d efficientnet_b0 convnext_tiny "
    "vit_b_16 swin_t maxvit_t",
    "timm": "mobilevit_s ghostnet_100 repvgg_a0 mixer_s16_224 deit_tiny_patch16_224 poolformer_s12 edgenext_small "
    "levit_128 res2net50_26w_4s hrnet_w18_small",
}
"""Image classifiers by library."""
TEXT = "Bert Roberta DistilBert Electra Albert MobileBert GPT2 MPNet SqueezeBert ConvBert Deberta"
"""Encoders and decoders of transformers, four layers each."""
SAMPLE = 20
"""Number of architectures that a seed chooses."""
TIMEOUT, TURNS, RUNS_PER_TURN = 600, 20, 10
"""Seconds that an architecture may take, turns of each engine, and runs in a turn."""
PAUSE = 20e-3
"""Seconds before a turn, in which the threads of the other engine stop spinning."""


def list_names() -> list[str]:
    """Return the architectures whose library is installed."""
    names = [f"{library}.{name}" for library, kinds in VISION.items() if find_spec(library) for name in kinds.split()]
    if find_spec("transformers"):
        names += [f"transformers.{name}" for name in TEXT.split()]
    return [*names, *NETWORKS, *DETECTORS, "decoder"]


def make(name: str) -> tuple[Any, list[Any]]:
    """Return the module and the inputs of an architecture."""
    import torch

    torch.manual_seed(0)
    if made := NETWORKS.get(name) or DETECTORS.get(name):
        return made()
    library, _, kind = name.partition(".")
    if library == "transformers":
        import transformers

        small = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 256}
        if kind == "GPT2":
            small = {"n_embd": 128, "n_layer": 4, "n_head": 4}
        if kind == "DistilBert":
            small = {"dim": 128, "n_layers": 4, "n_heads": 4, "hidden_dim": 256}
        if kind == "SqueezeBert":
            small["embedding_size"] = 128
        config = getattr(transformers, f"{kind}Config")(**small)
        config._attn_implementation = "eager"
        inputs = [torch.randint(5, 900, (1, 32)), torch.ones(1, 32).long()]
        return wrap_text(getattr(transformers, f"{kind}Model")(config)), inputs
    size = 299 if kind == "inception_v3" else 224
    if library == "timm":
        import timm

        return timm.create_model(kind, pretrained=False), [torch.randn(1, 3, size, size)]
    import torchvision

    return torchvision.models.get_model(kind, weights=None), [torch.randn(1, 3, size, size)]


def wrap_text(model: Any) -> Any:
    """Wrap a model of transformers as a module that computes hidden states from ids and a mask."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: Any, mask: Any) -> Any:
            return self.model(input_ids=ids, attention_mask=mask)[0]

    return Wrapped()


def save(module: Any, inputs: Sequence[Any], path: Path, *, dynamic: bool = False) -> None:
    """Export a module; with ``dynamic``, for batches of any size."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        names = [f"input{i}" for i in range(len(inputs))]
        options: dict[str, Any] = {"input_names": names, "opset_version": 17, "dynamo": False}
        axes = {name: {0: "batch"} for name in names} if dynamic else None
        try:
            torch.onnx.export(module.eval(), tuple(inputs), str(path), dynamic_axes=axes, **options)
        except Exception:  # the older exporter cannot trace it
            if dynamic:
                raise
            options |= {"opset_version": 18, "dynamo": True, "verbose": False}
            torch.onnx.export(module.eval(), tuple(inputs), str(path), **options)


def try_one(name: str, folder: Path) -> dict[str, Any]:
    """Return the result of each step with one architecture: compilation, comparison, timing, exports.

    The results are printed before each export, because the engine that runs the exported file may abort the process.
    """
    import onnxruntime

    import nnapi

    found: dict[str, Any] = {"name": name}
    module, inputs = make(name)
    path = folder / "model.onnx"
    save(module, inputs, path)
    arrays = [each.numpy() for each in inputs]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(str(path), options)
    feed = {end.name: array for end, array in zip(session.get_inputs(), arrays, strict=True)}
    theirs = session.run(None, feed)
    begin = time.perf_counter()
    model = nnapi.load(path)
    compiled = nnapi.compile(model, threads=2)
    found["compiled"] = round(time.perf_counter() - begin, 2)
    ours = [array.astype(np.int32) if array.dtype == np.int64 else array for array in arrays]
    compare = detections.compare if name in DETECTORS else distance
    found["error"] = compare(compiled.run(*ours), theirs)
    found["ratio"] = round(best(lambda: compiled.run(*ours), lambda: session.run(None, feed)), 2)
    print(json.dumps(found), flush=True)
    try:
        save(module, inputs, folder / "dynamic.onnx", dynamic=True)
        found |= session_costs.compare(folder / "dynamic.onnx", arrays)
    except Exception as error:
        found["first"] = f"not measured: {str(error).strip()[:60]}"
    print(json.dumps(found), flush=True)
    for suffix, run in ((".onnx", run_onnxruntime), (".tflite", run_litert)):
        try:
            nnapi.export(model, folder / f"again{suffix}")
        except nnapi.NnapiError as error:
            found[suffix] = f"refused: {error.message[:80]}"
            continue
        found[suffix] = "aborted"
        print(json.dumps(found), flush=True)
        found[suffix] = compare(run(folder / f"again{suffix}", ours), theirs)
    return found


def run_onnxruntime(path: Path, arrays: Sequence[Any]) -> list[Any]:
    from tests.exporters import exported_cases

    return list(exported_cases.run_onnxruntime(path, arrays))


def run_litert(path: Path, arrays: Sequence[Any]) -> list[Any]:
    from tests.exporters import exported_cases

    return list(exported_cases.run_litert(path, arrays))


def distance(ours: Sequence[Any], theirs: Sequence[Any]) -> str:
    """Return the largest difference relative to the largest value."""
    differences = [
        np.abs(a.astype(np.float64).reshape(b.shape) - b).max() / max(np.abs(b).max(), 1e-30)
        for a, b in zip(ours, theirs, strict=True)
    ]
    return f"{max(differences):.0e}"


def best(ours: Callable[[], object], theirs: Callable[[], object]) -> float:
    """Return the ratio of the minimum times of two functions that run in turns."""
    times: list[list[float]] = [[], []]
    for _ in range(TURNS):
        for seconds, run in zip(times, (ours, theirs), strict=True):
            time.sleep(PAUSE)
            for _ in range(RUNS_PER_TURN):
                begin = time.perf_counter()
                run()
                seconds.append(time.perf_counter() - begin)
    return min(times[0]) / min(times[1])


def generate(folder: Path, layers: int = 4, heads: int = 4, width: int = 256, tokens: int = 64) -> dict[str, Any]:
    """Generate tokens with a decoder and its past keys. Return the number of compilations, and the total time divided
    by ONNX Runtime's: with a new file, and with a file whose import is cached."""
    import onnxruntime
    import torch

    import nnapi.onnx

    class Decoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = torch.nn.Embedding(1000, width), torch.nn.Linear(width, 1000)
            self.blocks = torch.nn.ModuleList(
                torch.nn.ModuleDict(
                    {
                        "norm": torch.nn.LayerNorm(width),
                        "in": torch.nn.Linear(width, 3 * width),
                        "out": torch.nn.Linear(width, width),
                        "up": torch.nn.Linear(width, 4 * width),
                        "down": torch.nn.Linear(4 * width, width),
                    }
                )
                for _ in range(layers)
            )

        def forward(self, ids: Any, mask: Any, *past: Any) -> Any:
            x, present = self.embed(ids), []
            bias = ((1 - mask.float()) * -1e9)[:, None, None, :]
            for block, keys, values in zip(self.blocks, past[::2], past[1::2], strict=True):
                parts = block["in"](block["norm"](x)).view(x.shape[0], x.shape[1], 3, heads, -1).permute(2, 0, 3, 1, 4)
                keys, values = torch.cat([keys, parts[1]], 2), torch.cat([values, parts[2]], 2)
                scores = parts[0] @ keys.transpose(2, 3) / (width // heads) ** 0.5 + bias
                mixed = (scores.softmax(-1) @ values).transpose(1, 2).reshape(x.shape)
                x = x + block["out"](mixed)
                x = x + block["down"](torch.nn.functional.gelu(block["up"](x)))
                present += [keys, values]
            return self.head(x), *present

    torch.manual_seed(0)
    past = [torch.randn(1, heads, 3, width // heads) for _ in range(2 * layers)]
    names = [f"past{i}" for i in range(2 * layers)]
    axes = {
        "mask": {1: "total"},
        **{name: {2: "past"} for name in names},
        **{f"present{i}": {2: "total"} for i in range(2 * layers)},
    }
    outputs = ["logits", *(f"present{i}" for i in range(2 * layers))]
    path = folder / "decoder.onnx"
    given = (torch.ones(1, 1).long(), torch.ones(1, 4).long(), *past)
    torch.onnx.export(
        Decoder().eval(), given, str(path), input_names=["ids", "mask", *names], output_names=outputs,
        dynamic_axes=axes, opset_version=17, dynamo=False,
    )  # fmt: skip

    def run(make: Callable[[], Any]) -> tuple[float, float, list[int], Any]:
        begin = time.perf_counter()
        session, state, token = make(), [np.ones((1, heads, 1, width // heads), np.float32)] * (2 * layers), 1
        generated = []
        ready = time.perf_counter() - begin
        for length in range(1, tokens + 1):
            feed = {"ids": np.array([[token]]), "mask": np.ones((1, length + 1), np.int64)}
            logits, *state = session.run(None, {**feed, **dict(zip(names, state, strict=True))})
            token = int(logits[0, -1].argmax())
            generated.append(token)
        return time.perf_counter() - begin, ready, generated, session

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    nnapi_options = nnapi.onnx.SessionOptions(intra_op_num_threads=2)
    time.sleep(SETTLED / 1e9)  # the import of a file that changed more recently is not cached
    totals = []
    for _ in range(2):
        theirs, _, expected, _ = run(lambda: onnxruntime.InferenceSession(str(path), options))
        time.sleep(PAUSE)
        total, _, generated, session = run(lambda: nnapi.onnx.InferenceSession(str(path), nnapi_options))
        totals.append(total / theirs)
    return {
        "name": "decoder",
        "error": "same tokens" if generated == expected else "other tokens",
        "compilations": session.explain().count(": compiled in"),
        "seconds": round(total, 2),
        "ratio": round(totals[0], 2),
        "ratio of a cached file": round(totals[1], 2),
    }


def main(names: Sequence[str]) -> None:
    if names[:1] == ["--seed"]:
        names = random.Random(int(names[1])).sample(list_names(), SAMPLE)
    results = []
    for name in names or list_names():
        command = [sys.executable, "-m", "benchmarks.architectures", "--one", name]
        try:
            process = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
            lines, status = process.stdout.splitlines(), process.returncode
            reason = (process.stderr.strip().splitlines() or [""])[-1]
        except subprocess.TimeoutExpired:
            lines, status, reason = [], -1, f"longer than {TIMEOUT} s"
        found = json.loads(lines[-1]) if lines else {"name": name}
        results.append({key: value for key, value in found.items() if not isinstance(value, str)})
        if status:
            found["failed"] = reason[:160]
        print(
            "  ".join(f"{key} {value}" if key != "name" else f"{value:32}" for key, value in found.items()), flush=True
        )
    print(session_costs.summarize(results))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        with tempfile.TemporaryDirectory(prefix="architectures-") as name:
            one = sys.argv[2]
            print(json.dumps(generate(Path(name)) if one == "decoder" else try_one(one, Path(name))), flush=True)
    else:
        main(sys.argv[1:])
