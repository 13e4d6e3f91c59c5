"""Winograd variants on the engines."""

from typing import Any

import numpy as np
import pytest

from nnapi.contract.driver import CacheEntry, PrepareOptions, Request
from nnapi.contract.winograd import FORCED, FORCED_IN_BOTH, PLAIN
from nnapi.lowering import tile_choice
from nnapi.lowering.lower import Lowering
from nnapi.model.precision import Precision
from tests.lowering.winograd.winograd_cases import IMAGE, WEIGHT, make_chain, make_convolution, make_quantized
from tests.rows import each_row

pytestmark = pytest.mark.engine
ENGINES = "xnnpack-cpu", "openvino-cpu"


def find_driver(name: str) -> Any:
    if name == "xnnpack-cpu":
        pytest.importorskip("ai_edge_litert")
        from nnapi.drivers.xnnpack import XnnpackDriver

        return XnnpackDriver(1)
    pytest.importorskip("openvino")
    from nnapi.drivers.openvino import OpenVinoDriver

    return OpenVinoDriver("CPU", 1)


def prepare(driver: Any, model: Any, variant: str) -> Any:
    return driver.prepare(model, PrepareOptions(threads=1, variant=variant))


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("image", [(1, 14, 15, 20), (2, 9, 8, 4)])
def test_engines_compute_the_variants(name: str, image: tuple[int, ...]) -> None:
    driver, model = find_driver(name), make_convolution(image, 24)
    x = np.random.default_rng(0).standard_normal(image).astype(np.float32)
    direct, *found = [
        prepare(driver, model, each).execute(Request([x])).outputs[0] for each in ("", FORCED, FORCED_IN_BOTH)
    ]
    for y in found:
        assert not np.array_equal(y, direct)
        assert abs(y - direct).max() < 1e-5 * direct.max()


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_spreads_within_its_tiles(name: str, value: float) -> None:
    """To results at most seven rows or columns away (docs/non-finite.md): XNNPACK also multiplies values by 0."""
    driver, model = find_driver(name), make_convolution((1, 24, 24, 16), 16, activation="NONE")
    x = np.random.default_rng(0).standard_normal((1, 24, 24, 16)).astype(np.float32)
    x[0, 11, 11, 3] = value
    direct, found = (
        prepare(driver, model, variant).execute(Request([x])).outputs[0][0] for variant in ("", FORCED_IN_BOTH)
    )
    rows, columns, _ = np.nonzero(~np.isfinite(found))
    assert np.isnan(found[11, 11]).all()
    assert max(abs(rows - 11).max(), abs(columns - 11).max()) <= 7
    assert np.isfinite(found).sum() < np.isfinite(direct).sum()


def test_xnnpack_takes_the_whole_graph_as_one_delegate() -> None:
    driver = find_driver("xnnpack-cpu")
    from ai_edge_litert.interpreter import Interpreter

    from nnapi.drivers.litert.artifact import cut_facts

    chain, quantized = make_chain(15, 16, 2), make_quantized((1, 15, 15, 16), np.ones((16, 3, 3, 16)))
    for model, variant in ((chain, FORCED), (chain, FORCED_IN_BOTH), (quantized, FORCED)):
        compiled = prepare(driver, model, variant).compiled
        interpreter = Interpreter(model_content=cut_facts(compiled), num_threads=1)
        interpreter.allocate_tensors()
        names = [each["op_name"] for each in interpreter._get_ops_details()]
        assert names.count("CONV_2D") > 2
        assert names.count("DELEGATE") == 1
        assert {*compiled.origins} == {*range(len(model.operations))}


def test_work_stays_that_of_the_direct_convolution() -> None:
    """The number of threads depends on it."""
    driver, model = find_driver("xnnpack-cpu"), make_chain(15, 16, 2)
    works = [prepare(driver, model, variant).compiled.work for variant in ("", FORCED, FORCED_IN_BOTH)]
    assert works == [works[0]] * 3


@pytest.mark.parametrize("name", ENGINES)
def test_a_variant_is_restored_from_its_cache_entry(name: str) -> None:
    driver, model = find_driver(name), make_convolution((1, 9, 8, 16), 16)
    x = np.random.default_rng(0).standard_normal((1, 9, 8, 16)).astype(np.float32)
    options = PrepareOptions(threads=1, variant=FORCED)
    prepared = driver.prepare(model, options)
    restored = driver.restore(model, CacheEntry(driver.cache_entry(prepared)), options)
    first, second = (each.execute(Request([x])).outputs[0] for each in (prepared, restored))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, prepare(driver, model, "").execute(Request([x])).outputs[0])


@pytest.mark.parametrize("name", ENGINES)
def test_large_layers_have_variants_and_small_ones_have_none(name: str) -> None:
    driver = find_driver(name)
    assert PLAIN in driver.list_variants(make_chain(28, 128, 1))
    assert driver.list_variants(make_chain(8, 4, 1)) == []
    assert driver.predict_savings(make_chain(28, 128, 1))[PLAIN] > 0


@pytest.mark.parametrize("name", ENGINES)
def test_a_graph_in_float16_stays_direct(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    driver, model = find_driver(name), make_chain(28, 128, 1).with_precision(Precision.FLOAT16)
    usual = driver.offer_precision(model).usual
    assert (PLAIN in driver.list_variants(model)) == (usual is Precision.FLOAT32)


@pytest.mark.parametrize("name", ENGINES)
def test_a_layer_whose_parts_are_refused_stays_direct(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, because the transformed image is too large."""
    from nnapi.lowering.refusal import Unsupported

    driver, model = find_driver(name), make_convolution((1, 8, 8, 16), 16)
    x = np.random.default_rng(0).standard_normal((1, 8, 8, 16)).astype(np.float32)
    right = prepare(driver, model, "").execute(Request([x])).outputs[0]
    by_rule = Lowering._lower_by_rule

    def refuse_parts(self: Any, call: Any) -> None:
        if self.depth:
            raise Unsupported("it is too large")
        by_rule(self, call)

    monkeypatch.setattr(Lowering, "_lower_by_rule", refuse_parts)
    assert find_tiles_of(driver, model)
    np.testing.assert_array_equal(prepare(driver, model, FORCED).execute(Request([x])).outputs[0], right)


def test_unsafe_operators_of_a_decomposition_keep_the_layer_direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks for LiteRT's kernels also judge operators that the decomposition adds."""
    driver, model = find_driver("xnnpack-cpu"), make_convolution((1, 8, 8, 16), 16)
    from nnapi.drivers.litert.unsafe_graphs import find_violation

    def refuse_depthwise(operator: Any, sound: Any) -> str | None:
        return "too large" if operator.kind == "DEPTHWISE_CONV_2D" else find_violation(operator, sound)

    monkeypatch.setattr("nnapi.drivers.litert.lowering.find_violation", refuse_depthwise)
    x = np.random.default_rng(0).standard_normal((1, 8, 8, 16)).astype(np.float32)
    forced, direct = (prepare(driver, model, variant).execute(Request([x])).outputs[0] for variant in (FORCED, ""))
    np.testing.assert_array_equal(forced, direct)


TILES = (4, 4), (4, 0), (0, 4)
CHANNELS = 0.013, 0.02, 0.0071, 0.03, 0.013, 1e-4, 0.1, 0.009
ROWS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("signed", {}),
    ("one zero point at an end", {"zero_points": (-128, 0), "activation": "RELU", "result": (402.3, -128)}),
    ("the other end", {"zero_points": (127, 0), "activation": "RELU6", "result": (1.3, -100)}),
    ("per channel", {"scales": CHANNELS, "zero_points": (5, 0), "result": (621.7, 3)}),
    ("unsigned", {"dtype": "quant8_asymm", "zero_points": (128, 128), "result": (512.0, 128)}),
    ("unsigned, with zero points inside", {"dtype": "quant8_asymm", "zero_points": (17, 101), "result": (731.0, 60)}),
    ("without padding", {"padding": (0, 0, 0, 0), "activation": "RELU1", "result": (1.7, 4)}),
    ("dilated", {"dilation": 2, "padding": (2, 2, 2, 2), "zero_points": (-9, 0)}),
    ("channels first", {"layout": True, "image": (2, 8, 9, 7)}),
)


@each_row(
    ("tile", "name", "given"), [(tile, *row) for tile in TILES for row in ROWS if tile == TILES[0] or row == ROWS[3]]
)
def test_quantized_layers_are_exact(
    tile: tuple[int, int], name: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every result equals that of the integer kernel: of random values, and of minima and maxima alone."""
    driver, random = find_driver("xnnpack-cpu"), np.random.default_rng(len(name))
    monkeypatch.setattr(tile_choice, "WHOLE", (tile,))
    image = given.get("image", (2, 9, 7, 8))
    lowest, highest = (0, 255) if "dtype" in given else (-128, 127)
    bias, dtype = random.integers(-4000, 4000, 8), np.uint8 if "dtype" in given else np.int8
    for is_random in (True, False):

        def draw(shape: Any, least: int = lowest, is_random: bool = is_random) -> Any:
            return random.integers(least, highest + 1, shape) if is_random else random.choice([least, highest], shape)

        weights = draw((8, 3, 3, 8), -127 if "scales" in given else lowest)
        model = make_quantized(**{"image": image, "weights": weights, "bias": bias, **given})
        assert find_tiles_of(driver, model) == {0: tile}
        direct, found = (prepare(driver, model, variant) for variant in ("", FORCED))
        assert direct.compiled.content != found.compiled.content
        for x in (draw(image), np.full(image, lowest), np.full(image, highest)):
            results = [each.execute(Request([x.astype(dtype)])).outputs[0] for each in (direct, found)]
            np.testing.assert_array_equal(*results)


def test_the_factor_of_sums_is_rounded_as_in_the_integer_kernel() -> None:
    """Here the result of a bias alone depends on the last bit of the factor."""
    driver, random = find_driver("xnnpack-cpu"), np.random.default_rng(0)
    scales, bias = list[float](), list[int]()
    result = np.float32(1000 * IMAGE * WEIGHT)
    while len(scales) < 16:
        scale = np.float32(random.uniform(0.01, 0.02))
        factor, other = np.float32(IMAGE) * scale / result, np.float32(np.float64(np.float32(IMAGE)) * scale / result)
        sums = np.arange(120 / factor, dtype=np.float32)
        differing = np.flatnonzero(np.rint(sums * factor) != np.rint(sums * other))
        if len(differing):
            scales.append(float(scale))
            bias.append(int(differing[-1]))
    model = make_quantized((1, 3, 3, 16), np.ones((16, 3, 3, 16)), np.array(bias), scales=scales, result=(1000.0, 0))
    x = np.zeros((1, 3, 3, 16), np.int8)
    direct, found = (prepare(driver, model, each).execute(Request([x])).outputs[0] for each in ("", FORCED))
    np.testing.assert_array_equal(found, direct)


def find_tiles_of(driver: Any, model: Any) -> Any:
    costs = tile_choice.Costs(0.0, 1e-12, 0.0, 0.0, 0.0, 0.0, 0.0, byte_mac=1e-12)
    return tile_choice.find_tiles(costs, model, FORCED, driver.offer_precision(model).usual)
