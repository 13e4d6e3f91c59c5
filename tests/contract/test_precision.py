"""The precision that engines use where a model permits less than float32."""

import pytest

from nnapi import Builder, Model, tensor
from nnapi.contract import precision
from nnapi.contract.precision import Offer, offer_permitted, refuse_precision
from nnapi.model.precision import Precision

FLOAT32, FLOAT16, BFLOAT16 = Precision


def network(permitted: Precision, type: str = "float32") -> Model:
    b = Builder()
    scale = (0.5, 3) if type == "quant8_asymm" else ()
    b.output(b.abs(b.input(tensor(type, (2, 3)))) if not scale else b.relu(b.input(tensor(type, (2, 3), *scale))))
    return b.finish().with_precision(permitted)


@pytest.mark.parametrize(("name", "able"), [("avx512_fp16", FLOAT16), ("asimdhp", FLOAT16), ("amx_bf16", BFLOAT16)])
def test_the_processor_decides(name: str, able: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "find_instruction_sets", lambda: frozenset({name}))
    for permitted in (FLOAT16, BFLOAT16):
        found = offer_permitted(network(permitted))
        reason = f"the processor has no {permitted} arithmetic"
        assert found == (Offer(permitted, FLOAT32) if permitted is able else refuse_precision(reason))
    assert offer_permitted(network(FLOAT32)) == Offer(FLOAT32)


def test_other_models_keep_their_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "find_instruction_sets", lambda: frozenset({"avx512_fp16"}))
    assert offer_permitted(network(FLOAT16, "quant8_asymm")).reason == "the model is quantized"
    assert offer_permitted(network(FLOAT16, "float16")).reason == "the model has no float32 tensors"


def test_a_variant_has_the_other_precision() -> None:
    both = Offer(FLOAT16, FLOAT32)
    assert both.variants == ["in float32"]
    assert [both.choose(variant) for variant in ("", "in float32", "unsigned as stored")] == [FLOAT16, FLOAT32, FLOAT16]
    assert both.describe("in float32") == "computes float32 in float32"
    slow = Offer(FLOAT32, FLOAT16, "it is slow")
    assert slow.describe("") == "computes float32 in float32: it is slow"
    assert slow.describe("in float16") == "computes float32 in float16"
    assert refuse_precision("no").variants == []
    assert refuse_precision("no").choose("in float16") is FLOAT32
