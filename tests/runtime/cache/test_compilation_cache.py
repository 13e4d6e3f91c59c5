"""The compilation cache: rules 91 to 95 of validation.md, damage of every kind, other processes, its size."""

import hashlib
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from nnapi import Builder, Compilation, Device, Model, PreferenceCode, PriorityCode, compile, tensor
from nnapi.contract.driver import PrepareOptions
from nnapi.drivers.limited import Limited
from nnapi.errors import DeadObjectError
from nnapi.model.content_hash import hash_content
from nnapi.runtime.cache.compilation_cache import LIMIT, Cache
from nnapi.runtime.planning.plan import Run
from nnapi.store.entry import MAGIC, TAIL, list_entries, prune
from nnapi.store.files import ABANDONED
from tests.graphs import finished_sum
from tests.runtime.cache_cases import TOKEN, Slow, doubled, letters
from tests.runtime.device_cases import ABS, NEG, chain

TWO = np.array([1, 2], np.float32)


def once(directory: Path, driver: Slow, model: Model | None = None, **options: object) -> Compilation:
    return compile(model or doubled(), Device(driver), cache=(directory, TOKEN), **options)  # type: ignore[arg-type]


def test_a_hit_skips_the_driver_s_prepare(tmp_path: Path) -> None:
    first, second = Slow(), Slow()
    once(tmp_path, first)
    compilation = once(tmp_path, second)
    assert (first.prepared, first.restored) == (["doubled"], [])
    assert (second.prepared, second.restored) == ([], [b"entry of doubled"])
    assert compilation.run(TWO)[0].tolist() == [2, 4]


def test_a_directory_alone_keeps_each_model_apart(tmp_path: Path) -> None:
    drivers, directory = [Slow(), Slow()], tmp_path / "not" / "there"
    for driver in drivers:
        for model in (doubled(), doubled("tripled", 3)):
            compilation = compile(model, Device(driver), cache=directory)
            assert compilation.run(TWO)[0].tolist() == ([2, 4] if model.name == "doubled" else [3, 6])
    assert [driver.prepared for driver in drivers] == [["doubled", "tripled"], []]
    assert len(list_entries(directory)) == 2


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        compile(doubled(), Device(Slow()), cache=tmp_path / "file" / "cache")


def test_rule_091_devices_that_do_not_ask_for_files_take_no_part(tmp_path: Path) -> None:
    compile(doubled(), "nnapi-reference", cache=(tmp_path, TOKEN))
    driver = Slow()
    driver.worth_keeping = False
    once(tmp_path, driver)
    assert list(tmp_path.iterdir()) == []


def test_rule_092_093_the_name_of_a_file(tmp_path: Path) -> None:
    driver = Slow("chip", "1.2")
    compilation = Compilation(doubled(), [Device(driver)])
    compilation.set_caching(tmp_path, TOKEN)
    compilation.set_preference(PreferenceCode.PREFER_LOW_POWER)
    compilation.set_priority(PriorityCode.PRIORITY_HIGH)
    compilation.add_extension_attribute("com.example.b", 1, b"one")
    compilation.add_extension_attribute("com.example.a", 2, b"two")
    compilation.finish()
    parts = TOKEN + b"chip" + b"1.2" + struct.pack("<ii", 0, 110)
    parts += b"com.example.a" + struct.pack("<H", 2) + b"two" + b"com.example.b" + struct.pack("<H", 1) + b"one"
    (file,) = tmp_path.iterdir()
    assert file.name == letters(hashlib.sha256(parts).digest()) + "10"
    assert len(file.name) == 66


def test_rule_092_parts_of_a_compound_plan_are_told_apart_by_their_operations(tmp_path: Path) -> None:
    driver, other = Slow("chip"), Slow("other")
    chosen = [half(driver, ABS), half(other, NEG)]
    compilation = compile(chain(), chosen, cache=(tmp_path, TOKEN))
    assert [step.device for step in compilation.plan.steps if isinstance(step, Run)] == ["chip", "other", "chip"]
    names = {path.name for path in tmp_path.iterdir()}
    wanted = set()
    for name, number in (("chip", 0), ("other", 1), ("chip", 2)):
        key = TOKEN + struct.pack("<ii", 0, number) + name.encode() + b"1" + struct.pack("<ii", 1, 100)
        wanted.add(letters(hashlib.sha256(key).digest()) + "10")
    assert names == wanted
    compile(chain(), chosen, cache=(tmp_path, TOKEN))
    assert (len(driver.prepared), len(driver.restored)) == (2, 2)


def half(driver: Slow, code: int) -> Device:
    """The driver, taking one kind of operation, and keeping what it prepares."""

    class Half(Limited):
        cache_entry = driver.cache_entry
        restore = driver.restore

    return Device(Half(driver, driver.info.name, lambda _, call: None if call.code == code else f"{call}: no"))


def test_rule_092_one_entry_for_each_choice(tmp_path: Path) -> None:
    drivers = [Slow(), Slow(version="2"), Slow("other")]
    for driver in drivers:
        once(tmp_path, driver)
    once(tmp_path, drivers[0], preference=PreferenceCode.PREFER_LOW_POWER)
    once(tmp_path, drivers[0], priority=PriorityCode.PRIORITY_LOW)
    compile(doubled(), Device(drivers[0]), cache=(tmp_path, TOKEN[::-1]))
    assert len(list(tmp_path.iterdir())) == 6
    assert all(not driver.restored for driver in drivers)


def test_rule_094_files_are_private_and_trouble_is_not_reported(tmp_path: Path) -> None:
    once(tmp_path, Slow())
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.unlink()
    file.mkdir()  # can neither be read nor written
    driver = Slow()
    assert once(tmp_path, driver).run(TWO)[0].tolist() == [2, 4]
    assert driver.prepared == ["doubled"]


@pytest.mark.parametrize("raised", [DeadObjectError("gone"), ValueError("no entry today")])
def test_rule_094_a_driver_that_gives_no_entry(raised: Exception, tmp_path: Path) -> None:
    driver = Slow()
    driver.cache_entry = Mock(side_effect=raised)  # type: ignore[method-assign]
    assert once(tmp_path, driver).run(TWO)[0].tolist() == [2, 4]
    assert driver.prepared == ["doubled"]
    assert list(tmp_path.iterdir()) == []


def test_rule_095_a_token_used_for_another_model(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")  # everyday use of two kinds of options is nothing to warn of
    once(tmp_path, Slow())
    driver = Slow()
    assert once(tmp_path, driver, doubled("tripled", 3)).run(TWO)[0].tolist() == [3, 6]
    assert "it was made for another model" in caplog.text
    assert driver.prepared == ["tripled"]
    again = Slow()
    once(tmp_path, again, doubled("tripled", 3))
    assert again.restored == [b"entry of tripled"]


def header_of(data: bytes) -> tuple[bytes, dict[str, object]]:
    """Return the bytes before an entry's header, and the header."""
    length, _ = TAIL.unpack(data[-TAIL.size :])
    start = len(data) - TAIL.size - length
    return data[:start], json.loads(data[start : -TAIL.size])


def rewrite(file: Path, **changes: object) -> None:
    """Change fields of the header; those that become None go."""
    content, meta = header_of(file.read_bytes())
    header = json.dumps({name: value for name, value in (meta | changes).items() if value is not None}).encode()
    file.write_bytes(content + header + TAIL.pack(len(header), MAGIC))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-3])


def cut_at_the_front(file: Path) -> None:
    file.write_bytes(file.read_bytes()[3:])


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[1] ^= 1
    file.write_bytes(data)


def lengthen(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"more")


def empty(file: Path) -> None:
    file.write_bytes(b"")


def replace_by_text(file: Path) -> None:
    file.write_bytes(b"#!/bin/sh\necho hello\n")


def replace_by_the_end_alone(file: Path) -> None:
    file.write_bytes(TAIL.pack(1 << 20, MAGIC))


def older_format(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(MAGIC, b"\nNNAPI-CACHE-1\n"))


def lose_a_field(file: Path) -> None:
    rewrite(file, purpose=None)


def grow_the_plan(file: Path) -> None:
    rewrite(file, plan=1 << 50)


def shorten_the_plan(file: Path) -> None:
    rewrite(file, plan=1)


def other_entry(file: Path) -> None:
    """The entry of another device under this one's name."""
    once(file.parent, Slow("other"))
    (other,) = set(file.parent.iterdir()) - {file}
    os.replace(other, file)


DAMAGE = {
    cut: "not an entry of this cache's format",
    cut_at_the_front: "bytes where",
    flip: "its content has changed",
    lengthen: "not an entry of this cache's format",
    empty: "not an entry of this cache's format",
    replace_by_text: "not an entry of this cache's format",
    replace_by_the_end_alone: "not an entry of this cache's format",
    older_format: "not an entry of this cache's format",
    lose_a_field: "not an entry of this cache's format",
    grow_the_plan: "not an entry of this cache's format",
    shorten_the_plan: "its content has changed",
    other_entry: "it was written as",
}


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_what_is_wrong_with_an_entry(
    damage: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    once(tmp_path, Slow())
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    damage(file)
    driver, again = Slow(), Slow()
    assert once(tmp_path, driver).run(TWO)[0].tolist() == [2, 4]
    assert (driver.prepared, driver.restored) == (["doubled"], [])
    assert f"{file} ignored" in caplog.text
    assert DAMAGE[damage] in caplog.text  # type: ignore[index]
    assert header_of(file.read_bytes())[0] == header_of(whole)[0]
    once(tmp_path, again)
    assert again.restored == [b"entry of doubled"]


def test_an_entry_that_the_driver_cannot_restore(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    once(tmp_path, Slow())
    driver = Slow()
    driver.refuses_to_restore = True
    assert once(tmp_path, driver).run(TWO)[0].tolist() == [2, 4]
    assert driver.prepared == ["doubled"]
    assert "slow cannot restore it: an entry of an older release" in caplog.text


def test_a_directory_that_nobody_may_write_to(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    assert once(tmp_path / "file", Slow()).run(TWO)[0].tolist() == [2, 4]
    assert "ignored" in caplog.text or "not written" in caplog.text


def test_the_digest_sees_everything_that_decides_the_result() -> None:
    def made(**change: float) -> Model:
        b = Builder("named otherwise" if change.get("name") else "model")
        x = b.input(tensor("quant8_asymm", (2,), 0.5, int(change.get("zero", 3))))
        y = b.max_pool_2d(b.reshape(x, [1, 1, 2, 1]), 0, 0, 0, 0, 1, 1, 1, 1, int(change.get("activation", 0)))
        b.output(y)
        b.model.relax_computation_float32_to_float16(bool(change.get("relaxed")))
        b.model.permit_dynamic_range(bool(change.get("permitted")))
        b.model.permit_rounded_states(bool(change.get("rounded")))
        return b.finish()

    assert hash_content(made()) == hash_content(made()) == hash_content(made(name=1))
    different = [
        made(),
        made(zero=4),
        made(activation=1),
        made(relaxed=1),
        made(permitted=1),
        made(rounded=1),
        finished_sum(),
        doubled(),
        doubled("", 3),
    ]
    assert len({hash_content(model) for model in different}) == len(different)


# Other processes

SCRIPT = str(Path(__file__).parents[1] / "cache_cases.py")


def start(directory: Path, times: int = 1) -> "subprocess.Popen[str]":
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, SCRIPT, str(directory), str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def results(process: "subprocess.Popen[str]") -> list[tuple[int, int]]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return [(int(a), int(b)) for a, b in (line.split() for line in out.splitlines())]


@pytest.mark.slow
def test_another_process_prepares_nothing(tmp_path: Path) -> None:
    assert results(start(tmp_path)) == [(1, 0)]
    assert results(start(tmp_path)) == [(0, 1)]


@pytest.mark.slow
def test_processes_at_the_same_time_do_not_harm_one_another(tmp_path: Path) -> None:
    processes = [start(tmp_path, 4) for _ in range(3)]
    for process in processes:
        lines = results(process)
        assert lines[-1][0] + lines[-1][1] == 4
    (entry,) = list_entries(tmp_path)
    assert entry.label is not None
    assert [path for path in tmp_path.iterdir() if str(path) != entry.path] == []


# Size


def fill(directory: Path, count: int) -> list[Path]:
    """Entries of as many devices, the first used longest ago."""
    files: list[Path] = []
    for i in range(count):
        once(directory, Slow(f"device-{i}"))
        (file,) = set(directory.iterdir()) - set(files)
        os.utime(file, (1000 + i, 1000 + i))
        files.append(file)
    return files


def test_entries_say_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.runtime.cache.compilation_cache.time", SimpleNamespace(time=lambda: 1234.5))
    files = fill(tmp_path, 2)
    found = list_entries(tmp_path)
    assert [entry.path for entry in found] == list(map(str, files))
    assert [entry.used for entry in found] == [1000, 1001]
    label = found[0].label
    assert label is not None
    assert (label.model, label.device, label.version) == ("doubled", "device-0", "1")
    assert label.created == 1234.5
    assert found[0].size == files[0].stat().st_size


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    files = fill(tmp_path, 4)
    once(tmp_path, Slow("device-0"))  # used just now
    size = files[0].stat().st_size + 10  # the moment of making is written with more or fewer digits
    removed = prune(tmp_path, 2 * size)
    assert [entry.path for entry in removed] == list(map(str, files[1:3]))
    assert set(tmp_path.iterdir()) == {files[0], files[3]}
    assert prune(tmp_path, 2 * size) == []


def test_files_that_are_no_entries_go_in_any_case_and_others_stay(tmp_path: Path) -> None:
    files = fill(tmp_path, 2)
    empty(files[1])
    (tmp_path / "notes.txt").write_text("not ours")
    unfinished, abandoned = tmp_path / ".nnapi-now", tmp_path / ".nnapi-long-ago"
    unfinished.touch()
    abandoned.touch()
    os.utime(abandoned, (time.time() - 2 * ABANDONED,) * 2)
    assert [entry.path for entry in prune(tmp_path, LIMIT)] == [str(files[1])]
    assert set(tmp_path.iterdir()) == {files[0], tmp_path / "notes.txt", unfinished}


def test_the_directory_is_kept_below_its_limit(tmp_path: Path) -> None:
    cache = Cache(tmp_path, TOKEN)
    assert cache.limit == 2**30
    for i in range(6):
        driver = Slow(f"device-{i}")
        model = doubled()
        cache.keep(Device(driver), model, PrepareOptions(), driver.prepare(model, PrepareOptions()))
        (cache.limit,) = [2 * entry.size + 40 for entry in list_entries(tmp_path)][:1]
    assert len(list_entries(tmp_path)) == 2


def test_options_that_no_name_tells_are_in_the_entry(tmp_path: Path) -> None:
    cache, driver, model = Cache(tmp_path, TOKEN), Slow(), doubled()
    for threads in (1, 1, 2):
        options = PrepareOptions(threads=threads)
        if cache.restore(Device(driver), model, options) is None:
            cache.keep(Device(driver), model, options, driver.prepare(model, PrepareOptions()))
    assert (len(driver.prepared), len(driver.restored)) == (2, 1)
