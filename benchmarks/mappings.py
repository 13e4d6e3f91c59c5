"""Count the memory mappings that closed compilations leave, through nnapi and through OpenVINO alone.

    python -m benchmarks.mappings

Each compilation has other shapes. OpenVINO's kernel library keeps the kernels of the last 1,024 primitives, also of
closed models, so both grow up to this bound. ``ONEDNN_PRIMITIVE_CACHE_CAPACITY`` changes it; with 0, nothing remains.
"""

import os

os.environ["NNAPI_TUNING"] = "0"  # each compilation is the only one of its model

import argparse
import gc
import tempfile
from collections.abc import Callable

import numpy as np

from nnapi import Builder, Model, compile
from nnapi.contract.driver import PrepareOptions
from nnapi.drivers.openvino.engine import choose_properties, core, lower_model
from nnapi.model.operand import Array, tensor

DEVICE, WARM_UP = "openvino-cpu", 10


def make_model(channels: int) -> tuple[Model, Array]:
    """Return a convolution with this many channels, and an input."""
    builder = Builder()
    image = builder.input(tensor("float32", (1, 12, 12, channels)))
    filter = np.ones((8, 3, 3, channels), np.float32)
    builder.output(builder.tanh(builder.conv_2d(image, filter, np.zeros(8, np.float32), 1, 1, 1, 0)))
    return builder.finish(), np.ones((1, 12, 12, channels), np.float32)


def run_nnapi(channels: int) -> None:
    model, image = make_model(channels)
    with compile(model, DEVICE) as compilation:
        compilation.run(image)


def run_engine(channels: int) -> None:
    """Compile and run the graph that nnapi's driver makes, without nnapi."""
    model, image = make_model(channels)
    properties = choose_properties("CPU", PrepareOptions(), None, "f32")
    core().compile_model(lower_model(model).graph(), "CPU", properties).create_infer_request().infer([image])


def count_mappings() -> int:
    gc.collect()
    with open("/proc/self/maps") as file:
        return len(file.readlines())


def measure(run: Callable[[int], None], first: int, count: int) -> float:
    """Return the mappings that remain for each of ``count`` compilations; ``first`` is the first number of channels."""
    for channels in range(first, first + WARM_UP):
        run(channels)
    before = count_mappings()
    for channels in range(first + WARM_UP, first + WARM_UP + count):
        run(channels)
    return (count_mappings() - before) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory(prefix="nnapi-mappings-") as cache:
        os.environ["NNAPI_CACHE_DIR"] = cache
        for position, run in enumerate((run_nnapi, run_engine)):
            remaining = measure(run, 16 + position * (count + WARM_UP), count)
            print(f"{run.__name__}: {remaining:.2f} mappings remain for each compilation")


if __name__ == "__main__":
    main()
