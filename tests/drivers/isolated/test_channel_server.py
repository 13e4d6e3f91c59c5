"""The driver's side of a channel: the answer to each message, and runs without one."""

import os
import socket
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.contract.driver import CacheEntry, Handle, LoopTimeoutError, OpenOptions, Outcome, Request
from nnapi.drivers.isolated import channel_server, plain_values, protocol
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.arena import Arena
from nnapi.drivers.isolated.channel import DONE, FAILED, SIZE, STATUS
from nnapi.drivers.isolated.channel_server import ChannelServer, make_channel
from nnapi.drivers.isolated.descriptors import memory_file, shared_file
from nnapi.drivers.isolated.protocol import Body
from nnapi.drivers.isolated.session import Session
from nnapi.errors import NnapiError, OpFailedError
from nnapi.model.operand import Array
from tests.drivers.isolated.channel_server_cases import OPTIONS, X, adopt, ask, bind, in_arena, send_model
from tests.drivers.isolated.isolated_cases import Misbehaving, model
from tests.drivers.isolated.loopback_cases import Bare, BarePrepared
from tests.drivers.isolated.service_cases import SPANS, error_of
from tests.waiting import count_descriptors

pytestmark = pytest.mark.usefixtures("collect_nothing")


def refusal(server: ChannelServer, body: Body) -> tuple[type[NnapiError], str]:
    error = plain_values.to_error(ask(server, body)[0]["error"])
    return type(error), str(error)


def run_body(prepared: int, inputs: Sequence[Any], **more: Any) -> Body:
    return {
        "kind": "execute",
        "prepared": prepared,
        "inputs": inputs,
        "free": 64,
        "deadline": None,
        "loop_timeout": 5,
        "attributes": [],
        **more,
    }


# Messages


def test_a_model_is_asked_about_prepared_and_released(server: ChannelServer) -> None:
    number = send_model(server, model("abs", "neg"))
    assert number == 1
    answer, _ = ask(server, {"kind": "verdicts", "model": 1})
    assert answer == {"verdicts": [[0, True, "", []], [1, True, "", []]]}
    assert ask(server, {"kind": "prepare", "model": 1, "options": OPTIONS})[0] == {"prepared": 2}
    held = server._session.prepared[2]
    assert not held.is_burst
    assert held.model is server._session.models[1]


def test_unknown_messages_and_numbers_are_errors(server: ChannelServer) -> None:
    for body in ({"kind": "nonsense"}, {"kind": "verdicts", "model": 9}, {"kind": "execute", "prepared": 9}):
        kind, words = refusal(server, body)
        assert kind is OpFailedError
        assert words.startswith("misbehaving failed: ")


def test_a_session_has_resources_of_its_own_if_the_driver_has_any(server: ChannelServer) -> None:
    asked: list[OpenOptions] = []
    closed: list[str] = []

    class Opening(BarePrepared):
        def open_handle(self, options: OpenOptions) -> Handle:
            asked.append(options)
            return Handle(self.execute, self.open_handle, close=lambda: closed.append("handle"))

    outer = Opening(lambda request: Outcome([X]))
    number = adopt(server, outer)
    assert ask(server, {"kind": "session", "prepared": number})[0] == {"prepared": 2}
    assert asked == [OpenOptions(), OpenOptions(exclusive=True, borrow=True)]
    assert server._session.prepared[2].is_burst
    server._session.release(2)
    assert (closed, outer.is_closed) == (["handle"], False)


def test_a_session_of_a_driver_without_resources_is_shared(server: ChannelServer) -> None:
    prepared = BarePrepared(lambda request: Outcome([X]))
    number = adopt(server, prepared)
    assert ask(server, {"kind": "session", "prepared": number})[0] == {"prepared": 2}
    assert server._session.prepared[2].is_burst
    server._session.release(2)
    assert not prepared.is_closed
    server._session.release(number)
    assert prepared.is_closed


def test_a_cache_entry_of_a_driver_that_has_none(server: ChannelServer) -> None:
    number = adopt(server, BarePrepared(lambda request: Outcome([X])))
    answer, (file,) = ask(server, {"kind": "cache_entry", "prepared": number})
    assert (answer, os.pread(file, 9, 0)) == ({"length": 4}, b"kept")
    os.close(file)
    server._session.driver = Bare()
    assert ask(server, {"kind": "cache_entry", "prepared": number}) == ({"length": None}, [])
    body = {"kind": "restore", "model": 1, "options": OPTIONS, "size": 4, "length": 4}
    assert refusal(server, body) == (OpFailedError, "the driver does not cache")


@pytest.mark.parametrize("key", [b"", b"secret"])
def test_an_empty_cache_entry(server: ChannelServer, monkeypatch: pytest.MonkeyPatch, key: bytes) -> None:
    monkeypatch.setattr(Misbehaving, "cache_entry", lambda self, prepared: b"")
    server._session.key = key
    answer, (file,) = ask(server, {"kind": "cache_entry", "prepared": adopt(server, BarePrepared(print))})
    length = 32 if key else 0
    assert (answer["length"], os.fstat(file).st_size) == (length, length)
    os.close(file)


@pytest.mark.parametrize("key", [b"", b"secret"])
def test_an_entry_is_the_beginning_of_its_file(
    server: ChannelServer, monkeypatch: pytest.MonkeyPatch, key: bytes
) -> None:
    """A service restores a copy, which nobody can change after it was checked."""
    found: list[CacheEntry] = []

    def restore(self: object, model: Model, entry: CacheEntry, options: object) -> BarePrepared:
        found.append(entry)
        return BarePrepared(print)

    monkeypatch.setattr(Misbehaving, "restore", restore)
    number = send_model(server, model())
    content = b"kept"
    if key:
        content = channel_server.seal_entry(key, server._session.models[number], content)
    file = memory_file([content, b"more"])
    server._session.key = key
    size = len(content) + 4
    body = {"kind": "restore", "model": number, "options": OPTIONS, "size": size, "length": len(content)}
    assert ask(server, body, [file])[0] == {"prepared": 2}
    (entry,) = found
    assert bytes(entry.content) == b"kept"
    if key:
        assert entry.file is None
    else:
        assert entry.file is not None
        assert bytes(entry.file.view().data) == b"keptmore"
    os.close(file)


# Runs by a message


def test_a_run_reads_and_writes_an_arena(server: ChannelServer) -> None:
    requests: list[Request] = []

    def execute(request: Request) -> Outcome:
        requests.append(request)
        return Outcome([2 * np.asarray(request.inputs[0])], 7, 9)

    number = adopt(server, BarePrepared(execute))
    arena, locations = in_arena([X], 192)
    attributes = [["vendor.hint", 3, "0aff"]]
    body = run_body(number, locations, arena=192, deadline=11, attributes=attributes)
    assert ask(server, body, [arena]) == ({"outputs": [(64, (4,))], "driver_ns": 9, "hardware_ns": 7}, [])
    assert np.frombuffer(os.pread(arena, 16, 64), np.float32).tolist() == [2, -4, 6, -8]
    (request,) = requests
    assert (request.deadline, request.loop_timeout, request.borrow) == (11, 5, False)
    assert request.attributes == (("vendor.hint", 3, b"\x0a\xff"),)
    answer, _ = ask(server, run_body(number, [None]))
    assert answer["error"][1].startswith("misbehaving failed: TypeError"), "an omitted input, in the same arena"
    assert requests[1].inputs == [None]
    os.close(arena)


def test_a_driver_without_a_clock_is_measured(server: ChannelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100, 350])
    clock = type("Clock", (), {"monotonic_ns": staticmethod(lambda: next(times))})
    number = adopt(server, BarePrepared(lambda request: Outcome([X])))
    arena, locations = in_arena([X], 192)
    monkeypatch.setattr(channel_server, "time", clock)
    answer, _ = ask(server, run_body(number, locations, arena=192), [arena])
    assert (answer["driver_ns"], answer["hardware_ns"]) == (250, None)
    os.close(arena)


def test_outputs_that_do_not_fit_come_in_an_arena_of_their_own(server: ChannelServer) -> None:
    large = np.arange(33, dtype=np.float32)
    number = adopt(server, BarePrepared(lambda request: Outcome([large])))
    arena, locations = in_arena([X], 192)
    before = count_descriptors()
    answer, (file,) = ask(server, run_body(number, locations, arena=192), [arena])
    assert (answer["outputs"], answer["arena"]) == ([(0, (33,))], 64 + 192)
    assert Arena(file, answer["arena"]).view(0, (33,), np.dtype(np.float32)).tolist() == large.tolist()
    assert count_descriptors() == before + 2, "the answer's, and the mapping of the arena that is kept"
    for descriptor in (file, arena):
        os.close(descriptor)


@pytest.mark.parametrize(("size", "is_kept"), [(1 << 20, True), ((1 << 20) + 64, False)])
def test_a_large_arena_is_not_kept(server: ChannelServer, size: int, is_kept: bool) -> None:
    number = adopt(server, BarePrepared(lambda request: Outcome([X])))
    arena, locations = in_arena([X], size)
    assert "outputs" in ask(server, run_body(number, locations, arena=size), [arena])[0]
    assert (server._arena is not None) is is_kept
    assert ("outputs" in ask(server, run_body(number, locations))[0]) is is_kept
    os.close(arena)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (X.astype(np.float64), "the driver gave float64 for float32"),
        (X.astype(np.float16), "the driver gave float16 for float32"),
    ],
)
def test_an_output_of_another_size_is_the_driver_s_fault(server: ChannelServer, output: Array, words: str) -> None:
    number = adopt(server, BarePrepared(lambda request: Outcome([output])))
    arena, locations = in_arena([X], 192)
    error = plain_values.to_error(ask(server, run_body(number, locations, arena=192), [arena])[0]["error"])
    assert (type(error), str(error)) == (OpFailedError, words)
    os.close(arena)


def test_a_loop_that_takes_too_long_stays_that_error(server: ChannelServer) -> None:
    def execute(request: Request) -> Outcome:
        raise LoopTimeoutError("a loop ran too long")

    arena, locations = in_arena([X], 192)
    answer, _ = ask(server, run_body(adopt(server, BarePrepared(execute)), locations, arena=192), [arena])
    error = plain_values.to_error(answer["error"])
    assert (type(error), str(error)) == (LoopTimeoutError, "a loop ran too long")
    os.close(arena)


# Runs without a message


@pytest.mark.parametrize(("is_burst", "spin"), [(False, 20_000), (True, 100_000)])
def test_a_bound_run(server: ChannelServer, is_burst: bool, spin: int) -> None:
    number = adopt(
        server, BarePrepared(lambda request: Outcome([2 * np.asarray(request.inputs[0])])), is_burst=is_burst
    )
    binding, arena = bind(server, number)
    assert binding == 1
    words = server._channel.words
    words[STATUS] = 77
    server._run_bound(1)
    assert (words[STATUS], server._spin) == (DONE, spin)
    assert np.frombuffer(os.pread(arena, 16, 128), np.float32).tolist() == [2, -4, 6, -8]
    server._run_bound(2)
    assert words[STATUS] == FAILED
    os.close(arena)


@pytest.mark.parametrize(("count", "status"), [(0, FAILED), (1, DONE), (2, FAILED)])
def test_a_bound_run_has_as_many_outputs_as_the_model(server: ChannelServer, count: int, status: int) -> None:
    number = adopt(server, BarePrepared(lambda request: Outcome([X] * count)))
    binding, arena = bind(server, number)
    assert binding is not None
    server._run_bound(binding)
    assert server._channel.words[STATUS] == status
    os.close(arena)


def test_bindings_of_a_released_model_are_forgotten(server: ChannelServer) -> None:
    kept, released = (adopt(server, BarePrepared(lambda request: Outcome([X]))) for _ in range(2))
    arenas = [bind(server, number)[1] for number in (kept, released, kept)]
    assert sorted(server._bindings) == [1, 2, 3]
    server._session.release(released)
    assert sorted(server._bindings) == [1, 3]
    for arena in arenas:
        os.close(arena)


@pytest.mark.parametrize(("is_burst", "has_path"), [(False, True), (True, True), (False, False)])
def test_a_fast_path_of_the_driver(server: ChannelServer, is_burst: bool, has_path: bool) -> None:
    asked: list[OpenOptions] = []

    class WithPath(BarePrepared):
        def open_handle(self, options: OpenOptions) -> Handle:
            asked.append(options)
            return Handle(self.execute, self.open_handle, (lambda inputs: [-inputs[0]]) if has_path else None)

    binding, arena = bind(server, adopt(server, WithPath(lambda request: Outcome([X])), is_burst=is_burst))
    assert asked[-1] == OpenOptions([(4,)], borrow=is_burst)
    assert binding == 1
    server._run_bound(binding)
    expected = [-1, 2, -3, 4] if has_path else X.tolist()
    assert np.frombuffer(os.pread(arena, 16, 128), np.float32).tolist() == expected
    os.close(arena)


def test_a_loop_has_no_fast_path(server: ChannelServer) -> None:
    """It may exceed its limit, which a run without a message lacks."""

    def branch(name: str) -> Model:
        b = Builder(name)
        b.output(getattr(b, name)(b.input(tensor("float32", (4,)))))
        return b.finish()

    b = Builder("conditional")
    condition, x = b.input(tensor("bool8", (1,))), b.input(tensor("float32", (4,)))
    b.output(*b.if_(condition, branch("abs"), branch("neg"), x))
    number = adopt(server, BarePrepared(lambda request: Outcome([X])), b.finish())
    arena, _ = in_arena([X], 192)
    locations = [[[0, [1]], [0, [4]]], [[128, [4]]]]
    body = {"kind": "bind", "prepared": number, "locations": locations, "size": 192}
    assert ask(server, body, [arena])[0] == {"binding": None}
    os.close(arena)


def test_a_channel_without_memory_for_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is closed with an error, and nothing is printed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    bells = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
    session = Session(Allowance(threads=1))
    channel = make_channel(theirs, [shared_file(SIZE, "page"), *bells])

    def fail(_: socket.socket) -> None:
        raise MemoryError

    monkeypatch.setattr(channel_server, "receive", fail)
    protocol.send(ours, SPANS)
    ChannelServer(session, channel).run()
    answer = protocol.receive(ours)
    assert answer is not None
    assert "(nnapi serve --memory)" in error_of(answer.body)
    assert answer.body["closed"]
    assert session.enter_channel(print) == 0, "its slot is free again"
    ours.close()
