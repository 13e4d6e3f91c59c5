"""BITWISE_XOR, RIGHT_SHIFT, BITCAST and remainders, against LiteRT."""

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError
from tests.importers.tflite.against_litert import Case, case, check, loaded, run
from tests.tflite_writer import T, const, f32, i32, single

I8, I8_AGAIN, I8_OUT = (T("INT8", (2, 5)) for _ in range(3))
U8, U8_AGAIN, U8_OUT = (T("UINT8", (2, 5)) for _ in range(3))

CASES = [
    case("BITWISE_XOR", [i32(2, 5), i32(2, 5)], i32(2, 5), low=-(2**31), high=2**31 - 1),
    case("BITWISE_XOR", [I8, I8_AGAIN], I8_OUT, codes=0),
    case("BITWISE_XOR", [U8, U8_AGAIN], U8_OUT, codes=0),
    case("RIGHT_SHIFT", [i32(2, 5), i32(5)], i32(2, 5), low=-40, high=40),
    case("RIGHT_SHIFT", [I8, I8_AGAIN], I8_OUT, codes=0),
    case("RIGHT_SHIFT", [U8, const([[0, 1, 7, 8, 255]], "UINT8")], U8_OUT, codes=0),
    case("BITCAST", [f32(2, 5)], i32(2, 5)),
    case("BITCAST", [I8], U8, codes=0),
    case("FLOOR_MOD", [f32(2, 5), f32(5)], f32(2, 5), low=-9, high=9),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_agree_with_litert(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_remainders_with_the_sign_of_the_dividend(tmp_path: Path) -> None:
    model = loaded(single("STABLEHLO_REMAINDER", [i32(4), i32(4)], i32(4)), tmp_path)
    x, y = np.array([-7, 7, -7, 7], np.int32), np.array([3, -3, -3, 3], np.int32)
    assert run(model, [x, y])[0].tolist() == [-1, 1, -1, 1]


def test_shifts_to_the_left(tmp_path: Path) -> None:
    model = loaded(single("STABLEHLO_SHIFT_LEFT", [i32(3), i32(3)], i32(3)), tmp_path)
    x, y = np.array([1, -3, 1], np.int32), np.array([4, 1, 32], np.int32)
    assert run(model, [x, y])[0].tolist() == [16, -6, 0]


def test_bits_of_another_size_are_refused() -> None:
    with pytest.raises(BadDataError, match="its types differ in size"):
        nnapi.load(single("BITCAST", [f32(2, 5)], T("INT8", (2, 5, 4))))
