"""Random quantized files of one operation."""

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode
from tests.random_tflite import KINDS, PER_CHANNEL, UINT8, Kind, random_codes, random_model

OTHERWISE = {("FULLY_CONNECTED", PER_CHANNEL): "CONV_2D"}
"""Operations that the importer expresses by others."""


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_becomes_a_model_that_runs(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "random.tflite"
    rng = np.random.default_rng(1)
    path.write_bytes(random_model(kind, rng))
    model = nnapi.load(path)
    assert OTHERWISE.get((kind.operation, kind.type), kind.operation) in {call.name for call in model.operations}
    types = {operand.type.code for operand in model.operands}
    assert (OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL in types) == (kind.type == PER_CHANNEL)
    inputs = [model.operands[index].type for index in model.inputs]
    assert {type.dtype for type in inputs} == {np.dtype(np.uint8 if kind.type == UINT8 else np.int8)}
    (out,) = nnapi.compile(model, "nnapi-reference").run(*(random_codes(t.dimensions, t.dtype, rng) for t in inputs))
    assert out.dtype.itemsize == 1


def test_a_seed_gives_the_same_file_again() -> None:
    first, again, other = (random_model(KINDS[0], np.random.default_rng(seed)) for seed in (4, 4, 5))
    assert first == again
    assert first != other


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_codes_reach_both_ends(dtype: type) -> None:
    codes = np.concatenate([random_codes((500,), dtype, np.random.default_rng(seed)) for seed in range(20)])
    assert codes.dtype == dtype
    assert (codes.min(), codes.max()) == (np.iinfo(dtype).min, np.iinfo(dtype).max)
