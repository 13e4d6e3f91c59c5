"""Time single convolutions: direct and with fewer multiplications on each engine, in ONNX Runtime and in ncnn.

    python -m benchmarks.convolutions [--rounds 30] [--json FILE] [--bytes]

Each layer is a 3×3 convolution with padding and RELU, on one thread. All programs of a layer run in turn; a time is the
minimum of the process's processor time, which other processes hardly change. A tile such as 64 has six multiplications
per tile along the height and four along the width. ``chosen`` and ``with both`` are the tiles of the cost model for the
two variants, with their speed relative to the fastest permitted tile. The program needs LiteRT and OpenVINO. The
columns of ONNX Runtime and ncnn (``pip install ncnn``) need these.

``--bytes`` times 8-bit layers on ``xnnpack-cpu`` instead: the 8-bit kernel, sums in float32, and each exact tile, as
speeds relative to the 8-bit kernel. It compares the results of the tiles with those of the 8-bit kernel, bit for bit,
on random values and on values that are the minimum or the maximum. A tile that may round is not run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import nnapi
from nnapi.contract.driver import OpenOptions, PrepareOptions
from nnapi.contract.handles import open_handle
from nnapi.contract.winograd import FORCED, IN_BOTH, PLAIN, find_float_width, has_byte_products
from nnapi.drivers.xnnpack import IN_FLOAT
from nnapi.lowering.tile_choice import ACCURATE, BOTH, DIRECT, WHOLE, choose_tile, list_layers
from nnapi.model.model import Model
from nnapi.model.operand import ChannelQuantization
from nnapi.ops.shapes import Pair

LAYERS = [
    *[(112, 112, 32, 32), (112, 112, 64, 64), (56, 56, 64, 64), (28, 28, 128, 128), (14, 14, 256, 256)],
    *[(28, 28, 256, 256), (56, 56, 128, 128), (8, 8, 512, 512)],
    *[(224, 224, 16, 16), (192, 192, 32, 32), (96, 96, 64, 64), (48, 48, 128, 128), (24, 24, 256, 256)],
    *[(12, 12, 512, 512), (80, 80, 64, 64), (40, 40, 128, 128), (20, 20, 256, 256), (80, 80, 32, 64)],
    *[(112, 112, 64, 128), (56, 56, 128, 256), (28, 28, 256, 512), (14, 14, 512, 512), (7, 7, 512, 512)],
    *[(64, 64, 64, 256), (17, 17, 192, 192), (10, 10, 384, 384), (16, 16, 128, 128), (32, 32, 64, 32)],
    *[(52, 52, 96, 96), (26, 26, 160, 160), (13, 13, 320, 320), (8, 64, 128, 128), (32, 100, 64, 64)],
]
"""Height, width, input channels and output channels: eight layers of ResNets and VGG, and others."""
BYTE_LAYERS = [
    *[(56, 56, 24, 96), (28, 28, 40, 160), (128, 128, 64, 64), (64, 64, 64, 64)],
    *[(52, 52, 96, 96), (40, 40, 128, 128), (96, 96, 32, 32), (192, 192, 32, 16)],
]
"""Layers of MobileNet EdgeTPU, of BiSeNetV2, and others."""
SPREAD = 15
"""Standard deviation of stored weights."""
ENGINES = {"xnnpack-cpu": "xnnpack", "openvino-cpu": "openvino"}
"""The devices, and the package of each driver."""
TILES = DIRECT, *ACCURATE, BOTH
Run = Callable[[], Any]


def make_model(height: int, width: int, depth: int, units: int) -> tuple[Model, Any]:
    """Return a convolution with random weights, and an image."""
    random = np.random.default_rng(height * depth)
    filter = random.standard_normal((units, 3, 3, depth)).astype(np.float32) / np.float32(np.sqrt(9 * depth))
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (1, height, width, depth)), "x")
    builder.output(builder.conv_2d(x, filter, np.zeros(units, np.float32), "SAME", 1, 1, "RELU"))
    return builder.finish(), random.standard_normal((1, height, width, depth)).astype(np.float32)


def make_byte_model(height: int, width: int, depth: int, units: int) -> tuple[Model, list[Any]]:
    """Return an 8-bit convolution with random weights, and two images: random values, and minima and maxima."""
    random = np.random.default_rng(height * depth)
    weights = np.clip(np.rint(random.standard_normal((units, 3, 3, depth)) * SPREAD), -127, 127).astype(np.int8)
    scales = random.uniform(0.005, 0.02, units).astype(np.float32)
    type, builder = nnapi.tensor("quant8_asymm_signed", (1, height, width, depth), 0.05, 3), nnapi.Builder()
    x = builder.input(type, "x")
    filter = nnapi.tensor("quant8_symm_per_channel", weights.shape).replace(
        channel=ChannelQuantization(0, tuple(map(float, scales)))
    )
    bias = random.integers(-9999, 9999, units, np.int32)
    constants = builder.constant(weights, filter), builder.constant(bias, nnapi.tensor("int32", bias.shape))
    out = type.replace(dimensions=(1, height, width, units), scale=0.05 * 0.01 * SPREAD * float(np.sqrt(9 * depth)) * 2)
    builder.output(builder.conv_2d(x, *constants, "SAME", 1, 1, "RELU", out=out))
    images = random.integers(-128, 128, type.shape), random.choice([-128, 127], type.shape)
    return builder.finish(), [image.astype(np.int8) for image in images]


def prepare(device: str, model: Model, x: Any, tile: Pair, variant: str = FORCED) -> Callable[[], Any]:
    """Return a function that runs a model with a tile on a device."""
    options = PrepareOptions(threads=1, variant=variant)
    with patch("nnapi.lowering.tile_choice.find_tiles", lambda *_: {0: tile} if tile != DIRECT else {}):
        prepared = nnapi.device(device).driver.prepare(model, options)
    call = open_handle(prepared, OpenOptions([x.shape])).call
    assert call is not None
    return lambda: call([x])[0]


def choose(device: str, model: Model, variant: str) -> Pair:
    """Return the tile that the cost model chooses for the only layer."""
    from nnapi.drivers.openvino import timings as openvino
    from nnapi.drivers.xnnpack import timings as xnnpack

    costs = (xnnpack if device == "xnnpack-cpu" else openvino).find_winograd_costs()
    ((_, layer),) = list_layers(model)
    return choose_tile(costs, layer, variant)[0]


def list_peers(model: Model, x: Any) -> Mapping[str, Run]:
    """Return functions that run the layer in ONNX Runtime and in ncnn, as far as they are installed."""
    found: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as folder:
        if find_spec("onnxruntime"):
            import onnxruntime

            path = Path(folder) / "layer.onnx"
            nnapi.export(model, path)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
            name, shape = session.get_inputs()[0].name, session.get_inputs()[0].shape
            image = x if tuple(shape) == x.shape else np.ascontiguousarray(x.transpose(0, 3, 1, 2))
            found["ONNX Runtime"] = lambda: session.run(None, {name: image})[0]
        if find_spec("ncnn"):
            found["ncnn"] = make_ncnn(model, x, Path(folder))
        return found


def make_ncnn(model: Model, x: Any, folder: Path) -> Run:
    """Return a function that runs the layer in ncnn, in float32 as by default on x86."""
    import ncnn

    filter, bias = (model.operands[index].value for index in model.operations[0].inputs[1:3])
    units, _, _, depth = filter.shape
    _, height, width, _ = x.shape
    head = f"7767517\n2 2\nInput x 0 1 x 0={width} 1={height} 2={depth}\n"
    convolution = f"Convolution c 1 1 x y 0={units} 1=3 4=1 5=1 6={filter.size} 9=1\n"
    (folder / "layer.param").write_text(head + convolution)
    weights = np.ascontiguousarray(filter.transpose(0, 3, 1, 2)).tobytes()
    (folder / "layer.bin").write_bytes(np.uint32(0).tobytes() + weights + bias.tobytes())
    net = ncnn.Net()
    net.opt.num_threads = 1
    for option in ("use_fp16_storage", "use_fp16_arithmetic", "use_fp16_packed", "use_bf16_storage"):
        setattr(net.opt, option, False)
    net.load_param(str(folder / "layer.param"))
    net.load_model(str(folder / "layer.bin"))
    image = ncnn.Mat(np.ascontiguousarray(x[0].transpose(2, 0, 1))).clone()

    def run() -> Any:
        extractor = net.create_extractor()
        extractor.input("x", image)
        return extractor.extract("y")[1]

    return run


def measure(runs: Mapping[Any, Run], rounds: int) -> dict[Any, float]:
    """Return the minimum seconds of each function; they run in turn."""
    best = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(rounds):
        for key, run in runs.items():
            begin = time.process_time()
            run()
            best[key] = min(best[key], time.process_time() - begin)
    return best


def time_bytes(sizes: Sequence[int], rounds: int) -> tuple[dict[str, float], str]:
    """Return the seconds of an 8-bit layer by variant, and whether the exact tiles have the 8-bit kernel's results."""
    model, images = make_byte_model(*sizes)
    ((_, layer),) = list_layers(model, in_bytes=True)
    tiles = [tile for tile in WHOLE if layer.is_exact(tile)]

    def prepare_all(x: Any) -> dict[str, Run]:
        exact = {format_tile(tile): prepare("xnnpack-cpu", model, x, tile) for tile in tiles}
        plain = {name: prepare("xnnpack-cpu", model, x, DIRECT, name) for name in ("", IN_FLOAT)}
        return {**plain, **exact}

    different = 0
    for x in images:
        expected, _, *found = (np.copy(run()) for run in prepare_all(x).values())
        different += sum(int((each != expected).sum()) for each in found)
    same = f"{different} values differ" if different else "equal"
    return measure(prepare_all(images[0]), rounds), same if tiles else "no exact tile"


def print_bytes(rounds: int) -> None:
    print(f"Float vectors: {find_float_width()}; products of bytes: {has_byte_products()}. One thread.\n")
    tiles = [format_tile(tile) for tile in WHOLE]
    header = ["layer", "8-bit kernel, ms", IN_FLOAT, *tiles, "results"]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for sizes in BYTE_LAYERS:
        height, width, depth, units = sizes
        times, same = time_bytes(sizes, rounds)
        direct = times[""]
        speeds = [f"{direct / times[name]:.2f}" if name in times else "–" for name in (IN_FLOAT, *tiles)]
        cells = [f"{height}×{width}, {depth} → {units}", f"{direct * 1e3:.3f}", *speeds, same]
        print(f"| {' | '.join(cells)} |", flush=True)


def format_tile(tile: Pair) -> str:
    return "direct" if tile == DIRECT else f"{tile[0]}{tile[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30, help="runs of each program")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the seconds as JSON")
    parser.add_argument("--bytes", action="store_true", help="time 8-bit layers, and compare their results")
    options = parser.parse_args()
    if options.bytes:
        print_bytes(options.rounds)
        return
    peers = [name for name, package in (("ONNX Runtime", "onnxruntime"), ("ncnn", "ncnn")) if find_spec(package)]
    print(f"Float vectors: {find_float_width()}. Milliseconds of direct convolutions and peers; speed of tiles.\n")
    header = ["layer", "device", "direct", *map(format_tile, TILES[1:]), "chosen", "with both", *peers]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    within: dict[tuple[str, str], list[tuple[float, float]]] = {}
    written = []
    for sizes in LAYERS:
        model, x = make_model(*sizes)
        runs: dict[Any, Run] = dict(list_peers(model, x))
        runs |= {(device, tile): prepare(device, model, x, tile) for device in ENGINES for tile in TILES}
        best = measure(runs, options.rounds)
        height, width, depth, units = sizes
        for device in ENGINES:
            times = {tile: best[device, tile] for tile in TILES}
            chosen = []
            for variant, permitted in ((PLAIN, TILES[:-1]), (IN_BOTH, TILES)):
                tile, fastest = choose(device, model, variant), min(times[each] for each in permitted)
                chosen.append(f"{format_tile(tile)}, {fastest / times[tile]:.2f}")
                within.setdefault((device, variant), []).append((times[tile] / fastest, times[tile] / times[DIRECT]))
            speeds = [f"{times[DIRECT] / times[tile]:.2f}" for tile in TILES[1:]]
            others = [f"{best[name] * 1e3:.3f}" for name in peers]
            cells = [f"{height}×{width}, {depth} → {units}", device, f"{times[DIRECT] * 1e3:.3f}"]
            print(f"| {' | '.join([*cells, *speeds, *chosen, *others])} |", flush=True)
            written.append([sizes, device, {format_tile(tile): seconds for tile, seconds in times.items()}, others])
    print("\n| device | variant | within 5 % of the fastest | slowest relative to direct |\n|---|---|---|---|")
    for (device, variant), ratios in within.items():
        near, slowest = sum(ratio <= 1.05 for ratio, _ in ratios), max(ratio for _, ratio in ratios)
        print(f"| {device} | {variant} | {near} of {len(ratios)} | {slowest:.2f} |")
    if options.json:
        options.json.write_text(json.dumps(written))


if __name__ == "__main__":
    main()
