"""What the engine is said to take beside XNNPACK, by the instruction sets of processors."""

import pytest

from nnapi.codes import OperandCode
from nnapi.drivers import openvino
from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.relations import FLOAT, SIGNED, SUMS, UNSIGNED, list_relations
from nnapi.drivers.samples import Related, Relation
from nnapi.model.facts import Kind

AVX2 = {"avx", "avx2", "fma"}
VNNI = AVX2 | {"avx512f", "avx512_vnni"}
AMX = VNNI | {"amx_tile", "amx_int8"}
ARM = {"fp", "asimd", "asimddp", "i8mm"}


@pytest.mark.parametrize(
    ("sets", "factor", "code"),
    [(AMX, 0.5, None), (VNNI, 1.0, None), (AVX2 | {"avx_vnni"}, 1.0, None), (AVX2, 1.2, FLOAT), (ARM, 1.2, FLOAT)],
)
def test_signed_convolutions_follow_the_instruction_sets(
    sets: set[str], factor: float, code: OperandCode | None
) -> None:
    assert list_relations(frozenset(sets))[Kind.CONVOLUTION, SIGNED] == Relation(factor, code)


@pytest.mark.parametrize("sets", [AMX, VNNI, AVX2, ARM, set()])
def test_unsigned_codes_become_float32_everywhere(sets: set[str]) -> None:
    found = list_relations(frozenset(sets))
    assert all(found[kind, UNSIGNED].code == FLOAT and found[kind, UNSIGNED].factor > 1 for kind in SUMS)
    assert all(found[kind, FLOAT] == Relation() for kind in SUMS)


def test_of_other_devices_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino, "version", lambda distribution: "1")  # whatever is installed
    processor, graphics = OpenVinoDriver("CPU"), OpenVinoDriver("GPU")
    assert isinstance(processor, Related)
    assert (Kind.CONVOLUTION, OperandCode.TENSOR_FLOAT32) in processor.relate().kinds
    assert graphics.relate().kinds == {}
