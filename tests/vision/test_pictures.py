"""Pictures as inputs: layout, channels, size, numbers."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import nnapi
from nnapi.codes import OperandCode
from nnapi.errors import Mistake
from nnapi.model.operand import OperandType
from nnapi.vision.pictures import PLAIN, Pixels, find_layout, read_picture


def kind(dtype: str, *dimensions: int, scale: float = 0.0, zero_point: int = 0) -> OperandType:
    return nnapi.tensor(dtype, dimensions, scale, zero_point)


@pytest.fixture
def halves(tmp_path: Path) -> Path:
    """Two pixels wide and one high: red, then (10, 20, 30)."""
    return saved(tmp_path, np.array([[[255, 0, 0], [10, 20, 30]]], np.uint8))


def saved(folder: Path, pixels: np.ndarray, name: str = "picture.png") -> Path:
    Image.fromarray(pixels).save(folder / name)
    return folder / name


@pytest.mark.parametrize(
    ("dimensions", "letters"),
    [
        ((1, 8, 8, 3), "NHWC"),
        ((0, 0, 0, 3), "NHWC"),
        ((1, 3, 8, 8), "NCHW"),
        ((8, 8, 3), "HWC"),
        ((1, 8, 8), "NHW"),
        ((8, 8), "HW"),
    ],
)
def test_layout(dimensions: tuple[int, ...], letters: str) -> None:
    assert find_layout(kind("float32", *dimensions)) == letters


@pytest.mark.parametrize(
    "dimensions", [(2, 8, 8, 3), (1, 8, 8, 5), (1, 1960), (1960,), (1, 1, 257), (1, 30, 1, 40), ()]
)
def test_no_picture_fits(dimensions: tuple[int, ...]) -> None:
    with pytest.raises(Mistake, match="this shape cannot hold a single picture"):
        find_layout(kind("float32", *dimensions))


def test_no_picture_of_integers() -> None:
    with pytest.raises(Mistake, match="this type cannot hold a picture"):
        find_layout(kind("int32", 1, 8, 8, 3))


def test_floats_are_from_minus_one_to_one(halves: Path) -> None:
    array, words = read_picture(halves, kind("float32", 0, 0, 0, 3), PLAIN)
    expected = np.array([[[[1, -1, -1], [10 / 127.5 - 1, 20 / 127.5 - 1, 30 / 127.5 - 1]]]], np.float32)
    assert array.dtype == np.float32
    np.testing.assert_allclose(array, expected, rtol=1e-6)
    assert words == "2×1, pixels scaled to -1 to 1"


def test_mean_and_std_of_each_channel(halves: Path) -> None:
    array, words = read_picture(halves, kind("float32", 0, 0, 0, 3), Pixels((1.0, 2.0, 3.0), (2.0,)))
    np.testing.assert_array_equal(array[0, 0], np.array([[127, -1, -1.5], [4.5, 9, 13.5]], np.float32))
    assert words == "2×1, (pixel - [1, 2, 3]) / 2"


def test_too_many_means(halves: Path) -> None:
    with pytest.raises(Mistake, match="2 numbers for 3 channels"):
        read_picture(halves, kind("float32", 0, 0, 0, 3), Pixels((1.0, 2.0)))


def test_unsigned_codes_are_the_pixels(halves: Path) -> None:
    array, words = read_picture(halves, kind("uint8", 0, 0, 0, 3, scale=1 / 128, zero_point=128), PLAIN)
    assert array.dtype == np.uint8
    assert array.tolist() == [[[[255, 0, 0], [10, 20, 30]]]]
    assert words == "2×1, pixels 0 to 255 as quantized values"


def test_signed_codes_are_the_pixels_less_128(halves: Path) -> None:
    array, words = read_picture(halves, kind("int8", 0, 0, 0, 3, scale=1 / 255, zero_point=-128), PLAIN)
    assert array.dtype == np.int8
    assert array.tolist() == [[[[127, -128, -128], [-118, -108, -98]]]]
    assert words == "2×1, pixels 0 to 255 as quantized values -128 to 127"


def test_mean_and_std_before_quantizing(halves: Path) -> None:
    type = kind("int8", 0, 0, 0, 3, scale=0.5, zero_point=10)
    array, words = read_picture(halves, type, Pixels(std=(10.0,)))
    assert array.tolist() == [[[[61, 10, 10], [12, 14, 16]]]]
    assert words.endswith("pixels scaled to 0 to 25.5, quantized")


def test_half_floats_and_16_bit_codes(halves: Path) -> None:
    assert read_picture(halves, kind("float16", 0, 0, 0, 3), PLAIN)[0].dtype == np.float16
    codes, words = read_picture(halves, kind("int16", 0, 0, 0, 3, scale=1 / 32767), PLAIN)
    assert codes[0, 0, 0].tolist() == [32767, -32767, -32767]
    assert words.endswith("pixels scaled to -1 to 1, quantized")


def test_layouts_hold_the_same_picture(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (4, 5, 3), np.uint8)
    file = saved(tmp_path, pixels)
    quant = {"scale": 1.0, "zero_point": 0}
    assert (read_picture(file, kind("uint8", 1, 4, 5, 3, **quant), PLAIN)[0] == pixels[None]).all()  # type: ignore[arg-type]
    assert (read_picture(file, kind("uint8", 1, 3, 4, 5, **quant), PLAIN)[0] == pixels.transpose(2, 0, 1)[None]).all()  # type: ignore[arg-type]
    assert (read_picture(file, kind("uint8", 4, 5, 3, **quant), PLAIN)[0] == pixels).all()  # type: ignore[arg-type]
    gray = np.asarray(Image.fromarray(pixels).convert("L"))
    assert (read_picture(file, kind("uint8", 1, 4, 5, 1, **quant), PLAIN)[0] == gray[None, ..., None]).all()  # type: ignore[arg-type]
    assert (read_picture(file, kind("uint8", 1, 4, 5, **quant), PLAIN)[0] == gray[None]).all()  # type: ignore[arg-type]
    array, words = read_picture(file, kind("uint8", 4, 5, **quant), PLAIN)  # type: ignore[arg-type]
    assert (array == gray).all()
    assert "gray" in words


def test_resized_bilinearly(tmp_path: Path) -> None:
    ramp = np.repeat(np.array([[0, 100]], np.uint8), 2, axis=0)
    array, words = read_picture(saved(tmp_path, ramp), kind("uint8", 1, 2, 4, 1, scale=1.0), PLAIN)
    assert array[0, 0, :, 0].tolist() == [0, 25, 75, 100]
    assert words == "2×2 resized to 4×2 (bilinear), gray, pixels 0 to 255 as quantized values"


def test_transparent_is_white(tmp_path: Path) -> None:
    file = saved(tmp_path, np.array([[[9, 9, 9, 0], [9, 9, 9, 255]] * 2], np.uint8))
    array, _ = read_picture(file, kind("uint8", 1, 0, 0, 3, scale=1.0), PLAIN)
    assert array[0, 0, :2].tolist() == [[255, 255, 255], [9, 9, 9]]


def test_opacity_is_kept_where_there_is_a_channel_for_it(tmp_path: Path) -> None:
    file = saved(tmp_path, np.array([[[9, 8, 7, 0], [1, 2, 3, 255]] * 2], np.uint8))
    array, _ = read_picture(file, kind("uint8", 1, 0, 0, 4, scale=1.0), PLAIN)
    assert array[0, 0, :2].tolist() == [[9, 8, 7, 0], [1, 2, 3, 255]]


def test_16_bit_gray(tmp_path: Path) -> None:
    file = saved(tmp_path, np.array([[0, 257, 65535]], np.uint16))
    array, _ = read_picture(file, kind("uint8", 0, 0, 0, 1, scale=1.0), PLAIN)
    assert array.reshape(-1).tolist() == [0, 1, 255]


def test_upright_as_the_camera_says(tmp_path: Path) -> None:
    picture = Image.fromarray(np.zeros((2, 6, 3), np.uint8))
    exif = picture.getexif()
    exif[0x0112] = 6  # orientation: turned by 90°
    picture.save(tmp_path / "turned.jpg", exif=exif)
    array, _ = read_picture(tmp_path / "turned.jpg", kind("uint8", 1, 0, 0, 3, scale=1.0), PLAIN)
    assert array.shape == (1, 6, 2, 3)


def test_no_picture(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a picture")
    with pytest.raises(Mistake, match="neither a picture"):
        read_picture(file, kind("float32", 1, 8, 8, 3), PLAIN)


def test_damaged_picture(tmp_path: Path) -> None:
    whole = saved(tmp_path, np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8), "cut.jpg")
    whole.write_bytes(whole.read_bytes()[:1500])
    with pytest.raises(Mistake, match="the picture is damaged: "):
        read_picture(whole, kind("float32", 1, 8, 8, 3), PLAIN)


def test_type_codes_that_take_pictures() -> None:
    assert find_layout(OperandType(OperandCode.TENSOR_QUANT16_ASYMM, (1, 8, 8, 1), 1.0)) == "NHWC"


def test_bars_beside_a_picture_that_keeps_its_shape(tmp_path: Path) -> None:
    file = saved(tmp_path, np.full((4, 2, 3), 200, np.uint8))
    array, words = read_picture(file, kind("uint8", 1, 8, 8, 3, scale=1.0), Pixels(keeps_aspect=True))
    assert array[0, :, 4, 0].tolist() == [200] * 8
    assert array[0, 4, :, 0].tolist() == [0, 0, 200, 200, 200, 200, 0, 0]
    assert words.startswith("2×4 resized to 4×8 (bilinear) within 8×8")
    array, words = read_picture(file, kind("uint8", 1, 8, 8, 3, scale=1.0), Pixels(keeps_aspect=True, share=0.5))
    assert array[0, 4, :, 0].tolist() == [127, 127, 127, 200, 200, 127, 127, 127]
    assert array[0, :, 3, 0].tolist() == [127, 127, 200, 200, 200, 200, 127, 127]


def test_an_empty_mask_and_the_order_of_channels(halves: Path) -> None:
    array, words = read_picture(halves, kind("uint8", 0, 0, 0, 4, scale=1.0), Pixels(has_mask=True))
    assert array[0, 0].tolist() == [[255, 0, 0, 0], [10, 20, 30, 0]]
    assert "an empty mask as the fourth channel" in words
    array, words = read_picture(halves, kind("uint8", 0, 0, 0, 3, scale=1.0), Pixels(is_bgr=True))
    assert array[0, 0].tolist() == [[0, 0, 255], [30, 20, 10]]
    assert "blue before red" in words
