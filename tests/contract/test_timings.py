"""The shipped timings: possible on every processor, and scaled as said."""

import importlib
from pathlib import Path

import pytest

from nnapi.contract import timings as tables
from nnapi.contract.timings import (
    LEAST_MAC,
    Cost,
    Element,
    Processor,
    Timed,
    Timings,
    find_impossible_timing,
    read_measured,
    scale_timings,
)
from nnapi.model.facts import Kind
from nnapi.runtime.device import device
from tests.rows import each_row

CLASS = Kind.CONVOLUTION, Element.SIGNED
ENGINES = "openvino", "xnnpack", "reference"


def for_processor(engine: str, processor: Processor) -> Timings:
    if engine == "xnnpack":
        pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    found: Timings = importlib.import_module(f"nnapi.drivers.{engine}.timings").for_processor(processor)
    return found


@each_row("engine", ENGINES)
@each_row("processor", Processor)
def test_no_table_contradicts_physics(processor: Processor, engine: str) -> None:
    found = for_processor(engine, processor)
    assert find_impossible_timing(found, processor) is None
    assert {kind for kind, _ in found.costs} >= set(Kind) - {Kind.OTHER, Kind.RECURRENT}


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (Cost(0.0), "takes 0.0 s"),
        (Cost(-1e-9, 1e-11), "takes -1e-09 s"),
        (Cost(1e-6, 1e-14), "a core needs"),
    ],
)
def test_impossible_timings_are_found(cost: Cost, said: str) -> None:
    assert said in str(find_impossible_timing(Timings(1e-6, 0.0, {CLASS: cost}), Processor.AMX))
    assert (
        find_impossible_timing(Timings(1e-6, 0.0, {CLASS: Cost(1e-6, LEAST_MAC[Processor.AMX])}), Processor.AMX) is None
    )


def test_amounts_of_work_scale_by_their_class() -> None:
    other = Kind.RESHAPE, Element.OTHER
    found = scale_timings(Timings(1.0, 2.0, {CLASS: Cost(1, 2, 3, 4, 5), other: Cost(1, 2, 3)}), {CLASS: 3.0}, 2.0)
    assert found == Timings(2.0, 4.0, {CLASS: Cost(2, 6, 9, 12, 15), other: Cost(2, 4, 6, 0, 0)})


@pytest.mark.parametrize(
    ("sets", "processor"),
    [
        ({"avx2", "avx512_vnni", "amx_int8"}, Processor.AMX),
        ({"avx2", "avx512f", "avx512_vnni", "avx_vnni"}, Processor.VNNI),
        ({"avx2", "avx_vnni"}, Processor.AVX_VNNI),
        ({"avx2"}, Processor.AVX2),
        ({"asimd", "asimddp"}, Processor.DOT_PRODUCT),
        ({"asimd"}, Processor.OTHER),
    ],
)
def test_processors_are_told_apart(sets: set[str], processor: Processor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "find_instruction_sets", lambda: frozenset(sets))
    assert tables.find_processor.__wrapped__() is processor


def test_the_reference_ships_timings() -> None:
    driver = device("nnapi-reference").driver
    assert isinstance(driver, Timed)
    assert driver.timings() == for_processor("reference", tables.find_processor())


@pytest.mark.parametrize(
    ("processor", "mac"),
    [
        (Processor.AMX, 2.3e-13),
        (Processor.VNNI, 1.5e-12),
        (Processor.AVX_VNNI, 1.5e-12),
        (Processor.AVX2, 2.9e-12),
        (Processor.DOT_PRODUCT, 2.9e-12),
        (Processor.OTHER, 2.3e-13),
    ],
)
def test_each_processor_has_a_shortest_time_for_a_product(processor: Processor, mac: float) -> None:
    assert "a core needs" in str(find_impossible_timing(Timings(1e-6, 0.0, {CLASS: Cost(1e-6, mac)}), processor))
    assert find_impossible_timing(Timings(1e-6, 0.0, {CLASS: Cost(1e-6, 1.1 * mac)}), processor) is None


@each_row("engine", ENGINES)
@each_row(
    ("processor", "products", "others"),
    [
        (Processor.AMX, 1.0, 1.0),
        (Processor.VNNI, 1.0, 1.0),
        (Processor.AVX_VNNI, 2.0, 1.5),
        (Processor.AVX2, 2.0, 1.5),
        (Processor.DOT_PRODUCT, 4.0, 2.0),
        (Processor.OTHER, 4.0, 2.0),
    ],
)
def test_slower_processors_take_longer(engine: str, processor: Processor, products: float, others: float) -> None:
    found, measured = for_processor(engine, processor), read_measured(engine)
    convolution, reshape = (Kind.CONVOLUTION, Element.FLOAT32), (Kind.RESHAPE, Element.FLOAT32)
    assert found.costs[convolution].mac == products * measured.costs[convolution].mac
    assert found.costs[reshape].byte == others * measured.costs[reshape].byte
    assert (found.launch, found.byte) == (others * measured.launch, others * measured.byte)


@pytest.mark.parametrize(
    ("engine", "signed", "unsigned"),
    [
        ("openvino", (1.0, 1.5, 3.0, 2.0, 4.0, 4.0), (1.0, 1.0, 2.0, 2.0, 4.0, 4.0)),
        ("xnnpack", (1.0, 1.5, 3.0, 3.0, 4.0, 8.0), (1.0, 1.5, 3.0, 3.0, 4.0, 8.0)),
        ("reference", (1.0, 1.0, 2.0, 2.0, 4.0, 4.0), (1.0, 1.0, 2.0, 2.0, 4.0, 4.0)),
    ],
)
def test_products_of_bytes_scale_on_their_own(
    engine: str, signed: tuple[float, ...], unsigned: tuple[float, ...]
) -> None:
    costs = read_measured(engine).costs
    least = (0.0, 2e-12, 4e-12, 5e-12, 1.2e-11, 2.5e-11)
    for place, processor in enumerate(Processor):
        found = for_processor(engine, processor).costs
        for element, factors in ((Element.SIGNED, signed), (Element.UNSIGNED, unsigned)):
            each = Kind.CONVOLUTION, element
            # Without instructions for bytes, OpenVINO computes signed values as unsigned ones.
            source = (Kind.CONVOLUTION, Element.UNSIGNED) if engine == "openvino" and place >= 3 else each
            assert found[each].mac == max(factors[place] * costs[source].mac, least[place])
            assert found[each].byte == factors[place] * costs[source].byte


def test_a_row_of_the_file() -> None:
    """Kind, element, and seconds of operation, MAC, byte, pixel and tap; launch and copied byte come first."""
    found = read_measured("reference")
    assert 0 < found.byte < found.launch < 1e-3
    text = Path(tables.__file__).with_name("timings.txt").read_text()
    section = text[text.index("[reference]") :].split("\n[")[0]
    rows = [line.split(", ") for line in section.splitlines()[1:] if line and not line.startswith("#")]
    assert [float(each) for each in rows[0][1:]] == [found.launch, found.byte]
    assert len(found.costs) == len(rows) - 1
    kind, element, *seconds = rows[-1]
    cost = found.costs[Kind(kind), Element(element)]
    assert [float(each) for each in seconds] == list(cost[: len(seconds)])


@pytest.mark.parametrize(
    ("kind", "element", "mac"),
    [
        (Kind.CONVOLUTION, Element.SIGNED, 9.0),
        (Kind.DEPTHWISE, Element.UNSIGNED, 9.0),
        (Kind.PRODUCT, Element.SIGNED, 9.0),
        (Kind.PRODUCT, Element.FLOAT32, 2.0),
        (Kind.PRODUCT, Element.OTHER, 2.0),
        (Kind.RECURRENT, Element.SIGNED, 2.0),
    ],
)
def test_products_of_bytes_take_a_least_time(kind: Kind, element: Element, mac: float) -> None:
    found = scale_timings(Timings(1.0, 2.0, {(kind, element): Cost(1, 2)}), {}, byte_mac=9.0)
    assert found.costs[kind, element] == Cost(1, mac)
    slow = scale_timings(Timings(1.0, 2.0, {(kind, element): Cost(1, 20)}), {}, byte_mac=9.0)
    assert slow == Timings(1.0, 2.0, {(kind, element): Cost(1, 20)})


@pytest.mark.parametrize(
    ("kind", "element", "cost", "is_possible"),
    [
        (Kind.CONVOLUTION, Element.FLOAT32, Cost(1e-6, 0.0, 64 * 2.5e-13), True),
        (Kind.CONVOLUTION, Element.FLOAT32, Cost(1e-6, 0.0, 64 * 2.3e-13), False),
        (Kind.CONVOLUTION, Element.FLOAT32, Cost(1e-6, 1.2e-13, 64 * 1.3e-13), True),
        (Kind.CONVOLUTION, Element.OTHER, Cost(1e-6, 1e-14), True),
        (Kind.RESHAPE, Element.FLOAT32, Cost(1e-6), True),
        (Kind.RESHAPE, Element.FLOAT32, Cost(0.0, 0.0, 1e-9), True),
        (Kind.RESHAPE, Element.FLOAT32, Cost(1e-6, 0.0, -1e-9), False),
        (Kind.RESHAPE, Element.FLOAT32, Cost(0.0), False),
    ],
)
def test_the_least_time_of_a_product(kind: Kind, element: Element, cost: Cost, is_possible: bool) -> None:
    found = find_impossible_timing(Timings(1e-6, 0.0, {(kind, element): cost}), Processor.AMX)
    assert (found is None) is is_possible
