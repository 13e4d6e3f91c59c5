"""The shipped timings: possible on every processor, and scaled as said."""

import pytest

from nnapi.drivers import timings as tables
from nnapi.drivers.timings import LEAST_MAC, Cost, Element, Processor, Timed, Timings, find_fault, read_measured, scale
from nnapi.model.facts import Kind
from nnapi.runtime.device import device

CLASS = Kind.CONVOLUTION, Element.SIGNED


@pytest.mark.parametrize("processor", Processor)
def test_no_table_contradicts_physics(processor: Processor) -> None:
    from nnapi.drivers.openvino.timings import for_processor as openvino
    from nnapi.drivers.xnnpack.timings import for_processor as xnnpack

    for found in (openvino(processor), xnnpack(processor), read_measured("reference")):
        assert find_fault(found, processor) is None
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
    assert said in str(find_fault(Timings(1e-6, 0.0, {CLASS: cost}), Processor.AMX))
    assert find_fault(Timings(1e-6, 0.0, {CLASS: Cost(1e-6, LEAST_MAC[Processor.AMX])}), Processor.AMX) is None


def test_amounts_of_work_scale_by_their_class() -> None:
    other = Kind.RESHAPE, Element.OTHER
    found = scale(Timings(1.0, 2.0, {CLASS: Cost(1, 2, 3, 4, 5), other: Cost(1, 2, 3)}), {CLASS: 3.0}, 2.0)
    assert found == Timings(2.0, 4.0, {CLASS: Cost(2, 6, 9, 12, 15), other: Cost(2, 4, 6, 0, 0)})


@pytest.mark.parametrize(
    ("sets", "processor"),
    [
        ({"avx2", "avx512_vnni", "amx_int8"}, Processor.AMX),
        ({"avx2", "avx_vnni"}, Processor.VNNI),
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
    assert driver.timings() is read_measured("reference")
