"""Preparation of partitions: culprits, the cache's indices of operations, and refusals of a precision."""

from collections.abc import Sequence, Set
from typing import Any

import pytest

from nnapi import Device, Model, compile
from nnapi.contract.driver import DriverDiedError, Prepared, PrepareOptions
from nnapi.contract.handles import Openable
from nnapi.errors import BadDataError, MissedDeadlinePersistentError, OpFailedError, UnavailableDeviceError
from nnapi.runtime.cache.compilation_cache import Cache
from nnapi.runtime.executors.prepared_partitions import (
    ClaimedError,
    PreparedPartition,
    ReadyPlan,
    name_operations,
    prepare_plan,
)
from nnapi.runtime.verdicts.exclusions import exclusions_of
from tests.runtime.cache_cases import TOKEN, Slow, doubled
from tests.runtime.control_cases import branch
from tests.runtime.device_cases import ABS, NEG, REFERENCE, Scripted, as_it_is, chain, limited


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([3], "operation #3"),
        ([1, 2], "operations #1, #2"),
        ([1, 2, 5, 7], "operations #1, #2, #5, #7"),
        ([1, 2, 5, 7, 8], "operations #1, #2, #5, #7…"),
    ],
)
def test_the_names_of_operations(numbers: list[int], text: str) -> None:
    assert name_operations(numbers) == text


class Refusing(Scripted):
    """A driver that cannot prepare a model for which ``refuses`` is true."""

    def __init__(self, refuses: Any, error: Exception) -> None:
        super().__init__(as_it_is, "chip")
        self._refuses, self.error, self.asked = refuses, error, list[Any]()

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        self.asked.append([call.code for call in model.operations])
        if self._refuses(model):
            raise self.error
        return super().prepare(model, options)


def has(code: int) -> Any:
    return lambda model: code in [call.code for call in model.operations]


@pytest.mark.parametrize(
    ("refuses", "culprits"),
    [(has(ABS), (0, 2)), (has(NEG), (1,)), (lambda model: len(model.operations) > 1, (0, 1, 2))],
    ids=["some", "one", "only all together"],
)
def test_the_operations_that_cannot_be_prepared_alone_are_the_culprits(refuses: Any, culprits: Sequence[int]) -> None:
    chip = Device(Refusing(refuses, OpFailedError("no")))
    plan = compile(chain(), limited("chip")).plan
    with pytest.raises(ClaimedError) as caught:
        prepare_plan(plan, [REFERENCE, chip], PrepareOptions(), None)
    assert (caught.value.device, tuple(caught.value.culprits), caught.value.kind) == ("chip", culprits, OpFailedError)
    assert str(caught.value) == f"chip claimed {name_operations(culprits)}, but failed to prepare: no"


def test_a_deadline_that_passes_accuses_nobody() -> None:
    chip = Refusing(lambda model: True, MissedDeadlinePersistentError("too late"))
    with pytest.raises(MissedDeadlinePersistentError, match="too late"):
        prepare_plan(compile(chain(), limited("chip")).plan, [Device(chip)], PrepareOptions(), None)
    assert len(chip.asked) == 1


def test_a_foreign_error_names_the_device() -> None:
    chip = Device(Refusing(lambda model: True, KeyError("x")))
    with pytest.raises(ClaimedError, match="chip claimed operation #0, but failed to prepare: chip failed: KeyError"):
        prepare_plan(compile(chain(1), limited("chip")).plan, [chip], PrepareOptions(), None)


@pytest.mark.parametrize(("by_itself", "excluded"), [(True, 2), (False, 0)])
def test_an_operation_that_ends_the_process_again_is_excluded(
    by_itself: bool, excluded: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    error = DriverDiedError("it ended")
    error.by_itself = by_itself
    driver = Refusing(has(ABS), error)
    model = chain(4)  # ABS and NEG, twice
    with pytest.raises(ClaimedError):
        prepare_plan(compile(model, limited("chip")).plan, [Device(driver)], PrepareOptions(), None)
    found = exclusions_of(driver)
    assert sum(found.reason(model, call) is not None for call in model.operations) == excluded


def test_partitions_know_their_operations_in_the_whole() -> None:
    """The whole model is 0; referenced models follow."""
    devices = [limited("positive", [ABS]), limited("negative", [NEG]), REFERENCE]

    def prepared(model: Model) -> list[tuple[str, list[tuple[int, int]]]]:
        ready = prepare_plan(compile(model, devices).plan, devices, PrepareOptions(), None)
        return [(each.device.name, list(each.operations)) for each in ready.partitions]

    assert prepared(chain(3)) == [("positive", [(0, 0)]), ("negative", [(0, 1)]), ("positive", [(0, 2)])]
    assert prepared(branch()) == [("positive", [(1, 0)]), ("negative", [(2, 0)])]
    assert prepared(chain(1)) == [("positive", [])]


def test_every_partition_and_every_divided_plan_is_guarded_once() -> None:
    devices = [limited("positive", [ABS]), limited("negative", [NEG]), REFERENCE]
    guarded: list[str] = []

    def guard(name: str, model: Model, among: Set[str], prepared: Openable) -> Openable:
        guarded.append(f"{name}: {len(model.operations)}, {len(among)}")
        return prepared

    for model in (chain(3), chain(1)):
        prepare_plan(compile(model, devices).plan, devices, PrepareOptions(), None, guard)
    parts = [f"{name} on operation #{i}: 1, 1" for i, name in enumerate(("positive", "negative", "positive"))]
    assert guarded == [*parts, "the plan of chain: 3, 2", "positive on operation #0: 1, 1"]


def test_a_plan_is_prepared_in_its_variant() -> None:
    driver = Scripted(as_it_is, "chip")
    plan = compile(chain(), limited("chip")).plan.with_variant("upside down")
    prepare_plan(plan, [Device(driver)], PrepareOptions(threads=3), None)
    assert driver.options == [PrepareOptions(threads=3, variant="upside down")]


def test_a_device_without_a_cache_of_its_own_is_not_looked_up(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path, TOKEN)
    monkeypatch.setattr(cache, "restore", lambda *_: pytest.fail("it is looked up"))
    ready = prepare_plan(compile(chain(), limited("chip")).plan, [limited("chip")], PrepareOptions(), cache)
    assert [each.is_restored for each in ready.partitions] == [False]


def test_a_partition_is_restored_from_the_cache(tmp_path: Any) -> None:
    driver, cache, model = Slow("chip"), Cache(tmp_path, TOKEN), doubled()
    chip, options = Device(driver), PrepareOptions()
    plan = compile(model, chip).plan
    for is_restored in (False, True):
        (found,) = prepare_plan(plan, [chip], options, cache).partitions
        assert found.is_restored is is_restored
        cache.keep(chip, model, options, found.prepared)
    (found,) = prepare_plan(plan, [chip], options, None).partitions
    assert not found.is_restored
    assert driver.restored == [b"entry of doubled"]


def test_refusals_of_a_precision_are_those_of_the_engines_that_refuse() -> None:
    def partition(name: str, prepared: Any) -> PreparedPartition:
        return PreparedPartition(limited(name), chain(), (), prepared, False)

    class Exacting:
        def __init__(self, refusal: str) -> None:
            self.precision_refusal = refusal

        def execute(self, request: object) -> Any: ...

        def close(self) -> None: ...

    queued: Any = None
    partitions = [partition("a", Exacting("")), partition("b", Exacting("too deep")), partition("c", object())]
    plan = compile(chain(), REFERENCE.name).plan
    assert ReadyPlan(plan, queued, partitions).find_precision_refusals() == {"b": "too deep"}


@pytest.mark.parametrize("error", [UnavailableDeviceError("gone"), BadDataError("wrong")])
def test_the_kind_of_a_claim_is_that_of_its_error(error: Exception) -> None:
    assert ClaimedError("chip", chain(), [0], error).kind is type(error)  # type: ignore[arg-type]
