"""Shards on Ray: the same results as here, whatever becomes of a worker. Without Ray: what is said then."""

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Predictor, tensor
from nnapi.cluster.shards import SHARD, SHARDS_AHEAD, Cluster, Failure, connect, run_shard
from nnapi.errors import BadDataError, OpFailedError
from tests.cluster.ray_cases import FakeRay

LOCAL_ONLY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"


def predictor() -> Predictor:
    rng = np.random.default_rng(1)
    b = Builder("product")
    x = b.input(tensor("float32", (1, 16)), name="x")
    weights, bias = rng.normal(size=(8, 16)).astype(np.float32), np.zeros(8, np.float32)
    b.output(b.softmax(b.fully_connected(x, weights, bias), 1.0))
    return Predictor(b.finish(), "nnapi-reference")


@dataclass(frozen=True)
class Dying:
    """A predictor whose worker is killed at one input, as often as there are lives to lose."""

    predict: Predictor
    number: int
    lives: Path
    count: int = 1

    def __call__(self, given: tuple[int, Any]) -> Any:
        number, array = given
        if number == self.number and len(list(self.lives.iterdir())) < self.count:
            (self.lives / f"{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid(), self.predict(array)[0]


def double(number: int) -> int:
    if number < 0:
        raise BadDataError("it is negative")
    return 2 * number


def test_results_come_in_the_order_of_the_inputs() -> None:
    told: list[tuple[int, int | None]] = []
    found = Cluster(FakeRay()).map(double, range(100), lambda done, total: told.append((done, total)))
    assert list(found) == [*range(0, 200, 2)]
    assert told == [(number, 100) for number in range(1, 101)]


def test_few_shards_are_begun_ahead() -> None:
    ray, taken = FakeRay(), []

    def give() -> Iterator[int]:
        for number in range(10_000):
            taken.append(number)
            yield number

    results = Cluster(ray).map(double, give())
    next(results)
    assert len(taken) == SHARD * SHARDS_AHEAD * 2
    results.close()
    assert len(ray.begun) == 1  # what was begun and is not wanted is given up


def test_a_worker_that_dies_is_replaced_by_ray() -> None:
    ray = FakeRay()
    list(Cluster(ray).map(double, range(3)))
    assert ray.asked_for == {"num_cpus": 1, "max_retries": 3}


@pytest.mark.parametrize(("threads", "processors"), [(1, 1), (2, 2), (8, 2)])
def test_a_worker_with_threads_gets_as_many_processors_as_a_node_has(threads: int, processors: int) -> None:
    """A task that asks for more than any node has would wait for ever."""
    ray = FakeRay()
    list(Cluster(ray).run_all(double, range(3), threads))
    assert ray.asked_for["num_cpus"] == processors


def test_a_shard_that_ends_its_workers_is_named() -> None:
    with pytest.raises(OpFailedError, match="^inputs 0 to 15 were given up after 4 workers: the worker died$"):
        list(Cluster(FakeRay(dies=True)).map(double, range(40)))


def test_an_input_that_fails_is_named_and_the_others_are_not_lost() -> None:
    results = Cluster(FakeRay()).map(double, [1, -1, 3])
    assert next(results) == 2
    with pytest.raises(BadDataError, match="^input 1: it is negative$"):
        next(results)
    assert list(results) == [6]


def test_errors_that_cannot_travel_become_ours() -> None:
    class Local(Exception):
        pass

    def fail(_: int) -> None:
        raise Local("too far")

    (failure,) = run_shard(fail, [1])
    assert isinstance(failure, Failure)
    assert isinstance(failure.error, OpFailedError)
    assert str(failure.error) == "Local: too far"


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OpFailedError, match=r"Ray is not installed: pip install 'nnapi\[ray\]'"), connect("ray"):
        pass


@pytest.mark.parametrize("place", ["spark", "rays", "http://here"])
def test_what_is_no_cluster_is_refused(place: str) -> None:
    with pytest.raises(BadDataError, match=f"'{place}' is not a cluster: use ray or ray://HOST:PORT"), connect(place):
        pass


class InitRay:
    """The arguments with which Ray is started."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.is_shut_down = False

    def init(self, address: str, **options: Any) -> None:
        if address == "ray://nobody:1":
            raise ConnectionError("nobody answers")
        self.told.append((address, options))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(15))

    def shutdown(self) -> None:
        self.is_shut_down = True


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InitRay:
    fake = InitRay()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name in ("RAY_USAGE_STATS_ENABLED", LOCAL_ONLY):
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    return fake


def test_a_local_cluster_listens_to_nobody_else_and_reports_to_nobody(ray: InitRay) -> None:
    with connect("ray"):
        ((address, options),) = ray.told
        assert (address, options["_node_ip_address"], options["include_dashboard"]) == ("local", "127.0.0.1", False)
        assert os.environ["RAY_USAGE_STATS_ENABLED"] == os.environ[LOCAL_ONLY] == "0"
    assert ray.is_shut_down


def test_signals_are_handled_as_before(ray: InitRay) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with connect("ray"):
        assert signal.getsignal(signal.SIGTERM) is before


def test_an_address_is_kept(ray: InitRay, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect("ray://host:10001"):
        pass
    monkeypatch.setenv("RAY_ADDRESS", "other:6379")
    with connect("ray"):
        pass
    assert [address for address, _ in ray.told] == ["ray://host:10001", "other:6379"]
    assert LOCAL_ONLY not in os.environ
    assert all("_node_ip_address" not in options for _, options in ray.told)


def test_a_cluster_that_does_not_answer_is_named(ray: InitRay) -> None:
    with pytest.raises(OpFailedError, match="no Ray at ray://nobody:1: nobody answers"), connect("ray://nobody:1"):
        pass


@pytest.mark.slow
def test_a_thousand_inputs_on_two_workers_of_which_one_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    predict = predictor()
    rng = np.random.default_rng(2)
    inputs = [rng.normal(size=(1, 16)).astype(np.float32) for _ in range(1000)]
    told: list[int] = []
    with connect("ray") as cluster:
        dying = Dying(predict, 500, tmp_path)
        found = list(cluster.map(dying, [*enumerate(inputs)], lambda done, total: told.append(done)))
        assert len(list(tmp_path.iterdir())) == 1
        assert len({process for process, _ in found}) >= 2
        always = Dying(predict, 3, tmp_path, count=100)
        with pytest.raises(OpFailedError, match="^inputs 0 to 15 were given up after 4 workers"):
            list(cluster.map(always, [*enumerate(inputs[:20])]))
    assert told == [*range(1, 1001)]
    for given, (_, output) in zip(inputs, found, strict=True):
        np.testing.assert_array_equal(output, predict(given)[0])
