"""Files prepared for the accelerator, which a later process finds in the cache."""

import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi import Builder, Model, tensor
from nnapi.contract.driver import CacheEntry, PrepareOptions
from nnapi.drivers.litert.artifact import TAIL, SerializedGraph, cut_facts, unpack
from nnapi.drivers.webgpu import driver
from nnapi.drivers.webgpu.driver import WebGpuDriver
from nnapi.drivers.webgpu.lowering import write_graph
from nnapi.formats.tflite.reader import File


class Prepared:
    def __init__(self, compiled: SerializedGraph) -> None:
        self.compiled = compiled


def model(*shape: int) -> Model:
    net = Builder("relu")
    x = net.input(tensor("float32", shape))
    net.output(net.relu(x))
    net.model.relax_computation_float32_to_float16(True)
    return net.finish()


@pytest.mark.parametrize("shape", [(2, 3), (0, 3)])
def test_what_is_cached_is_prepared_again(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]) -> None:
    monkeypatch.setattr(driver, "PreparedModel", Prepared)
    device, options = WebGpuDriver("a GPU"), PrepareOptions()
    prepared = device.prepare(model(*shape), options)
    entry = device.cache_entry(prepared)
    assert entry
    again = device.restore(model(*shape), CacheEntry(entry), options)
    assert device.cache_entry(again) == entry
    found = unpack(CacheEntry(entry))
    assert found.in_float16
    assert found.assumed == (None if shape[0] else ((1, 3),))


def test_the_accelerator_gets_the_file_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "PreparedModel", Prepared)
    device = WebGpuDriver("a GPU")
    prepared = device.prepare(model(2, 3), PrepareOptions())
    assert isinstance(prepared, Prepared)
    content = cut_facts(prepared.compiled)
    assert content == write_graph(device.lower(model(2, 3)).graph)
    assert [each.kind for each in File(memoryview(content)).subgraph(0).operators] == ["RELU"]
    assert len(content) < len(prepared.compiled.content) - TAIL.size
