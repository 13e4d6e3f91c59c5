"""OpenVINO in float16 and bfloat16: what it is asked for, that it rounds, and that cache entries keep it."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.contract import precision as shared
from nnapi.contract.driver import CacheEntry, PrepareOptions, Request
from nnapi.model.precision import Precision

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver, precision
from nnapi.drivers.openvino.precision import SLOW, offer_precision

pytestmark = pytest.mark.engine

FLOAT32, FLOAT16, BFLOAT16 = Precision
X = np.random.default_rng(0).normal(size=(8, 256)).astype(np.float32)


def network(permitted: Precision) -> Model:
    b, random = Builder(), np.random.default_rng(1)
    weights, bias = random.normal(size=(64, 256)).astype(np.float32), np.zeros(64, np.float32)
    b.output(b.fully_connected(b.input(tensor("float32", X.shape)), weights, bias, 0))
    return b.finish().with_precision(permitted)


def set_processor(monkeypatch: pytest.MonkeyPatch, *sets: str) -> None:
    for module in (shared, precision):
        monkeypatch.setattr(module, "find_instruction_sets", lambda: frozenset(sets))


def test_float16_is_usual_with_amx(monkeypatch: pytest.MonkeyPatch) -> None:
    model = network(FLOAT16)
    set_processor(monkeypatch, "avx512_fp16", "amx_fp16")
    assert offer_precision("CPU", model)[:2] == (FLOAT16, FLOAT32)
    set_processor(monkeypatch, "avx512_fp16")
    assert offer_precision("CPU", model) == (FLOAT32, FLOAT16, SLOW)
    assert OpenVinoDriver().list_variants(model) == ["in float16"]
    set_processor(monkeypatch)
    assert offer_precision("CPU", model).reason == "the processor has no float16 arithmetic"
    assert OpenVinoDriver().list_variants(model) == []


def test_other_devices_compute_in_float16_by_themselves() -> None:
    assert [offer_precision("GPU", network(each)).usual for each in Precision] == [FLOAT32, FLOAT16, FLOAT32]


@pytest.mark.parametrize("permitted", [BFLOAT16, FLOAT16])
def test_the_engine_is_asked_for_it(permitted: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    set_processor(monkeypatch, "avx512_bf16", "avx512_fp16", "amx_fp16")
    model, driver = network(permitted), OpenVinoDriver(threads=1)
    prepared: Any = driver.prepare(model, PrepareOptions())
    asked = prepared.compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
    assert asked in (precision.HINTS[permitted], "bf16", "f32")  # the engine replaces what the processor cannot
    entry = driver.cache_entry(prepared)
    assert entry is not None
    assert entry.startswith(f'["{asked}"'.encode())
    restored: Any = driver.restore(model, CacheEntry(entry), PrepareOptions())
    assert restored.compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name() == asked
    exact: Any = driver.prepare(model, PrepareOptions(variant="in float32"))
    outputs = [each.execute(Request([X])).outputs[0] for each in (prepared, restored, exact)]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    np.testing.assert_allclose(outputs[0], outputs[2], atol=0.5)
    assert (outputs[0] != outputs[2]).any() == (asked != "f32")
