"""Measure the cost of an agent: ``python -m benchmarks.agents [MODEL]``.

The program compares a driver in a process of its own with a library that an agent calls in such a process. Without
MODEL, both compute nothing, so the times are the cost of passing 150,528 bytes (224 × 224 × 3). With MODEL, both run it
on ``xnnpack-cpu``. The devices take turns of one run each. Times are in microseconds.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import nnapi
from benchmarks.null_device import Null, PreparedNull
from nnapi.capi import installation
from nnapi.contract.driver import PrepareOptions
from nnapi.drivers.foreign.driver import ForeignDriver, list_devices
from nnapi.drivers.isolated import Isolated
from nnapi.model.operand import Array, Shape
from tests.drivers.foreign.agent_cases import serve
from tests.drivers.foreign.library_cases import TAKING, build

ROUNDS = 1000


class DirectNull(Null):
    def prepare(self, model: nnapi.Model, options: PrepareOptions) -> PreparedNull:
        return PreparedDirectNull([model.operands[index].type for index in model.outputs])


class PreparedDirectNull(PreparedNull):
    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Callable[[Sequence[Array]], list[Array]]:
        return lambda inputs: [np.zeros(shape, dtype) for shape, dtype in self._templates]


def pool() -> nnapi.Model:
    """Return a model that averages 224 × 224 pixels."""
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("quant8_asymm", [1, 224, 224, 3], scale=1.0), name="x")
    builder.output(builder.average_pool_2d(x, 0, 0, 0, 0, 1, 1, 224, 224, 0))
    return builder.finish()


def measure(model: nnapi.Model, library: str, name: str, isolated: Isolated) -> None:
    """Print the times of an isolated driver, and of the device ``name`` of a library behind two kinds of agents."""
    info = model.input_info[0]
    given = np.random.default_rng(1).integers(0, 255, info.shape, np.uint8).astype(info.dtype)
    with tempfile.TemporaryDirectory() as scratch, serve(Path(scratch), library) as address:
        devices = {
            "process": isolated,
            "agent, pipe": find_driver(library, name),
            "agent, Unix socket": find_driver(address, name),
        }
        runs = {key: nnapi.compile(model, nnapi.Device(driver)).burst() for key, driver in devices.items()}
        took: dict[str, list[float]] = {key: [] for key in runs}
        for _ in range(ROUNDS):
            for key, run in runs.items():
                start = time.perf_counter()
                run.run(given)
                took[key].append(1e6 * (time.perf_counter() - start))
        for key, times in took.items():
            quartile, median, _ = statistics.quantiles(times[20:], n=4)
            print(f"{key:20} median {median:6.0f}, lower quartile {quartile:6.0f}, minimum {min(times):6.0f}")
        for driver in devices.values():
            driver.close()


def find_driver(path: str, name: str) -> ForeignDriver:
    (driver,) = [each for each in list_devices("own", path) if each.info.name == f"own-{name}"]
    return driver


def main() -> None:
    if sys.argv[1:]:
        measure(nnapi.load(sys.argv[1]), str(installation.library()), "xnnpack-cpu", Isolated("xnnpack-cpu"))
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(pool(), build(Path(folder), **TAKING), "chip", Isolated("benchmarks.agents:DirectNull"))


if __name__ == "__main__":
    main()
