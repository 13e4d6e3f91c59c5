"""Tables of operations and types as profiles."""

from pathlib import Path

import pytest

from nnapi import OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.profiles.reading import read_profile
from nnapi.profiles.support_tables import read_matrix
from nnapi.profiles.writing import write_profile

TABLE = """Device,Operation,Type,Supported
npu,CONV_2D,TENSOR_QUANT8_ASYMM,yes
npu,conv_2d,tensor_float32,TRUE
npu,CONV_2D,TENSOR_FLOAT16,no
npu,ADD,quant8_asymm_signed,1
npu,SOFTMAX,FLOAT32,0
"""


def test_a_table_becomes_a_profile(tmp_path: Path) -> None:
    (tmp_path / "npu.csv").write_text(TABLE)
    profile = read_matrix(tmp_path / "npu.csv")
    assert profile.name == "npu"
    assert {code: limits.first.types for code, limits in profile.operations.items()} == {
        OperationCode.CONV_2D: (OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_QUANT8_ASYMM),
        OperationCode.ADD: (OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,),
    }
    (tmp_path / "npu.toml").write_text(write_profile(profile))
    assert read_profile(tmp_path / "npu.toml") == profile


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("operation,type\nADD,TENSOR_FLOAT32\n", "the first line must name operation, type, supported"),
        ("", "the first line must name"),
        ("operation,type,supported\nFOLD,TENSOR_FLOAT32,yes\n", "line 2: NNAPI has no FOLD"),
        ("operation,type,supported\nADD,TENSOR_INT4,yes\n", "line 2: NNAPI has no TENSOR_INT4"),
        ("operation,type,supported\nADD,TENSOR_FLOAT32,perhaps\n", "line 2: supported must be yes or no, is 'perhaps'"),
        ("operation,type,supported\nADD\n", "line 2: NNAPI has no "),
    ],
)
def test_a_table_that_is_none(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "npu.csv").write_text(text)
    with pytest.raises(BadDataError, match=reason):
        read_matrix(tmp_path / "npu.csv")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_matrix(tmp_path / "npu.csv")
