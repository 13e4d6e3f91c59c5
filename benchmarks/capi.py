"""Measure the C library: a call, and a burst of a tiny model from C and from Python.

If PyTorch is installed, the program also compares PyTorch's NNAPI module on MobileNetV2 with a burst of the same model
from Python. Times are minima over rounds, in one thread.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from timeit import timeit
from typing import Any

import numpy as np

import nnapi
from nnapi.capi import installation
from nnapi.testing.build import build
from nnapi.testing.corpus import Corpus

HERE = Path(__file__).resolve().parent
ROUNDS, RUNS = 20, 2000
LIMITS = {"count_us": 1.0, "burst_more_us": 20.0, "pytorch_ratio": 1.15}
"""The largest values that pass: a call, the burst from C less that from Python, and PyTorch's time by Python's."""


def find_minimum(run: Callable[[], Any], rounds: int, runs: int = 1) -> float:
    """Return the minimum seconds of a run."""
    return min(timeit(run, number=runs) / runs for _ in range(rounds))


def measure_from_c() -> dict[str, float]:
    """Compile and run ``capi.c``, and return its measurements."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        sys.exit("no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        program, library = Path(folder, "capi"), installation.library().parent
        paths = (f"-I{installation.include()}", f"-L{library}", f"-Wl,-rpath,{library}", "-lneuralnetworks")
        subprocess.run([compiler, "-O2", str(HERE / "capi.c"), "-o", str(program), *paths], check=True)
        done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def measure_from_python() -> float:
    """Return the microseconds of the same reusable execution without the C layer."""
    model = nnapi.Model()
    tensor = nnapi.tensor("float32", (3, 4))
    for type in (tensor, tensor, nnapi.OperandType(nnapi.OperandCode.INT32), tensor):
        model.add_operand(type)
    model.set_operand_value(2, np.int32(0))
    model.add_operation(nnapi.OperationCode.ADD, (0, 1, 2), (3,))
    model.identify_inputs_and_outputs((0, 1), (3,))
    model.finish()
    compilation = nnapi.compile(model)
    burst, execution = compilation.burst(), nnapi.Execution(compilation)
    arrays = [np.ones((3, 4), np.float32) for _ in range(3)]
    execution.set_reusable(True)
    execution.set_input(0, arrays[0])
    execution.set_input(1, arrays[1])
    execution.set_output(0, arrays[2])
    return 1e6 * find_minimum(lambda: execution.burst_compute(burst), ROUNDS, RUNS)


def mobilenet(torch: Any) -> Any:
    """Return MobileNetV2 with random weights, made of modules that PyTorch's converter supports."""
    nn = torch.nn

    def block(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1, active: bool = True) -> list[Any]:
        convolution = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups)
        return [convolution, nn.Hardtanh(0.0, 6.0)] if active else [convolution]

    class Residual(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
            super().__init__()
            wide = inputs * expansion
            expand = block(inputs, wide, 1) if expansion > 1 else []
            self.adds = stride == 1 and inputs == outputs
            self.layers = nn.Sequential(
                *expand, *block(wide, wide, 3, stride, groups=wide), *block(wide, outputs, 1, active=False)
            )

        def forward(self, x: Any) -> Any:
            return x + self.layers(x) if self.adds else self.layers(x)

    layers, channels = block(3, 32, 3, 2), 32
    settings = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    for expansion, outputs, repeats, first in settings:
        for number in range(repeats):
            layers.append(Residual(channels, outputs, first if number == 0 else 1, expansion))
            channels = outputs
    head = [*block(channels, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(1280, 1000)]
    return nn.Sequential(*layers, *head).eval()


PYTORCH = "--pytorch"


def run_pytorch(file: Path) -> None:
    """Record the model that PyTorch builds if ``file`` does not exist; otherwise time both in turns, and print JSON."""
    import ctypes
    import warnings

    import torch
    from torch.backends._nnapi.prepare import convert_model_to_nnapi

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    ctypes.CDLL(str(installation.library()))
    image = torch.randn(1, 3, 224, 224).contiguous(memory_format=torch.channels_last)
    image.nnapi_nhwc = True
    model = mobilenet(torch)
    with torch.no_grad():
        converted = convert_model_to_nnapi(torch.jit.trace(model, image), [image])
        torch.testing.assert_close(converted(image), model(image), rtol=1e-3, atol=1e-5)
        if not file.exists():
            return  # at exit, the recorder (NNAPI_RECORD) writes the file
        example = next(Corpus(file).examples())
        burst = nnapi.compile(build(example)).burst()
        inputs = [example.inputs[index] for index in example.main.inputs]
        turns = [
            (find_minimum(lambda: converted(image), 1), find_minimum(lambda: burst.run(*inputs), 1))
            for _ in range(ROUNDS)
        ]
    module, own = map(min, zip(*turns, strict=True))
    print(json.dumps({"pytorch_ms": 1e3 * module, "python_ms": 1e3 * own, "pytorch_ratio": module / own}))


def measure_pytorch() -> dict[str, float]:
    """Return the milliseconds of PyTorch's module, and of a burst of its model from Python; nothing without PyTorch.

    The first process records PyTorch's model; the second times both.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "mobilenet.npz")
        command = [sys.executable, __file__, PYTORCH, str(file)]
        recorded = subprocess.run(command, env=os.environ | {"NNAPI_RECORD": str(file)}, capture_output=True, text=True)
        if "No module named 'torch'" in recorded.stderr:
            return {}
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def main() -> None:
    measured = measure_from_c()
    python = measure_from_python()
    measured |= {"python_burst_us": python, "burst_more_us": measured["burst_us"] - python}
    measured |= measure_pytorch()
    for name, value in measured.items():
        limit = f"   (at most {LIMITS[name]:g})" if name in LIMITS else ""
        print(f"{name:16} {value:10.3f}{limit}")
    sys.exit(any(measured.get(name, 0) > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    run_pytorch(Path(sys.argv[-1])) if PYTORCH in sys.argv else main()
