"""Sums of products of bytes are right on every processor, or computed with numbers."""

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode, OperationCode
from nnapi.compiling import compile
from nnapi.contract.driver import PrepareOptions
from nnapi.drivers import openvino
from nnapi.drivers.openvino import OpenVinoDriver, byte_sums
from nnapi.model.operand import Array, ChannelQuantization, tensor
from nnapi.runtime.device import Device, device
from tests.single import run_single, scalar

VNNI, AVX2, ARM = {"sse2", "avx2", "avx512_vnni"}, {"sse2", "avx2", "avx512f"}, {"fp", "asimd"}


def pretend(monkeypatch: pytest.MonkeyPatch, sets: set[str]) -> None:
    """That the processor has these instruction sets."""
    monkeypatch.setattr(byte_sums, "find_instruction_sets", lambda: frozenset(sets))


@pytest.mark.parametrize(
    ("sets", "is_exact"), [(VNNI, True), ({"avx_vnni"}, True), (ARM, True), (AVX2, False), ((), False)]
)
def test_a_processor_of_which_it_is_not_known_is_taken_for_one_that_saturates(
    monkeypatch: pytest.MonkeyPatch, sets: set[str], is_exact: bool
) -> None:
    pretend(monkeypatch, sets)
    assert byte_sums.are_byte_sums_exact() is is_exact


@pytest.mark.parametrize(
    ("name", "sets", "ending"), [("CPU", VNNI, "1"), ("CPU", AVX2, "1, codes as float32"), ("GPU", AVX2, "1")]
)
def test_what_is_kept_of_either_is_told_apart_by_the_version(
    monkeypatch: pytest.MonkeyPatch, name: str, sets: set[str], ending: str
) -> None:
    monkeypatch.setattr(openvino, "version", lambda distribution: "1")
    pretend(monkeypatch, sets)
    assert OpenVinoDriver(name).info.version == f"OpenVINO {ending}"


@pytest.mark.engine
@pytest.mark.parametrize("type", ["quant8_asymm", "quant8_asymm_signed"])
@pytest.mark.parametrize("sets", [None, AVX2])
def test_sums_of_the_largest_products_are_the_reference_s(
    monkeypatch: pytest.MonkeyPatch, type: str, sets: set[str] | None
) -> None:
    """On this processor, and on one whose byte sums may saturate."""
    engine = pytest.importorskip("nnapi.drivers.openvino.engine", reason="OpenVINO is an extra: nnapi[openvino]")
    if sets is not None:
        pretend(monkeypatch, sets)
    chosen = engine.choose_properties("CPU", PrepareOptions(), 1, "f32")
    assert ("LP_TRANSFORMS_MODE" in chosen) is not byte_sums.are_byte_sums_exact()
    ours, right = convolve_extremes(type, stride=1)
    assert len(np.unique(right)) > 5
    assert np.abs(ours - right).max() <= 1


@pytest.mark.engine
@pytest.mark.parametrize("type", ["quant8_asymm", "quant8_asymm_signed"])
def test_strides_of_single_cells_are_kept_where_codes_are_numbers(monkeypatch: pytest.MonkeyPatch, type: str) -> None:
    pytest.importorskip("nnapi.drivers.openvino.engine", reason="OpenVINO is an extra: nnapi[openvino]")
    pretend(monkeypatch, AVX2)
    ours, right = convolve_extremes(type, stride=3)
    assert np.abs(ours - right).max() <= 1


@pytest.mark.engine
@pytest.mark.parametrize(("channels", "multiplier", "kept"), [(2, 1, True), (2, 2, False), (3, 5, False), (1, 4, True)])
def test_several_filters_of_each_channel_are_floats(channels: int, multiplier: int, kept: bool) -> None:
    """With stored weights, the engine's sums are wrong on an AMD Zen 4."""
    engine = pytest.importorskip("nnapi.drivers.openvino.engine", reason="OpenVINO is an extra: nnapi[openvino]")
    random, size = np.random.default_rng(0), channels * multiplier
    x = random.integers(-128, 128, (1, 4, 4, channels)).astype(np.int8)
    weights = random.integers(-128, 128, (2, 2, size)).astype(np.int8)

    builder = nnapi.Builder()
    filter = builder.constant(weights[np.newaxis], tensor("quant8_asymm_signed", (1, 2, 2, size), 1.0, 0))
    bias = builder.constant(np.zeros(size, np.int32), tensor("int32", (size,), 1.0))
    image = builder.input(tensor("quant8_asymm_signed", x.shape, 1.0, -128))
    out = tensor("quant8_asymm_signed", (1, 3, 3, size), 1024.0, 0)
    sums = builder.depthwise_conv_2d(
        image, filter, bias, padding_scheme="valid", stride_w=1, stride_h=1, multiplier=multiplier, out=out
    )
    builder.output(sums)
    model = builder.finish()

    constants = [each for each in engine.lower_model(model).graph().get_ops() if each.get_type_name() == "Constant"]
    assert ("i8" in {each.get_element_type().get_type_name() for each in constants}) is kept
    image_values = x.astype(np.int64)[0].repeat(multiplier, -1) + 128
    windows = np.lib.stride_tricks.sliding_window_view(image_values, (2, 2), (0, 1))
    right = np.clip(np.round(np.einsum("yxcij,ijc->yxc", windows, weights.astype(np.int64)) / 1024), -128, 127)
    assert len(np.unique(right)) > 5
    ours = compile(model, [Device(OpenVinoDriver(threads=1))]).run(x)[0][0]
    assert np.abs(ours - right).max() <= 1


def convolve_extremes(type: str, stride: int) -> list[Array]:
    """The engine's results and the reference's of sums of the least and the largest codes."""
    limits, random = np.iinfo(tensor(type).dtype), np.random.default_rng(0)
    x, zero = (1, 8, 8, 16), (limits.min + limits.max + 1) // 2
    filters = tensor("quant8_symm_per_channel", (16, 1, 1, 16), channel=ChannelQuantization(0, (1.0,) * 16))
    inputs = [
        (tensor(type, x, 1.0, zero), random.choice([limits.min, limits.max], x)),
        (filters, random.choice([-127, 127], filters.dimensions)),
        (tensor("int32", (16,)), np.zeros(16)),
        *[scalar(OperandCode.INT32, value) for value in (2, stride, stride, 0)],
    ]
    y = tensor(type, (1, -(-8 // stride), -(-8 // stride), 16), 2048.0, zero)
    devices = Device(OpenVinoDriver(threads=1)), device("nnapi-reference")
    return [
        run_single(OperationCode.CONV_2D, inputs, [y], devices=[each], constant=True)[0].astype(int) for each in devices
    ]
