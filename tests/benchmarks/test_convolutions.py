"""The comparison of exact 8-bit convolutions with the 8-bit kernel."""

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

import nnapi
from benchmarks import convolutions
from nnapi.drivers.xnnpack import XnnpackDriver
from nnapi.lowering.tile_choice import DIRECT, WHOLE
from nnapi.runtime.device import Device

SIZES = 6, 7, 16, 16


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nnapi, "device", lambda name: Device(XnnpackDriver()))


def test_exact_tiles_have_the_results_of_the_8_bit_kernel() -> None:
    times, same = convolutions.time_bytes(SIZES, 1)
    assert same == "equal"
    assert len(times) == 2 + len(WHOLE)


def test_a_different_value_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = convolutions.prepare

    def spoil(device: str, model: object, x: np.ndarray, tile: tuple[int, int], *variant: str) -> convolutions.Run:
        run = prepare(device, model, x, tile, *variant)  # type: ignore[arg-type]
        return lambda: np.where(np.arange(run().size).reshape(run().shape) < (tile != DIRECT), 99, run())

    monkeypatch.setattr(convolutions, "prepare", spoil)
    assert convolutions.time_bytes(SIZES, 1)[1] == f"{2 * len(WHOLE)} values differ", "one for each image"
