"""Time float networks of 3×3 convolutions in nnapi, LiteRT, ONNX Runtime, OpenVINO and ncnn.

    python -m benchmarks.float_networks FOLDER [--threads 1] [--only NAME …] [--seconds 2]

The networks have random weights. They are written to FOLDER as .tflite and .onnx files, which pnnx converts for ncnn
(``pip install ncnn pnnx``). Each engine runs each network in a process of its own, because idle threads of engines
spin. nnapi first finishes a trial of all plans; ``direct`` is nnapi without Winograd convolutions. A time is the
minimum, on one thread of the processor time. The ratios are those of the fastest of LiteRT, ONNX Runtime and OpenVINO,
and of ncnn: above 1, nnapi is faster.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import nnapi
from nnapi.model.builder import Tensor

ENGINES = "litert", "onnxruntime", "openvino", "ncnn", "direct", "nnapi"
PEERS = ENGINES[:3]
LEAST_RUNS = 8


class Net:
    """A network that is being built."""

    def __init__(self, *shape: int) -> None:
        self.b, self.random = nnapi.Builder(), np.random.default_rng(0)
        self.x: Tensor = self.b.input(nnapi.tensor("float32", (1, *shape)), "x")

    def conv(self, x: Tensor, size: int, units: int, stride: int = 1, activation: str = "RELU") -> Tensor:
        depth = x.shape[3]
        scale = np.sqrt((2 if activation == "RELU" else 0.5) / (size * size * depth))
        filter = (self.random.standard_normal((units, size, size, depth)) * scale).astype(np.float32)
        bias = (self.random.standard_normal(units) * 0.05).astype(np.float32)
        return self.b.conv_2d(x, filter, bias, "SAME", stride, stride, activation)

    def pool(self, x: Tensor, rows: int = 2, columns: int = 2) -> Tensor:
        return self.b.max_pool_2d(x, "VALID", columns, rows, columns, rows, "NONE")

    def up(self, x: Tensor) -> Tensor:
        return self.b.resize_nearest_neighbor(x, 2 * x.shape[2], 2 * x.shape[1])

    def silu(self, x: Tensor, size: int, units: int, stride: int = 1) -> Tensor:
        y = self.conv(x, size, units, stride, "NONE")
        return self.b.mul(y, self.b.logistic(y))

    def join(self, *parts: Tensor) -> Tensor:
        return self.b.concatenation(list(parts), 3)

    def finish(self, *results: Tensor) -> nnapi.Model:
        for result in results:
            self.b.output(result)
        return self.b.finish()


def resnet(*blocks: int) -> nnapi.Model:
    net = Net(224, 224, 3)
    x = net.pool(net.conv(net.x, 7, 64, 2))
    for stage, count in enumerate(blocks):
        for block in range(count):
            units, stride = 64 << stage, 2 if stage and not block else 1
            y = net.conv(net.conv(x, 3, units, stride), 3, units, activation="NONE")
            x = net.b.add(net.conv(x, 1, units, stride, "NONE") if stride > 1 else x, y, "RELU")
    return net.finish(net.conv(net.b.average_pool_2d(x, "VALID", 7, 7, 7, 7, "NONE"), 1, 1000, activation="NONE"))


def iresnet() -> nnapi.Model:
    """A network for face recognition, with PRELU."""
    net = Net(112, 112, 3)
    x = net.conv(net.x, 3, 64)
    for stage, count in enumerate((3, 4, 14, 3)):
        for block in range(count):
            units, stride = 64 << stage, 1 if block else 2
            y = net.conv(x, 3, units, activation="NONE")
            y = net.conv(net.b.prelu(y, np.full((1, 1, units), 0.25, np.float32)), 3, units, stride, "NONE")
            x = net.b.add(x if block else net.conv(x, 1, units, stride, "NONE"), y)
    return net.finish(x)


def vgg11() -> nnapi.Model:
    net = Net(224, 224, 3)
    x = net.x
    for units, count in ((64, 1), (128, 1), (256, 2), (512, 2), (512, 2)):
        for _ in range(count):
            x = net.conv(x, 3, units)
        x = net.pool(x)
    return net.finish(x)


def unet() -> nnapi.Model:
    net = Net(192, 192, 3)
    x, skipped = net.x, list[Tensor]()
    for depth in range(5):
        x = net.conv(net.conv(net.pool(x) if depth else x, 3, 32 << depth), 3, 32 << depth)
        skipped.append(x)
    for depth in range(3, -1, -1):
        x = net.join(skipped[depth], net.conv(net.up(x), 1, 32 << depth))
        x = net.conv(net.conv(x, 3, 32 << depth), 3, 32 << depth)
    return net.finish(net.conv(x, 1, 2, activation="NONE"))


def edsr() -> nnapi.Model:
    net = Net(64, 64, 3)
    x = net.conv(net.x, 3, 64, activation="NONE")
    for _ in range(8):
        x = net.b.add(x, net.conv(net.conv(x, 3, 64), 3, 64, activation="NONE"))
    x = net.b.depth_to_space(net.conv(x, 3, 256, activation="NONE"), 2)
    return net.finish(net.conv(x, 3, 3, activation="NONE"))


def rrdb() -> nnapi.Model:
    """Dense blocks of a network for super-resolution."""
    net = Net(64, 64, 3)
    x = net.conv(net.x, 3, 64, activation="NONE")
    for _ in range(6):
        parts = [x]
        for _ in range(4):
            parts.append(net.conv(net.join(*parts) if len(parts) > 1 else x, 3, 32))
        x = net.b.add(x, net.conv(net.join(*parts), 3, 64, activation="NONE"))
    return net.finish(net.conv(x, 3, 3, activation="NONE"))


def hourglass() -> nnapi.Model:
    net = Net(64, 64, 128)

    def block(x: Tensor) -> Tensor:
        return net.b.add(x, net.conv(net.conv(net.conv(x, 1, 64), 3, 64), 1, 128, activation="NONE"))

    def nest(x: Tensor, depth: int) -> Tensor:
        y = block(net.pool(x))
        return net.b.add(block(x), net.up(block(nest(y, depth - 1) if depth > 1 else block(y))))

    return net.finish(net.conv(block(nest(net.x, 4)), 1, 16, activation="NONE"))


def crnn() -> nnapi.Model:
    """The convolutions of a network for text recognition."""
    net = Net(32, 128, 1)
    x = net.pool(net.conv(net.x, 3, 64))
    x = net.pool(net.conv(x, 3, 128))
    x = net.pool(net.conv(net.conv(x, 3, 256), 3, 256), 2, 1)
    x = net.pool(net.conv(net.conv(x, 3, 512), 3, 512), 2, 1)
    return net.finish(net.conv(x, 3, 512))


def yolo_v5n() -> nnapi.Model:
    net = Net(320, 320, 3)

    def block(x: Tensor, units: int, count: int, *, adds: bool = True) -> Tensor:
        left, right = net.silu(x, 1, units // 2), net.silu(x, 1, units // 2)
        for _ in range(count):
            y = net.silu(net.silu(left, 1, units // 2), 3, units // 2)
            left = net.b.add(left, y) if adds else y
        return net.silu(net.join(left, right), 1, units)

    def widen(x: Tensor) -> Tensor:
        """Join the maxima of three windows, each computed from the one before."""
        parts = [net.silu(x, 1, 128)]
        for _ in range(3):
            parts.append(net.b.max_pool_2d(parts[-1], "SAME", 1, 1, 5, 5, "NONE"))
        return net.silu(net.join(*parts), 1, 256)

    x = block(net.silu(net.silu(net.x, 6, 16, 2), 3, 32, 2), 32, 1)
    fine = block(net.silu(x, 3, 64, 2), 64, 2)
    middle = block(net.silu(fine, 3, 128, 2), 128, 3)
    coarse = net.silu(widen(block(net.silu(middle, 3, 256, 2), 256, 1)), 1, 128)
    x = net.silu(block(net.join(net.up(coarse), middle), 128, 1, adds=False), 1, 64)
    first = block(net.join(net.up(x), fine), 64, 1, adds=False)
    second = block(net.join(net.silu(first, 3, 64, 2), x), 128, 1, adds=False)
    third = block(net.join(net.silu(second, 3, 128, 2), coarse), 256, 1, adds=False)
    return net.finish(*(net.conv(each, 1, 255, activation="NONE") for each in (first, second, third)))


def yolo_v8n() -> nnapi.Model:
    net = Net(320, 320, 3)

    def block(x: Tensor, units: int, count: int, *, adds: bool = True) -> Tensor:
        parts = list(net.b.split(net.silu(x, 1, units), 3, 2))
        for _ in range(count):
            y = net.silu(net.silu(parts[-1], 3, units // 2), 3, units // 2)
            parts.append(net.b.add(parts[-1], y) if adds else y)
        return net.silu(net.join(*parts), 1, units)

    def head(x: Tensor, units: int) -> Tensor:
        return net.conv(net.silu(net.silu(x, 3, units), 3, units), 1, units, activation="NONE")

    x = block(net.silu(net.silu(net.x, 3, 16, 2), 3, 32, 2), 32, 1)
    fine = block(net.silu(x, 3, 64, 2), 64, 2)
    middle = block(net.silu(fine, 3, 128, 2), 128, 2)
    coarse = block(net.silu(middle, 3, 256, 2), 256, 1)
    x = block(net.join(net.up(coarse), middle), 128, 1, adds=False)
    first = block(net.join(net.up(x), fine), 64, 1, adds=False)
    second = block(net.join(net.silu(first, 3, 64, 2), x), 128, 1, adds=False)
    third = block(net.join(net.silu(second, 3, 128, 2), coarse), 256, 1, adds=False)
    return net.finish(*(head(each, units) for each in (first, second, third) for units in (64, 80)))


NETWORKS: dict[str, Callable[[], nnapi.Model]] = {
    "resnet18": lambda: resnet(2, 2, 2, 2),
    "resnet34": lambda: resnet(3, 4, 6, 3),
    "vgg11": vgg11,
    "iresnet": iresnet,
    "unet": unet,
    "edsr": edsr,
    "rrdb": rrdb,
    "hourglass": hourglass,
    "crnn": crnn,
    "yolo_v5n": yolo_v5n,
    "yolo_v8n": yolo_v8n,
}


def write(folder: Path, name: str) -> None:
    """Write a network for all engines, unless that was done before."""
    if (folder / f"{name}.onnx").exists():
        return
    model = NETWORKS[name]()
    nnapi.export(model, folder / f"{name}.tflite")
    nnapi.export(model, folder / f"{name}.onnx")
    if pnnx := shutil.which("pnnx", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])):
        shape = str(list(find_shape(model))).replace(" ", "")
        command = [pnnx, f"{name}.onnx", f"inputshape={shape}"]
        subprocess.run(command, cwd=folder, check=False, capture_output=True)


def find_shape(model: nnapi.Model) -> tuple[int, ...]:
    return model.operands[model.inputs[0]].type.dimensions


def open_engine(engine: str, path: Path, x: Any, threads: int) -> Callable[[], Any]:
    """Return a function that runs a network; ``path`` is its .tflite file."""
    if engine == "litert":
        from ai_edge_litert.interpreter import Interpreter

        interpreter = Interpreter(str(path), num_threads=threads)
        interpreter.allocate_tensors()
        return partial(run_litert, interpreter, x)
    if engine == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(str(path.with_suffix(".onnx")), options, ["CPUExecutionProvider"])
        name = session.get_inputs()[0].name
        return lambda: session.run(None, {name: x})
    if engine == "openvino":
        import openvino

        settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False}
        request = openvino.Core().compile_model(path.with_suffix(".onnx"), "CPU", settings).create_infer_request()
        return lambda: request.infer([x])
    if engine == "ncnn":
        return open_ncnn(path, x, threads)
    forbidden = nnapi.Winograd.NEVER if engine == "direct" else None
    model = nnapi.load(path)
    with nnapi.settings(winograd=forbidden):
        nnapi.tune(model, threads=threads, inputs=[x])
        compilation = nnapi.compile(model, threads=threads)
    print(compilation.plan.name, file=sys.stderr)
    return lambda: compilation.run(x)


def run_litert(interpreter: Any, x: Any) -> list[Any]:
    """Run on an array, and return arrays, as the other engines do."""
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(each["index"]) for each in interpreter.get_output_details()]


def open_ncnn(path: Path, x: Any, threads: int) -> Callable[[], Any]:
    import ncnn

    net = ncnn.Net()
    net.opt.num_threads = threads
    for option in ("use_fp16_storage", "use_fp16_arithmetic", "use_fp16_packed", "use_bf16_storage"):
        setattr(net.opt, option, False)
    if net.load_param(str(path.with_suffix(".ncnn.param"))) or net.load_model(str(path.with_suffix(".ncnn.bin"))):
        raise RuntimeError("ncnn cannot load the network")
    image, inputs, outputs = ncnn.Mat(x[0]).clone(), net.input_names(), net.output_names()

    def run() -> Any:
        extractor = net.create_extractor()
        extractor.input(inputs[0], image)
        return [extractor.extract(name) for name in outputs]

    return run


def measure(engine: str, path: Path, threads: int, seconds: float) -> float:
    """Return the minimum seconds of a run in this process: on one thread its processor time, which excludes other
    processes."""
    clock = time.process_time if threads == 1 else time.perf_counter
    model = nnapi.load(path)
    x = np.random.default_rng(0).uniform(-1, 1, find_shape(model)).astype(np.float32)
    run, times, begin = open_engine(engine, path, x, threads), list[float](), time.perf_counter()
    run()
    while len(times) < LEAST_RUNS or time.perf_counter() - begin < seconds:
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def measure_apart(engine: str, path: Path, threads: int, seconds: float) -> float | None:
    """Return the minimum seconds of a run in a process of its own; None if the engine fails."""
    command = [sys.executable, "-m", "benchmarks.float_networks", str(path), "--engine", engine]
    command += ["--threads", str(threads), "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return float(done.stdout) if not done.returncode else None


def divide(other: float | None, own: float | None) -> str:
    return f"{other / own:.2f}" if other and own else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0, help="measuring time of each engine on each network")
    parser.add_argument("--only", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        print(measure(options.engine, options.folder, options.threads, options.seconds))
        return
    options.folder.mkdir(exist_ok=True, parents=True)
    engines = [each for each in ENGINES if each != "ncnn" or find_spec("ncnn")]
    print(f"| network, ms | {' | '.join(engines)} | fastest of {', '.join(PEERS)} | ncnn |")
    print("|---" * (len(engines) + 3) + "|")
    for name in options.only:
        write(options.folder, name)
        path = options.folder / f"{name}.tflite"
        found = {each: measure_apart(each, path, options.threads, options.seconds) for each in engines}
        fastest = min((seconds for each in PEERS if (seconds := found.get(each))), default=None)
        times = [f"{seconds * 1e3:.2f}" if seconds else "–" for seconds in found.values()]
        ratios = divide(fastest, found["nnapi"]), divide(found.get("ncnn"), found["nnapi"])
        print(f"| {' | '.join([name, *times, *ratios])} |", flush=True)


if __name__ == "__main__":
    main()
