"""The cache of models from files when no cache is named."""

import pickle
import shutil
from pathlib import Path

import pytest

import nnapi
from nnapi import Compilation
from nnapi.contract.driver import Prepared, PrepareOptions
from nnapi.importers import import_cache
from nnapi.model.lazy_model import LazyModel
from nnapi.runtime.cache import compilation_cache
from nnapi.runtime.cache.compilation_cache import open_cache
from nnapi.runtime.choice.knowledge import keep
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import MEASURED, PREDICTED, Record
from nnapi.runtime.planning.explain import as_text
from nnapi.runtime.planning.plan import Explanation, Plan, run_everything_on
from tests.runtime.cache_cases import Slow, doubled
from tests.runtime.choice.trial_cases import has_trial

FILE = Path(__file__).parents[3] / "examples" / "digits" / "digits_float.tflite"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that was not changed for long enough, and nothing kept."""
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("NNAPI_TUNING", "1")
    monkeypatch.setattr(import_cache, "SETTLED", 0)
    return Path(shutil.copy(FILE, tmp_path / "model.tflite"))


def start(path: Path, driver: Slow) -> Compilation:
    return nnapi.compile(nnapi.load(path), nnapi.Device(driver))


def test_a_file_is_compiled_once(path: Path) -> None:
    driver = Slow()
    cold, warm = start(path, driver), start(path, driver)
    assert (len(driver.prepared), len(driver.restored)) == (1, 1)
    assert isinstance(warm.model, LazyModel)
    assert as_text(warm.plan) == as_text(cold.plan)


def test_other_sources_prepare_it_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Slow()
    start(path, driver)
    monkeypatch.setattr(compilation_cache, "find_last_change", lambda: b"another time")
    start(path, driver)
    assert len(driver.prepared) == 2


@pytest.mark.parametrize(("state", "count"), [(MEASURED, 0), (PREDICTED, 1)])
def test_a_plan_that_trials_may_change_is_cached_without_its_choice(path: Path, state: str, count: int) -> None:
    devices = [nnapi.Device(Slow("one")), nnapi.Device(Slow("two"))]
    question = Question(nnapi.load(path), devices, PrepareOptions())
    plan = Plan(question.model, (run_everything_on(question.model, "two"),), lambda: Explanation((), 1.0))
    keep(question, question.key, Record.of(state, plan))
    with nnapi.settings(tuning=None), pytest.MonkeyPatch.context() as patched:
        patched.delenv("NNAPI_TUNING")
        first, second = (nnapi.compile(question.model, devices) for _ in range(2))
    assert first.plan.devices == second.plan.devices == ("two",)
    assert len(list((path.parent / "kept" / "prepared").iterdir())) == 1
    assert has_trial(second) == bool(count)


def test_nothing_is_kept_of_what_is_no_file_or_too_large_or_not_tuned(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = nnapi.load(path)
    assert open_cache(doubled(), None) is None
    assert open_cache(model, None) is not None
    assert open_cache(model, False) is None
    with nnapi.settings(tuning=False):
        assert open_cache(model, None) is None
        assert open_cache(model, True) is None
    monkeypatch.setattr(compilation_cache, "OWN_LIMIT", 30)
    nnapi.compile(model, nnapi.Device(Slow()))
    assert not list((path.parent / "kept" / "prepared").iterdir())


@pytest.mark.parametrize(("limit", "is_kept"), [(4, True), (3, False)])
def test_a_payload_is_not_made_if_the_constants_alone_are_too_large(
    path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, is_kept: bool
) -> None:
    model, driver, made = nnapi.load(path), Slow(), list[Prepared]()
    driver.caches_constants = True  # type: ignore[attr-defined]

    def cache_entry(prepared: Prepared) -> bytes:
        made.append(prepared)
        return b"small"

    monkeypatch.setattr(driver, "cache_entry", cache_entry)
    monkeypatch.setattr(compilation_cache, "OWN_LIMIT", limit * compilation_cache.count_bytes(model))
    nnapi.compile(model, nnapi.Device(driver))
    assert bool(made) == is_kept
    assert len(list((path.parent / "kept" / "prepared").iterdir())) == is_kept
    nnapi.compile(model, nnapi.Device(driver), cache=path.parent / "folder")  # which may take more
    assert len(made) == is_kept + 1


def test_what_is_no_file_is_kept_on_demand(path: Path) -> None:
    drivers = Slow(), Slow()
    for driver in drivers:
        nnapi.compile(doubled(), nnapi.Device(driver), cache=True)
    assert [(len(driver.prepared), len(driver.restored)) for driver in drivers] == [(1, 0), (0, 1)]


def test_where_nothing_can_be_kept_it_is_compiled(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", "/dev/null")
    assert start(path, Slow()).plan.devices == ("slow",)


def test_a_pickled_compilation_names_no_directory_of_this_machine(path: Path) -> None:
    compilation = nnapi.compile(nnapi.load(path), "nnapi-reference")
    assert str(path.parent / "kept").encode() not in pickle.dumps(compilation)
