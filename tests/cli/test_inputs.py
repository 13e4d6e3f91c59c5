"""Files and random values as inputs of a model."""

import struct
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import nnapi
from nnapi.cli.inputs import assign_to_runs, random_input, read_input
from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import Mistake
from nnapi.model.model import Operand
from nnapi.model.operand import Array, OperandType
from nnapi.vision.pictures import Pixels

PLAIN = Pixels()


def operand(dtype: str, *dimensions: int, scale: float = 0.0, zero_point: int = 0) -> Operand:
    return Operand(0, nnapi.tensor(dtype, dimensions, scale, zero_point), "image")


def saved(folder: Path, array: Array) -> Path:
    np.save(folder / "values.npy", array)
    return folder / "values.npy"


def model_of(inputs: int) -> nnapi.Model:
    """The concatenation of that many inputs."""
    model = nnapi.Model()
    matrix = nnapi.tensor("float32", (1, 2))
    for number in range(inputs):
        model.add_operand(matrix, f"part{number}")
    axis = model.add_operand(OperandType(OperandCode.INT32))
    model.set_operand_value(axis, 0)
    whole = model.add_operand(nnapi.tensor("float32", (inputs, 2)))
    model.add_operation(OperationCode.CONCATENATION, [*range(inputs), axis], [whole])
    model.identify_inputs_and_outputs(range(inputs), [whole])
    model.finish()
    return model


A, B, C = Path("a.png"), Path("b.png"), Path("c.png")


@pytest.mark.parametrize(
    ("inputs", "files", "planned"),
    [
        (1, [], [[]]),
        (1, [A], [[A]]),
        (1, [A, B, C], [[A], [B], [C]]),
        (2, [], [[]]),
        (2, [A, B], [[A, B]]),
    ],
)
def test_runs(inputs: int, files: list[Path], planned: list[list[Path]]) -> None:
    assert assign_to_runs(model_of(inputs), files) == planned


def test_wrong_number_of_files() -> None:
    with pytest.raises(Mistake, match=r"2 inputs \(part0 \[1, 2\], part1 \[1, 2\]\), so give 2 files or none, not 3"):
        assign_to_runs(model_of(2), [A, B, C])


def test_content_decides_not_the_name(tmp_path: Path) -> None:
    Image.fromarray(np.full((2, 2, 3), 7, np.uint8)).save(tmp_path / "a.png")
    (tmp_path / "a.png").rename(tmp_path / "a.npy")
    given = read_input(tmp_path / "a.npy", operand("uint8", 1, 2, 2, 3, scale=1.0), PLAIN)
    assert (given.source, given.conversion) == ("a.npy", "2×2, pixels 0 to 255 as quantized values")
    with wave.open(str(tmp_path / "b.png"), "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(8))
    assert "8000 Hz" in read_input(tmp_path / "b.png", operand("float32", 1, 0), PLAIN).conversion


def test_array_of_the_stored_type(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    given = read_input(saved(tmp_path, array), operand("uint8", 1, 2, 3, scale=0.5), PLAIN)
    assert (given.array == array).all()
    assert given.conversion == "uint8 as it is"


def test_leading_dimensions_of_one_may_be_missing(tmp_path: Path) -> None:
    file = saved(tmp_path, np.zeros((2, 3), np.float32))
    assert read_input(file, operand("float32", 1, 1, 2, 3), PLAIN).array.shape == (1, 1, 2, 3)
    assert read_input(file, operand("float32", 0, 0, 3), PLAIN).array.shape == (1, 2, 3)
    assert read_input(file, operand("float32"), PLAIN).array.shape == (2, 3)


def test_real_numbers_are_quantized(tmp_path: Path) -> None:
    given = read_input(
        saved(tmp_path, np.array([-1.0, 0.26, 99.0])), operand("uint8", 3, scale=0.5, zero_point=10), PLAIN
    )
    assert given.array.tolist() == [8, 11, 208]
    assert given.conversion == "float64, quantized"


@pytest.mark.parametrize(
    ("array", "dtype"),
    [(np.array([1.5, 2.5]), "float32"), (np.array([1, 2]), "float32"), (np.array([1, 2]), "int32")],
)
def test_converted_without_loss(tmp_path: Path, array: Array, dtype: str) -> None:
    given = read_input(saved(tmp_path, array), operand(dtype, 2), PLAIN)
    assert given.array.dtype == np.dtype(dtype)
    assert given.array.tolist() == array.tolist()
    assert given.conversion == f"{array.dtype}, converted to {dtype}"


def test_truth_values(tmp_path: Path) -> None:
    given = read_input(saved(tmp_path, np.array([True, False])), operand("bool8", 2), PLAIN)
    assert (given.array.dtype, given.array.tolist()) == (np.uint8, [1, 0])


def test_scalar(tmp_path: Path) -> None:
    scalar = Operand(3, OperandType(OperandCode.INT32), "")
    assert read_input(saved(tmp_path, np.array([5], np.int32)), scalar, PLAIN).array.tolist() == 5


@pytest.mark.parametrize(
    ("array", "dtype", "reason"),
    [
        (
            np.zeros((3, 2), np.float32),
            "float32",
            r"values.npy for image \(0\): the array has shape \[3, 2\], the input \[2, 3\]",
        ),
        (np.full((2, 3), 0.5), "int32", "has float64 values from 0.5 to 0.5, the input stores whole numbers"),
        (
            np.full((2, 3), 1 << 40),
            "int32",
            "to 1.09951e.12, the input stores whole numbers from -2147",
        ),
        (np.full((2, 3), (1 << 24) + 1), "float32", "the array has int64 values from 1.67772e.07"),
        (np.full((2, 3), 1e300), "float32", r"values from 1e.300 to 1e.300, the input stores float32, up to 3.403e.38"),
        (np.full((2, 3), 7, np.uint8), "bool8", "values from 7 to 7, the input stores false and true, 0 and 1"),
        (np.full((2, 3), "x"), "float32", "not a plain .npy|the array is of <U1"),
        (np.array([{}] * 6, object).reshape(2, 3), "float32", "not a plain .npy"),
        (np.zeros((0, 3), np.float32), "float32", r"shape \[0, 3\]"),
    ],
)
def test_array_that_does_not_fit(tmp_path: Path, array: Array, dtype: str, reason: str) -> None:
    with pytest.raises(Mistake, match=reason):
        read_input(saved(tmp_path, array), operand(dtype, 2, 3), PLAIN)


QUANTIZED = {"int8": (1 / 128, 0), "uint8": (1 / 128, 128)}
CAT = np.arange(60, dtype=np.uint8).reshape(1, 4, 5, 3) * 4


def picture_of(folder: Path) -> Path:
    Image.fromarray(CAT[0]).save(folder / "cat.png")
    return folder / "cat.png"


@pytest.mark.parametrize("pixels", [PLAIN, Pixels.of_range(0, 1), Pixels((9.0, 8.0, 7.0), (2.0, 3.0, 4.0), "a reason")])
@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.int64, np.uint16])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8"])
@pytest.mark.parametrize("dimensions", [(1, 4, 5, 3), (0, 0, 0, 3), (1, 3, 4, 5), (4, 5, 3)])
def test_an_array_of_pixels_is_what_the_picture_is(
    pixels: Pixels, kind: type, dtype: str, dimensions: tuple[int, ...], tmp_path: Path
) -> None:
    scale, zero_point = QUANTIZED.get(dtype, (0.0, 0))
    image = operand(dtype, *dimensions, scale=scale, zero_point=zero_point)
    array: Array = CAT.astype(kind).transpose(0, 3, 1, 2) if dimensions[1] == 3 else CAT.astype(kind)
    given = read_input(saved(tmp_path, array.reshape(array.shape[-len(dimensions) :])), image, pixels)
    if array.dtype == given.array.dtype and pixels.reason:  # values as the model stores them, unless the user says more
        np.testing.assert_array_equal(given.array.reshape(array.shape), array)
        return
    seen = read_input(picture_of(tmp_path), image, pixels)
    assert given.array.dtype == seen.array.dtype
    np.testing.assert_array_equal(given.array, seen.array)
    if array.dtype != given.array.dtype:
        assert given.conversion.partition(", ")[2] == seen.conversion.partition(", ")[2]


@pytest.mark.parametrize("array", [CAT, CAT[0]])
def test_channels_may_be_last_as_in_a_picture(array: Array, tmp_path: Path) -> None:
    image = operand("int8", 1, 3, 4, 5, scale=1 / 128)
    given = read_input(saved(tmp_path, array), image, PLAIN)
    np.testing.assert_array_equal(given.array, read_input(picture_of(tmp_path), image, PLAIN).array)


def test_float_pixels_are_pixels_if_the_user_says_so(tmp_path: Path) -> None:
    image = operand("float32", 1, 4, 5, 3)
    chosen = Pixels.of_range(0, 1)
    given = read_input(saved(tmp_path, CAT.astype(np.float32)), image, chosen)
    np.testing.assert_array_equal(given.array, read_input(picture_of(tmp_path), image, chosen).array)
    with pytest.raises(Mistake, match="--mean and --std need pixels 0 to 255, but the array has values from -1"):
        read_input(saved(tmp_path, CAT.astype(np.float32) - 1), image, chosen)


@pytest.mark.parametrize(
    ("array", "asked", "reason"),
    [
        (
            np.full((1, 4, 5, 3), 300),
            operand("int8", 1, 4, 5, 3, scale=1 / 128),
            "of int64, the input stores quantized values of int8: save quantized values as int8, or float",
        ),
        (
            np.full(3, 7),
            operand("int8", 3, scale=0.5),
            "the array is of int64, the input stores quantized values of int8",
        ),
        (
            np.full(3, 70.0),
            operand("int8", 3, scale=0.5),
            "from 70 to 70, the input stores -64 to 63.5: scale the",
        ),
        (np.full(3, np.nan), operand("int8", 3, scale=0.5), "values that are NaN, the input stores -64 to 63.5"),
        (np.full(3, np.inf), operand("uint8", 3, scale=0.5), "values from inf to inf, the input stores 0 to 127.5"),
        (
            CAT.astype(np.float32),
            operand("int8", 1, 4, 5, 3, scale=1 / 128),
            "from 0 to 236, the input stores -1 to 0.9922: save pixels 0 to 255 as uint8, or scale the values",
        ),
        (
            np.zeros((5, 5, 3), np.uint8),
            operand("float32", 1, 4, 5, 3),
            "the command resizes pictures in files, not arrays",
        ),
    ],
)
def test_values_that_the_input_cannot_store_are_refused(
    array: Array, asked: Operand, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(Mistake, match=reason):
        read_input(saved(tmp_path, array), asked, PLAIN)


def test_the_greatest_value_may_be_one_step_too_large(tmp_path: Path) -> None:
    """1.0 for an input that stores up to 127/128."""
    given = read_input(saved(tmp_path, np.array([-1.0, 1.0])), operand("int8", 2, scale=1 / 128), PLAIN)
    assert given.array.tolist() == [-128, 127]


@pytest.mark.parametrize(("reason", "refused"), [("as the file says", True), ("guessed: from nothing", False)])
def test_a_float_picture_must_have_the_range_that_the_model_states(reason: str, refused: bool, tmp_path: Path) -> None:
    file, image = saved(tmp_path, CAT.astype(np.float32)), operand("float32", 1, 4, 5, 3)
    pixels = Pixels.of_range(-1, 1, reason)
    if refused:
        with pytest.raises(Mistake, match=r"but the model takes -1 to 1 \(as the file says\): save pixels 0"):
            read_input(file, image, pixels)
    else:
        given = read_input(file, image, pixels)
        np.testing.assert_array_equal(given.array, CAT)
        words = "float32 as it is, values from 0 to 236; a picture would be from -1 to 1 (guessed: from nothing)"
        assert given.conversion == words
    read_input(saved(tmp_path, CAT / np.float32(255)), image, pixels)


def test_nan_is_told_where_the_input_can_store_it(tmp_path: Path) -> None:
    given = read_input(saved(tmp_path, np.array([np.nan, 1, np.nan], np.float32)), operand("float32", 3), PLAIN)
    assert given.conversion == "float32 as it is, 2 values of 3 NaN"


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_input(tmp_path / "none.png", operand("float32", 1, 2, 2, 3), PLAIN)


@pytest.mark.parametrize(
    ("asked", "least", "greatest", "words"),
    [
        (operand("float32", 50, 50), -1.0, 1.0, "values from -1 to 1"),
        (operand("float16", 50, 50), -1.0, 1.0, "values from -1 to 1"),
        (operand("uint8", 50, 50, scale=1.0), 0, 255, "quantized values from 0 to 255"),
        (operand("int8", 50, 50, scale=1.0), -128, 127, "quantized values from -128 to 127"),
        (operand("int32", 50, 50), 0, 9, "integers from 0 to 9"),
        (operand("bool8", 50, 50), 0, 1, "false and true"),
    ],
)
def test_random(asked: Operand, least: float, greatest: float, words: str) -> None:
    given = random_input(asked, seed=3)
    array = given.array
    assert (array.dtype, array.shape) == (asked.type.dtype, (50, 50))
    assert least <= array.min() < array.max() <= greatest
    if array.dtype.kind in "iu":
        assert (array.min(), array.max()) == (least, greatest)
    assert (given.source, given.conversion) == ("random input (seed 3)", words)


def test_seed_and_operand_decide_random_values() -> None:
    asked = operand("float32", 4)
    assert (random_input(asked, 1).array == random_input(asked, 1).array).all()
    assert (random_input(asked, 1).array != random_input(asked, 2).array).any()
    assert (random_input(asked, 1).array != random_input(Operand(1, asked.type, ""), 1).array).any()


def test_random_values_of_open_dimensions_and_rank() -> None:
    assert random_input(operand("float32", 0, 4), 1).array.shape == (1, 4)
    assert random_input(operand("float32", 0, 4), 1, is_empty=True).array.shape == (0, 4)
    with pytest.raises(Mistake, match="unknown rank: give a .npy file"):
        random_input(operand("float32"), 1)


@pytest.mark.parametrize("shape", [(1 << 40,), (10**30,), (-3,), "(" * 3000, "None"])
@pytest.mark.parametrize("dtype", ["<f4", "|O"])
def test_headers_that_ask_for_what_is_not_there(shape: object, dtype: str, tmp_path: Path) -> None:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    file = tmp_path / "x.npy"
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(16))
    with pytest.raises(Mistake, match="x.npy for .*: not a plain .npy: ") as caught:
        read_input(file, operand("float32", 4), Pixels())
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
