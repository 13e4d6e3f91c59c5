"""A prepared model of another process: the arenas of its runs, its fast path and its sessions."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.contract.driver import DriverDiedError, OpenOptions, Outcome, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.drivers.isolated import plain_values, prepared
from nnapi.drivers.isolated.connection import Connection
from nnapi.drivers.isolated.prepared import RemotePrepared, read_number
from nnapi.drivers.isolated.protocol import Message
from nnapi.errors import BadDataError, OpFailedError
from tests.drivers.isolated.isolated_cases import model
from tests.drivers.isolated.loopback_cases import Bare, connected
from tests.waiting import comes_true

pytestmark = pytest.mark.usefixtures("collect_nothing")
X = np.array([1, -2, 3, -4], np.float32)
EXCLUSIVE, BOUND = OpenOptions(exclusive=True), OpenOptions([(4,)], bind=True)
OPTIONS = plain_values.of_value(PrepareOptions())


class Prepared:
    """A model prepared on a driver that a test gives, and the bodies of all messages."""

    def __init__(self, connection: Connection, kept: Model, *, now: bool = True) -> None:
        self.model, self.connection, self.connected = kept, connection, 0
        self.made = RemotePrepared(kept, self._connect, self._make, now=now)
        self.bodies: list[dict[str, Any]] = []
        inner = connection.ask_on

        def ask_on(channel: Any, body: dict[str, Any], *others: Any) -> Any:
            self.bodies.append(body)
            return inner(channel, body, *others)

        connection.ask_on = ask_on  # type: ignore[method-assign,assignment]

    def _connect(self) -> Connection:
        self.connected += 1
        return self.connection

    def _make(self, connection: Connection) -> int:
        body = {"kind": "prepare", "model": connection.model(self.model), "options": OPTIONS}
        return connection.ask(body, read_number)


def two_outputs() -> Model:
    """Outputs of 5 float32 and of 3x2 int8."""
    b = Builder("two")
    x, y = b.input(tensor("float32", (5,))), b.input(tensor("quant8_asymm_signed", (3, 2), 0.5, 1))
    b.output(b.neg(x), b.relu(y))
    return b.finish()


def growing() -> Model:
    """An output of unknown size."""
    b = Builder("growing")
    x = b.input(tensor("float32", (0,)))
    b.output(b.concatenation([x, x], 0))
    return b.finish()


@pytest.fixture
def remote() -> Iterator[Prepared]:
    with connected() as (connection, _):
        yield Prepared(connection, model())


@pytest.fixture
def answering() -> Iterator[Callable[..., Prepared]]:
    """Prepare a model on a driver with such outputs."""
    opened: list[Any] = []

    def prepare(execute: Callable[[Request], Outcome], kept: Model | None = None) -> Prepared:
        opened.append(connected(Bare(execute)))
        connection, _ = opened[-1].__enter__()
        return Prepared(connection, kept or model())

    yield prepare
    for each in opened:
        each.__exit__(None, None, None)


def test_it_is_prepared_once(remote: Prepared) -> None:
    first = remote.made.find_remote()
    assert (first.number, remote.connected) == (2, 1)
    assert remote.made.find_remote() is first
    assert remote.made.execute(Request([X])).outputs[0].tolist() == [1, 2, 3, 4]
    assert remote.connected == 1
    assert not remote.made.is_burst


def test_it_is_prepared_at_first_use() -> None:
    with connected() as (connection, _):
        late = Prepared(connection, model(), now=False)
        assert (late.connected, late.made._remote) == (0, None)
        late.made.find_remote()
        assert late.connected == 1


def test_it_is_prepared_again_after_the_end(remote: Prepared) -> None:
    with connected() as (another, _):
        remote.connection.close()
        remote.connection = another
        assert remote.made.execute(Request([X])).outputs[0].tolist() == [1, 2, 3, 4]
        assert (remote.connected, remote.made.find_remote().connection) == (2, another)


def test_a_closed_one_is_not_prepared_again() -> None:
    with connected() as (connection, process):
        remote = Prepared(connection, model())
        infer = open_handle(remote.made, OpenOptions([(4,)])).call
        assert infer is not None
        remote.made.close()
        assert comes_true(lambda: process.session.prepared == {}), "it is released there"
        with pytest.raises(OpFailedError, match="^the prepared model is closed$"):
            remote.made.execute(Request([X]))
        with pytest.raises(OpFailedError, match="^the model is closed, or not prepared yet$"):
            infer([X])


def test_an_arena_is_kept_between_runs(answering: Callable[..., Prepared]) -> None:
    """The first run sends one: 64 bytes for each array and one more; the next uses it."""
    q = np.array([[1, -2], [3, -4], [5, -6]], np.int8)
    x = np.arange(5, dtype=np.float32)
    remote = answering(lambda request: Outcome([x + 1, q], 7, 9), two_outputs())
    for _ in range(2):
        outcome = remote.made.execute(Request([x, q], None, 5, False, (("vendor.hint", 3, b"\xff"),)))
        assert [each.tolist() for each in outcome.outputs] == [[1, 2, 3, 4, 5], q.tolist()]
        assert (outcome.hardware_ns, outcome.driver_ns) == (7, 9)
    first, second = remote.bodies[-2:]
    assert (first["arena"], first["free"], first["inputs"]) == (257, 128, [(0, (5,)), (64, (3, 2))])
    assert {**second, "arena": 257} == first
    assert (first["deadline"], first["loop_timeout"], first["attributes"]) == (None, 5, [["vendor.hint", 3, "ff"]])
    (channel,) = remote.connection._idle
    assert channel.arena is not None
    assert channel.arena.size == 257


@pytest.mark.parametrize(("length", "is_kept"), [((1 << 18) - 32, True), ((1 << 18) - 31, False)])
def test_a_large_arena_is_not_kept(answering: Callable[..., Prepared], length: int, is_kept: bool) -> None:
    """More than 1 MiB; here it has the input, 64 bytes for the output and one more."""
    b = Builder("large")
    b.output(b.reduce_sum(b.input(tensor("float32", (length,))), np.array([0], np.int32), True))
    remote = answering(lambda request: Outcome([np.array([3], np.float32)]), b.finish())
    assert remote.made.execute(Request([np.ones(length, np.float32)])).outputs[0].tolist() == [3]
    (channel,) = remote.connection._idle
    assert (channel.arena is not None) is is_kept


def test_the_caller_owns_the_outputs(remote: Prepared) -> None:
    first = remote.made.execute(Request([X])).outputs[0]
    remote.made.execute(Request([X + 10]))
    assert first.tolist() == [1, 2, 3, 4]
    assert first.flags.owndata


@pytest.mark.parametrize(("shape", "is_possible"), [((4,), True), ((5,), False), ((2, 2), False), ((1, 4), False)])
def test_an_output_of_a_shape_that_the_model_does_not_have(
    answering: Callable[..., Prepared], shape: tuple[int, ...], is_possible: bool
) -> None:
    remote = answering(lambda request: Outcome([np.ones(shape, np.float32)]))
    if is_possible:
        assert remote.made.execute(Request([X])).outputs[0].shape == shape
    else:
        with pytest.raises(DriverDiedError, match="it sent garbage: ValueError: an output has shape"):
            remote.made.execute(Request([X]))


def test_an_output_that_does_not_fit_comes_in_its_own_arena(answering: Callable[..., Prepared]) -> None:
    remote = answering(lambda request: Outcome([np.tile(np.asarray(request.inputs[0]), 2)]), growing())
    for size in (3, 100, 7):
        given = np.arange(size, dtype=np.float32)
        assert remote.made.execute(Request([given])).outputs[0].tolist() == [*range(size)] * 2
    assert open_handle(remote.made, OpenOptions([(3,)])).call is None, "the size of the output is unknown"


@pytest.mark.parametrize(
    ("hardware", "driver", "times"), [(None, None, (None, None)), (5, 6, (5, 6)), ("7", "0", (7, 0))]
)
def test_times_in_an_answer(remote: Prepared, hardware: Any, driver: Any, times: Any) -> None:
    remote.made.execute(Request([X]))
    channel = remote.connection.take()
    body = {"outputs": [[0, [4]]], "hardware_ns": hardware, "driver_ns": driver}
    outcome = remote.made._read_outcome(channel, Message(body, []))
    assert (outcome.hardware_ns, outcome.driver_ns) == times
    for wrong in ([[0, [4]], [0, [4]]], [], [[1, [4]]], [[64 * 9, [4]]]):
        with pytest.raises((ValueError, BadDataError)):
            remote.made._read_outcome(channel, Message({**body, "outputs": wrong}, []))
    remote.connection.put(channel)


# The fast path


def test_a_run_without_a_message_has_its_own_arena(remote: Prepared) -> None:
    infer = open_handle(remote.made, OpenOptions([(4,)])).call
    assert infer is not None
    bound = remote.bodies[-1]
    assert bound == {
        "kind": "bind",
        "prepared": 2,
        "locations": [[(0, (4,))], [(64, (4,))]],
        "size": 128,
    }
    count = len(remote.bodies)
    first = infer([X])
    assert infer([10 * X])[0].tolist() == [10, 20, 30, 40]
    assert first[0].tolist() == [1, 2, 3, 4]
    assert len(remote.bodies) == count, "no message is sent"


def test_each_channel_has_its_own_binding(remote: Prepared) -> None:
    infer = open_handle(remote.made, OpenOptions([(4,)])).call
    assert infer is not None
    first = remote.connection.take()
    assert infer([X])[0].tolist() == [1, 2, 3, 4]
    assert [body["kind"] for body in remote.bodies].count("bind") == 2
    remote.connection.put(first)
    assert infer([X])[0].tolist() == [1, 2, 3, 4]
    assert [body["kind"] for body in remote.bodies].count("bind") == 2


def test_the_arena_of_several_arrays() -> None:
    with connected() as (connection, _):
        remote = Prepared(connection, two_outputs())
        infer = open_handle(remote.made, OpenOptions([(5,), (3, 2)])).call
        assert infer is not None
        assert remote.bodies[-1]["locations"] == [[(0, (5,)), (64, (3, 2))], [(128, (5,)), (192, (3, 2))]]
        assert remote.bodies[-1]["size"] == 256
        q = np.array([[1, -2], [3, -4], [5, -6]], np.int8)
        x, y = infer([np.arange(5, dtype=np.float32), q])
        assert (x.tolist(), y.tolist()) == ([0, -1, -2, -3, -4], [[1, 1], [3, 1], [5, 1]])
        assert open_handle(remote.made, OpenOptions([(5,)])).call is None, "an input is missing"


def test_a_driver_without_a_fast_path_is_asked_once() -> None:
    with connected() as (connection, _):
        remote = Prepared(connection, model())
        remote.connection.ask_on = lambda *args: remote.bodies.append(args[1])  # type: ignore[method-assign]
        for _ in range(2):
            assert open_handle(remote.made, OpenOptions([(4,)])).call is None
        assert [body["kind"] for body in remote.bodies] == ["bind"]
        infer = remote.made._make_call(((4,),), False)
        with pytest.raises(OpFailedError, match="^the driver has no fast path$"):
            infer([X])


def test_a_run_that_fails_is_repeated_by_a_message(answering: Callable[..., Prepared]) -> None:
    fails: list[Exception] = []

    def execute(request: Request) -> Outcome:
        if fails:
            raise fails[0]
        return Outcome([X])

    remote = answering(execute)
    infer = open_handle(remote.made, OpenOptions([(4,)])).call
    assert infer is not None
    fails.append(BadDataError("no such index"))
    with pytest.raises(OpFailedError, match="^the driver could not run directly$"):
        infer([X])
    with pytest.raises(BadDataError, match="^no such index$"):
        remote.made.execute(Request([X]))
    fails.clear()
    assert infer([X])[0].tolist() == X.tolist(), "the channel is used again"


def test_a_death_on_the_fast_path_is_told_once_more(remote: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller repeats a failed run by the general path, which must not run in another process."""
    infer = open_handle(remote.made, OpenOptions([(4,)])).call
    assert infer is not None
    dying = remote.connection

    def die(*_: Any) -> bool:
        raise dying.end("it hung")

    monkeypatch.setattr(dying, "run", die)
    with pytest.raises(DriverDiedError, match="^test has died: it hung$") as caught:
        infer([X])
    with connected() as (another, _):
        remote.connection = another
        with pytest.raises(DriverDiedError) as again:
            remote.made.execute(Request([X]))
        assert again.value is caught.value
        assert remote.made.execute(Request([X])).outputs[0].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("borrow", [False, True])
def test_only_a_session_borrows(remote: Prepared, borrow: bool) -> None:
    for exclusive in (False, True):
        infer = open_handle(remote.made, OpenOptions([(4,)], exclusive, borrow)).call
        assert infer is not None
        first = infer([X])[0]
        infer([-3 * X])
        assert first.tolist() == ([3, 6, 9, 12] if borrow and exclusive else [1, 2, 3, 4])
    assert remote.bodies[-1] == {
        "kind": "bind",
        "prepared": 3,
        "locations": [[(0, (4,))], [(64, (4,))]],
        "size": 128,
    }


def test_a_session_is_made_in_the_process_at_first_use(remote: Prepared) -> None:
    session = open_handle(remote.made, EXCLUSIVE)
    assert [body["kind"] for body in remote.bodies] == []
    assert session.execute(Request([X])).outputs[0].tolist() == [1, 2, 3, 4]
    assert [body["kind"] for body in remote.bodies] == ["session", "execute"]
    session.close()


def test_a_session_binds_inputs_that_begin_with_zeros(remote: Prepared) -> None:
    session = open_handle(remote.made, EXCLUSIVE)
    bound = session.reopen(BOUND)
    assert bound.call is not None
    assert bound.inputs is not None
    assert bound.inputs[0].tolist() == [0, 0, 0, 0]
    bound.inputs[0][...] = X
    assert bound.call(bound.inputs)[0].tolist() == [1, 2, 3, 4]
    assert session.reopen(BOUND).inputs is not None
    assert bound.inputs[0].tolist() == [0, 0, 0, 0], "the same memory, cleared again"
    session.close()


def test_a_session_without_a_fast_path_binds_nothing() -> None:
    with connected() as (connection, _):
        session = open_handle(Prepared(connection, growing()).made, EXCLUSIVE)
        assert session.reopen(OpenOptions([(3,)], bind=True)).inputs is None


@pytest.mark.parametrize(
    ("shapes", "free", "locations", "end"),
    [
        ([], 0, [], 0),
        ([(4,), (3, 2)], 0, [(0, (4,)), (64, (3, 2))], 128),
        ([(17,), (65,)], 64, [(64, (17,)), (192, (65,))], 320),
        ([(), (0,)], 0, [(0, ()), (64, (0,))], 64),
    ],
)
def test_locations_in_an_arena(shapes: list[Any], free: int, locations: list[Any], end: int) -> None:
    """Each begins at a multiple of 64; float32 and int8."""
    types = [tensor("float32", (4,)), tensor("quant8_asymm_signed", (3, 2), 0.5, 1)][: len(shapes)]
    assert prepared._lay_out(shapes, types, free) == (locations, end)


@pytest.mark.parametrize("exclusive", [False, True])
def test_a_process_that_has_ended_when_it_is_asked_for_a_fast_path(
    remote: Prepared, monkeypatch: pytest.MonkeyPatch, exclusive: bool
) -> None:
    """The run tells it."""

    def die(*_: Any) -> Any:
        raise DriverDiedError("test has died")

    monkeypatch.setattr(RemotePrepared, "_find_binding", die)
    handle = open_handle(remote.made, OpenOptions([(4,)], exclusive, bind=True))
    assert handle.call is not None
    assert handle.inputs is None
