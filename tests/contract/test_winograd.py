"""Names of Winograd variants, and the width of float vectors."""

import pytest

from nnapi.contract import winograd
from nnapi.contract.winograd import (
    FORCED,
    FORCED_IN_BOTH,
    IN_BOTH,
    PLAIN,
    FloatWidth,
    describe_costs,
    find_float_width,
    has_byte_products,
)


def test_variants_are_told_apart_by_their_names() -> None:
    names = PLAIN, IN_BOTH, FORCED, FORCED_IN_BOTH
    assert len({*names}) == 4
    assert all(map(winograd.is_winograd, names))
    assert not winograd.is_winograd("")
    assert not winograd.is_winograd("in float16")
    assert [name for name in names if winograd.may_use_both(name)] == [IN_BOTH, FORCED_IN_BOTH]
    assert [name for name in names if winograd.is_forced(name)] == [FORCED, FORCED_IN_BOTH]


@pytest.mark.parametrize(
    ("sets", "width"),
    [
        ({"avx2", "fma", "avx512f"}, FloatWidth.AVX512),
        ({"avx2", "fma"}, FloatWidth.AVX2),
        ({"avx2"}, FloatWidth.OTHER),
        ({"asimd"}, FloatWidth.NEON),
    ],
)
def test_the_width_follows_from_the_instruction_sets(
    sets: set[str], width: FloatWidth, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(winograd, "find_instruction_sets", lambda: frozenset(sets))
    find_float_width.cache_clear()
    try:
        assert find_float_width() is width
    finally:
        find_float_width.cache_clear()


@pytest.mark.parametrize(
    ("sets", "is_fast"),
    [
        ({"avx2", "fma"}, False),
        ({"avx512f", "avx2", "fma"}, False),
        ({"avx2", "avx_vnni"}, True),
        ({"avx512f", "avx512_vnni"}, True),
        ({"avx512f", "amx_int8"}, True),
        ({"asimd"}, False),
        ({"asimd", "asimddp"}, True),
        ({"asimd", "i8mm"}, True),
    ],
)
def test_products_of_bytes_need_instructions(sets: set[str], is_fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(winograd, "find_instruction_sets", lambda: frozenset(sets))
    assert has_byte_products() == is_fast
    assert describe_costs() == f"{find_float_width()}{', byte products' if is_fast else ''}"
