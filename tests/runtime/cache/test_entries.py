"""Entries of the compilation cache one by one: their plans, names and limits, and why they are not written."""

import hashlib
import os
import struct
from pathlib import Path
from unittest.mock import Mock

import pytest

from nnapi import Device, Model
from nnapi.contract.driver import PrepareOptions
from nnapi.contract.winograd import PLAIN, describe_costs
from nnapi.errors import BadDataError
from nnapi.runtime.cache.compilation_cache import Cache, locate_variant
from tests.runtime.cache_cases import TOKEN, Slow, doubled, letters


def keep(directory: Path, plan: bytes, *, is_own: bool = False, variant: str = "") -> tuple[Cache, Device, Model]:
    cache, chosen, model = Cache(directory, TOKEN, is_own=is_own), Device(Slow()), doubled()
    options = PrepareOptions(variant=variant)
    cache.keep(chosen, model, options, chosen.driver.prepare(model, options), plan=plan)
    return cache, chosen, model


def test_a_plan_is_replaced_and_the_payload_stays(tmp_path: Path) -> None:
    cache, chosen, model = keep(tmp_path, b"one")
    assert cache.recall_plan(chosen, PrepareOptions()) == b"one"
    cache.keep_plan(chosen, model, PrepareOptions(), b"two")
    later = Cache(tmp_path, TOKEN)
    assert later.recall_plan(chosen, PrepareOptions()) == cache.recall_plan(chosen, PrepareOptions()) == b"two"
    driver = Slow()
    assert later.restore(Device(driver), model, PrepareOptions()) is not None
    assert driver.restored == [b"entry of doubled"]


def test_the_same_plan_is_not_written_again(tmp_path: Path) -> None:
    cache, chosen, model = keep(tmp_path, b"one")
    (file,) = tmp_path.iterdir()
    os.utime(file, (1000, 1000))
    cache.keep_plan(chosen, model, PrepareOptions(), b"one")
    assert file.stat().st_mtime == 1000


def test_a_plan_is_not_kept_without_an_entry(tmp_path: Path) -> None:
    cache, chosen = Cache(tmp_path, TOKEN), Device(Slow())
    cache.keep_plan(chosen, doubled(), PrepareOptions(), b"one")
    assert list(tmp_path.iterdir()) == []
    assert cache.recall_plan(chosen, PrepareOptions()) == b""


def test_an_entry_that_is_forgotten_is_removed(tmp_path: Path) -> None:
    cache, chosen, _ = keep(tmp_path, b"one")
    for _ in range(2):
        cache.forget(chosen, PrepareOptions())
        assert cache.recall_plan(chosen, PrepareOptions()) == b""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("limit", "is_own", "variant", "count"),
    [(64, True, "", 1), (63, True, "", 0), (63, False, "", 1), (32, True, PLAIN, 1), (31, True, PLAIN, 0)],
)
def test_a_quarter_of_the_runtime_s_own_cache_is_the_largest_entry(
    limit: int, is_own: bool, variant: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of it for a Winograd variant, whose filters are larger. The payload has 16 bytes; other caches write it, and
    then remove what is beyond their limit."""
    monkeypatch.setattr("nnapi.runtime.cache.compilation_cache.prune_if_full", lambda directory, limit: None)
    for name in ("LIMIT", "OWN_LIMIT"):
        monkeypatch.setattr(f"nnapi.runtime.cache.compilation_cache.{name}", limit)
    keep(tmp_path, b"", is_own=is_own, variant=variant)
    assert len(list(tmp_path.iterdir())) == count


@pytest.mark.parametrize("variant", ["", PLAIN])
def test_an_entry_of_another_processor_is_not_restored(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its layers were chosen, and operations lowered, for another vector width."""
    keep(tmp_path, b"", variant=variant)
    for width, is_restored in (("another", False), (describe_costs(), True)):
        monkeypatch.setattr("nnapi.runtime.cache.compilation_cache.describe_costs", lambda width=width: width)
        restored = Cache(tmp_path, TOKEN).restore(Device(Slow()), doubled(), PrepareOptions(variant=variant))
        assert (restored is not None) is is_restored


@pytest.mark.parametrize(("is_own", "level"), [(True, "INFO"), (False, "WARNING")])
@pytest.mark.parametrize(("name", "reason"), [("missing", "the directory does not exist"), ("", "refused")])
def test_the_reason_why_an_entry_is_not_written(
    is_own: bool, level: str, name: str, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("nnapi.runtime.cache.compilation_cache.write_entry", Mock(side_effect=OSError("refused")))
        keep(tmp_path / name, b"", is_own=is_own)
    (record,) = [record for record in caplog.records if "not written" in record.getMessage()]
    assert record.levelname == level
    assert record.getMessage().endswith(f"not written: {reason}")


def test_the_number_of_threads_that_the_client_chose_is_part_of_the_name(tmp_path: Path) -> None:
    cache, chosen = Cache(tmp_path, TOKEN), Device(Slow("chip", "1.2"))
    parts = TOKEN + b"chip1.2" + struct.pack("<ii", 1, 100)
    assert cache.file_name(chosen, PrepareOptions()) == letters(hashlib.sha256(parts).digest()) + "10"
    cache.threads = 3
    parts += struct.pack("<i", 3)
    assert cache.file_name(chosen, PrepareOptions()) == letters(hashlib.sha256(parts).digest()) + "10"


@pytest.mark.parametrize("size", [31, 33])
def test_a_token_has_32_bytes(size: int, tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match=f"the token has {size} bytes, must have 32"):
        Cache(tmp_path, bytes(size))


def test_a_variant_of_a_model_has_an_entry_of_its_own(tmp_path: Path) -> None:
    given = Cache(tmp_path, TOKEN)
    assert locate_variant(None, b"64") is False
    assert locate_variant(given, b"") is False, "it has no name"
    first, second = (locate_variant(given, variant) for variant in (b"64", b"65"))
    assert isinstance(first, tuple)
    assert isinstance(second, tuple)
    assert first[0] == second[0] == str(tmp_path)
    assert len({TOKEN, first[1], second[1]}) == 3
    assert locate_variant(Cache(tmp_path, TOKEN, is_own=True), b"64") is True
