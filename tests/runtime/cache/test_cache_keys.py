"""Keys of the compilation cache distinguish similar weights and numbers of threads."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from nnapi import Builder, Device, Model, compile, tensor
from tests.runtime.cache_cases import TOKEN, Slow, doubled


@pytest.mark.parametrize(
    ("needed", "driver"), [("ai_edge_litert", "xnnpack.XnnpackDriver"), ("openvino", "openvino.OpenVinoDriver")]
)
@pytest.mark.engine
def test_permutations_are_not_taken_for_one_another(needed: str, driver: str, tmp_path: Path) -> None:
    pytest.importorskip(needed, reason=f"{needed} is not installed")
    package, _, name = driver.partition(".")
    chosen = Device(getattr(import_module(f"nnapi.drivers.{package}"), name)())
    size = 1024
    swapped = np.arange(size).reshape(-1, 4)[:, [2, 1, 0, 3]].reshape(-1)
    values = np.arange(size, dtype=np.float32)[None]
    for order in (np.arange(size), swapped):
        compilation = compile(permuting(order), chosen, cache=tmp_path)
        assert compilation.run(values)[0].tolist() == values[:, order].tolist()


def permuting(order: np.ndarray) -> Model:
    """A model whose one constant is the matrix of a permutation."""
    weights = np.eye(len(order), dtype=np.float32)[order]
    b = Builder("permuting")
    b.output(b.fully_connected(b.input(tensor("float32", (1, len(order)))), weights, np.zeros(len(order), np.float32)))
    return b.finish()


def test_one_entry_for_each_number_of_threads(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    driver = Slow()
    for threads in (None, 1, 2, None, 1, 2):
        compile(doubled(), Device(driver), cache=(tmp_path, TOKEN), threads=threads)
    assert (len(driver.prepared), len(driver.restored)) == (3, 3)
    assert len(list(tmp_path.iterdir())) == 3
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
