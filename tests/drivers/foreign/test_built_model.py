"""Models as an agent gets them, and the heads of requests to run them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.contract.driver import MAXIMUM_LOOP_TIMEOUT, OpenOptions, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.drivers.foreign import built_model
from nnapi.drivers.foreign.built_model import Built, Frame, RemoteCompilation, _cut
from nnapi.drivers.foreign.constants import Block, Constants
from nnapi.drivers.foreign.prepared import Live, PreparedForeign
from nnapi.drivers.foreign.wire import Answer, Ask, Reader, Told
from nnapi.errors import OpFailedError
from nnapi.model.operand import Array
from nnapi.trace import spans

X, Y = np.arange(5, dtype=np.float32), np.array([[1, 2], [3, 4], [5, 6]], np.int8)
STATIC = [tensor("float32", (5,)), tensor("quant8_asymm_signed", (3, 2), 0.5, 1)]


class Agent:
    """An agent that notes what it is asked, with the answers that a test gives."""

    path, has_bursts, is_alive = "library.so", True, True

    def __init__(self, *answers: tuple[bytes, bytes]) -> None:
        self.asked: list[tuple[Ask, bytes]] = []
        self.answers, self.released = [*answers], list[int]()
        self.constants = Constants()
        self.sent: list[list[Any]] = []

    def ask(
        self,
        kind: Ask,
        head: bytes | Callable[[], bytes],
        data: Sequence[Any] = (),
        size: int = 0,
        deadline: int | None = None,
        most: int = 0,
    ) -> Answer:
        self.asked.append((kind, head() if callable(head) else head))
        assert sum(len(memoryview(part).cast("B")) if len(part) else 0 for part in data) == size
        self.most = most
        answer, content = self.answers.pop(0)
        return Answer(Told.ANSWER, Reader(answer), np.frombuffer(content, np.uint8))

    def send_constants(self, arrays: Sequence[Array]) -> tuple[int, list[int]]:
        self.sent.append([array.tolist() for array in arrays])
        return 50 + len(self.sent), [64 * index for index in range(len(arrays))]

    def release(self, *numbers: int) -> None:
        self.released += numbers


def word(*numbers: int) -> tuple[bytes, bytes]:
    return struct.pack(f"<{len(numbers)}I", *numbers), b""


def two_steps() -> Model:
    b = Builder("two")
    x, unused = b.input(tensor("float32", (2,))), b.input(tensor("float32", (3,)))
    total = b.add(x, np.array([7, 8], np.float32))
    b.output(b.neg(total))
    b.output(b.abs(unused))
    return b.finish()


def plain_steps() -> Model:
    b = Builder("plain")
    x, y = b.input(tensor("float32", (2,))), b.input(tensor("float32", (3,)))
    b.output(b.abs(x), b.exp(b.abs(b.neg(y))))
    return b.finish()


# Models


def test_a_model_s_message() -> None:
    """Counts, inputs, outputs, the offset of each constant, types, and operations."""
    agent = Agent(word(9))
    model = two_steps()
    built = Built(agent, model)  # type: ignore[arg-type]
    assert (built._number, agent.sent) == (9, [[[7, 8], [0]]])
    ((kind, head),) = agent.asked
    reader = Reader(head)
    operands = len(model.operands)
    assert kind is Ask.MODEL
    assert reader.read("III") == (operands, 3, 0)
    assert reader.read("3I") == (2, 0, 1)
    assert reader.read("3I") == (2, *model.outputs)
    sources = [reader.read("IQQ") for _ in range(operands)]
    constants = [index for index, operand in enumerate(model.operands) if operand.value is not None]
    assert [sources[index] for index in constants] == [(51, 0, 8), (51, 64, 4)]
    assert {source for index, source in enumerate(sources) if index not in constants} == {(0, 0, 0)}
    for index, operand in enumerate(model.operands):
        code, scale, zero_point, rank = reader.read("ifiI")
        assert (code, scale, zero_point) == (operand.type.code, 0.0, 0)
        assert reader.read(f"{rank}I") == operand.type.dimensions
        assert reader.read("III") == (2 if index in constants else 0, 0, 0)
    for call in model.operations:
        assert reader.read("i") == (call.code,)
        for indices in (call.inputs, call.outputs):
            assert reader.read(f"{1 + len(indices)}I") == (len(indices), *indices)
    assert reader.rest() == ""
    built.close()
    built.close()
    assert agent.released == [9]


def test_some_operations_of_a_model_are_a_model() -> None:
    """Its inputs are what they read from elsewhere; its outputs are all that they compute."""
    model = two_steps()
    add, neg, _ = sorted(model.operations, key=lambda call: call.number)
    part = _cut(model, [neg])
    assert [operand.type.dimensions for operand in part.operands] == [(2,), (2,)]
    ((code, inputs, outputs),) = part.operations
    assert (code, inputs, outputs, part.inputs, part.outputs) == (neg.code, [0], [1], [0], [1])
    part = _cut(model, [add, neg])
    assert (len(part.inputs), part.outputs) == (1, [part.operations[0][2][0], part.operations[1][2][0]])
    assert not part.relaxed


def test_a_part_of_a_model_is_sent_alone() -> None:
    """And a referenced model as a whole, before it."""
    agent, model = Agent(word(9)), two_steps()
    neg = next(call for call in model.operations if call.name == "NEG")
    Built(agent, model, [neg])  # type: ignore[arg-type]
    assert Reader(agent.asked[0][1]).read("III") == (2, 1, 0)
    agent = Agent(word(9), word(10), word(11), word(1, 1))
    b = Builder("outer")
    condition, x, y = b.input(tensor("bool8", (1,))), b.input(tensor("float32", (2,))), b.input(tensor("float32", (3,)))
    b.output(b.neg(b.if_(condition, two_steps(), plain_steps(), x, y)[0]))
    built = Built(agent, b.finish())  # type: ignore[arg-type]
    counts = [Reader(head).read("III") for _, head in agent.asked]
    numbers = {operations: 9 + index for index, (_, operations, _) in enumerate(counts)}
    assert sorted(numbers) == [2, 3, 4], "NEG and IF, and the operations of the two branches"
    reader = Reader(agent.asked[2][1])
    reader.read("III")
    for _ in range(2):
        reader.read(f"{reader.read_word()}I")
    sources = [reader.read("IQQ") for _ in range(counts[2][0])]
    assert [source for source in sources if source[0]] == [(numbers[3], 0, 0), (numbers[4], 0, 0)]
    assert built.ask(0) == [True, True]
    built.close()
    assert agent.released == [11, 10, 9]


def test_verdicts_and_compilations() -> None:
    agent = Agent(word(9), word(1, 0, 2), word(30), word(31), word(32))
    model = two_steps()
    built = Built(agent, model)  # type: ignore[arg-type]
    assert built.ask(4) == [True, False, True]
    assert agent.asked[-1] == (Ask.SUPPORTED, struct.pack("<II", 9, 4))
    tokens = set()
    for device, options in ((4, PrepareOptions()), (4, PrepareOptions()), (5, PrepareOptions())):
        compiled = built.compile(device, options)
        kind, head = agent.asked[-1]
        assert kind is Ask.COMPILE
        assert struct.unpack("<IIiiQI", head[:28]) == (9, device, options.preference, options.priority, 0, 1)
        assert len(head) == 28 + 32
        tokens.add(head[28:])
    assert len(tokens) == 2
    assert [type.dimensions for type in compiled.inputs] == [(2,), (3,)]
    assert [type.dimensions for type in compiled.outputs] == [(2,), (3,)]
    compiled.close()
    assert agent.released == [32]


# Runs


def test_the_head_of_a_run() -> None:
    """The second input begins at 64, as the first has 20 bytes; buffers of outputs have their sizes."""
    compiled = RemoteCompilation(Agent(), 7, STATIC, STATIC[::-1])  # type: ignore[arg-type]
    frame = Frame(compiled, [(5,), (3, 2)], [(3, 2), (5,)])
    assert (frame.size, frame.lengths, frame.gaps) == (70, [6, 20], [b"", bytes(44)])
    reader = Reader(frame.pack((7, 8), True, 11, 12))
    assert reader.read("5I2Q") == (7, 8, 1, 2, 2, 11, 12)
    assert reader.read("IQQI") == (1, 0, 20, 0)
    assert reader.read("IQQI") == (1, 64, 6, 0)
    assert reader.read("IQ") == (0, 6)
    assert reader.read("IQ") == (0, 20)
    assert reader.rest() == ""
    assert [bytes(part) for part in frame.lay_out([X, Y])] == [b"", X.tobytes(), bytes(44), Y.tobytes()]


def test_omitted_inputs_and_dynamic_shapes() -> None:
    """A dynamic input has its type in the head; an output without elements has a buffer for one."""
    dynamic = [tensor("float32", (0,)), tensor("float32", (4,))]
    compiled = RemoteCompilation(Agent(), 7, dynamic, [tensor("int32", (0, 2))])  # type: ignore[arg-type]
    frame = Frame(compiled, [(3,), None], [(0, 2)])
    assert (frame.size, frame.lengths, frame.gaps) == (12, [4], [b""])
    reader = Reader(frame.pack((7, 0), False))
    assert reader.read("5I2Q") == (7, 0, 0, 2, 1, 0, 0)
    assert reader.read("IQQI") == (1, 0, 12, 1)
    assert reader.read("ifiII") == (3, 0.0, 0, 1, 3)
    assert reader.read("IQQI") == (0, 0, 0, 0)
    assert reader.read("IQ") == (1, 4)
    assert reader.rest() == ""


@pytest.mark.parametrize("place", ["input", "output"])
@pytest.mark.parametrize(("excess", "is_possible"), [(0, True), (1, False)])
def test_a_run_has_at_most_one_gibibyte(place: str, excess: int, is_possible: bool) -> None:
    dynamic = [tensor("quant8_asymm_signed", (0,), 1.0, 0)]
    compiled = RemoteCompilation(Agent(), 7, dynamic, dynamic)  # type: ignore[arg-type]
    large, small = [((1 << 30) + excess,)], [(1,)]
    shapes = (large, small) if place == "input" else (small, large)
    if is_possible:
        Frame(compiled, *shapes)
    else:
        with pytest.raises(OpFailedError, match="^the inputs or outputs of a run have more than 1073741824 bytes$"):
            Frame(compiled, *shapes)


UNKNOWN = (1 << 64) - 1


@pytest.mark.parametrize(
    ("code", "durations", "times", "is_complete"),
    [
        (0, (5, 6), (5, 6), True),
        (0, (UNKNOWN, 0), (None, 0), True),
        (1, (0, UNKNOWN), (0, None), False),
        (0, (UNKNOWN - 1, UNKNOWN - 1), (UNKNOWN - 1, UNKNOWN - 1), True),
    ],
)
def test_an_answer_has_buffers_shapes_and_durations(
    code: int, durations: tuple[int, int], times: Any, is_complete: bool
) -> None:
    data = bytes([1, 2, 3, 4, 5, 6]) + bytes(58) + X[:2].tobytes()
    agent = Agent((struct.pack("<IQQ", code, *durations) + struct.pack("<III", 2, 7, 9), data))
    compiled = RemoteCompilation(agent, 7, STATIC, [STATIC[1], tensor("float32", (0, 0))], burst=3)  # type: ignore[arg-type]
    result = compiled.run(Request([X, Y]), [(3, 2), (1, 2)], measure=True)
    assert (result.is_complete, result.hardware_ns, result.driver_ns) == (is_complete, *times)
    assert result.shapes == [None, (7, 9)]
    assert [buffer.tolist() for buffer in result.buffers] == [[1, 2, 3, 4, 5, 6], [0, 1]]
    ((kind, head),) = agent.asked
    assert kind is Ask.RUN
    assert Reader(head).read("5I2Q") == (7, 3, 1, 2, 2, 0, MAXIMUM_LOOP_TIMEOUT)


@pytest.mark.parametrize(
    ("deadline", "loop", "limits"), [(None, 2_000_000_000, (0, 0)), (None, 5, (0, 5)), (1000, 2_000_000_000, (77, 0))]
)
def test_limits_of_a_run(
    monkeypatch: pytest.MonkeyPatch, deadline: int | None, loop: int, limits: tuple[int, int]
) -> None:
    monkeypatch.setattr(built_model, "find_rest", lambda end: 77 if end == 1000 else -1)
    agent = Agent((struct.pack("<IQQ", 0, 1, 2), X.tobytes()))
    compiled = RemoteCompilation(agent, 7, STATIC[:1], STATIC[:1])  # type: ignore[arg-type]
    compiled.run(Request([X], deadline, loop), [(5,)])
    assert agent.most == 64
    assert Reader(agent.asked[0][1]).read("5I2Q") == (7, 0, 0, 1, 1, *limits), "nothing is measured unless asked for"


@pytest.mark.parametrize(("length", "is_enough"), [(20, True), (19, False)])
def test_too_few_bytes(length: int, is_enough: bool) -> None:
    agent = Agent((struct.pack("<IQQ", 0, 1, 2), bytes(length)))
    compiled = RemoteCompilation(agent, 7, STATIC[:1], STATIC[:1])  # type: ignore[arg-type]
    frame = Frame(compiled, [(5,)], [(5,)])
    if is_enough:
        assert compiled.run_frame(frame, [X])[0].tolist() == [0] * 5
        assert agent.most == 64, "the answer may have no more bytes than its outputs, each at a multiple of 64"
    else:
        with pytest.raises(OpFailedError, match="^library.so sent too few bytes$"):
            compiled.run_frame(frame, [X])


@pytest.mark.parametrize(("rank", "is_possible"), [(32, True), (33, False)])
def test_the_rank_of_an_output(rank: int, is_possible: bool) -> None:
    head = struct.pack("<IQQI", 0, 1, 2, rank) + struct.pack("<33I", *[1] * 33)
    compiled = RemoteCompilation(Agent((head, bytes(4))), 7, [], [tensor("float32", ())])  # type: ignore[arg-type]
    if is_possible:
        assert compiled.run(Request([]), [(1,)]).shapes == [(1,) * 32]
    else:
        with pytest.raises(OpFailedError, match="^library.so: output 0 is said to have 33 dimensions$"):
            compiled.run(Request([]), [(1,)])


def test_a_static_output_that_does_not_fit() -> None:
    agent = Agent((struct.pack("<IQQ", 4, 1, 2), X.tobytes()))
    compiled = RemoteCompilation(agent, 7, STATIC[:1], STATIC[:1])  # type: ignore[arg-type]
    with pytest.raises(OpFailedError, match="^library.so asks for larger outputs than the model has$"):
        compiled.run_frame(Frame(compiled, [(5,)], [(5,)]), [X])


def test_a_burst_is_released_before_its_compilation() -> None:
    agent = Agent(word(40))
    compiled = RemoteCompilation(agent, 7, STATIC, STATIC)  # type: ignore[arg-type]
    burst = compiled.open_burst()
    assert agent.asked == [(Ask.BURST, struct.pack("<I", 7))]
    burst.close()
    compiled.close()
    assert agent.released == [40, 7]


# Outputs of unknown size


def growing() -> Model:
    b = Builder("growing")
    x = b.input(tensor("float32", (0,)))
    b.output(b.concatenation([x, x], 0))
    return b.finish()


@pytest.mark.parametrize(("trials", "is_possible"), [(1, True), (3, True), (4, False)])
def test_a_run_is_repeated_until_the_buffers_suffice(trials: int, is_possible: bool) -> None:
    """Three times at most; the first buffer takes one element."""
    answers = [(struct.pack("<IQQII", 4, 1, 2, 1, number + 1), bytes(64)) for number in range(1, trials)]
    answers.append((struct.pack("<IQQII", 0, 1, 2, 1, 1), X[1:].tobytes()))
    agent = Agent(*answers)
    compiled = RemoteCompilation(agent, 7, [tensor("float32", (0,))], [tensor("float32", (0,))])  # type: ignore[arg-type]
    prepared = PreparedForeign(growing(), lambda: Live(compiled, print), spans.NOTHING)
    if is_possible:
        assert prepared.execute(Request([X])).outputs[0].tolist() == [1]
    else:
        words = "^library.so asks for larger outputs than it has said that they are$"
        with pytest.raises(OpFailedError, match=words):
            prepared.execute(Request([X]))
    assert len(agent.asked) == min(trials, 3)
    sizes = [Reader(head[-8:]).read("Q")[0] for _, head in agent.asked]
    assert sizes == [4, 8, 12][: len(sizes)]
    assert open_handle(prepared, OpenOptions([(5,)])).call is None


def test_a_burst_outlives_the_compilation_of_which_it_was_opened() -> None:
    agent = Agent(word(9), (struct.pack("<IQQ", 0, 1, 2), X.tobytes()))
    compiled = RemoteCompilation(agent, 7, STATIC[:1], STATIC[:1])  # type: ignore[arg-type]
    b = Builder("abs")
    b.output(b.abs(b.input(STATIC[0])))
    prepared = PreparedForeign(b.finish(), lambda: Live(compiled, lambda: agent.release(1)), spans.NOTHING)
    session = open_handle(prepared, OpenOptions(exclusive=True))
    prepared.close()
    with pytest.raises(OpFailedError, match="closed"):
        prepared.execute(Request([X]))
    assert session.execute(Request([X])).outputs[0].tolist() == X.tolist()
    assert agent.released == []
    session.close()
    assert agent.released == [9, 7, 1]


def test_a_block_counts_its_users() -> None:
    constants = Constants()
    arrays = [np.arange(4, dtype=np.int32), np.arange(8, dtype=np.int32), np.arange(4, dtype=np.int32)]
    sent: list[list[int]] = []

    def send(given: Sequence[Array]) -> tuple[int, list[int]]:
        sent.append([array.nbytes for array in given])
        return 7, [0, 64][: len(given)]

    placed = constants.place(arrays, send)
    assert sent == [[16, 32]], "equal constants are sent once"
    assert [(block.number, offset) for _, block, offset in placed] == [(7, 0), (7, 64), (7, 0)]
    block: Block = placed[0][1]
    assert (block.size, block.uses, len(block.digests)) == (48, 1, 2)
    assert constants.place(arrays[:1], send)[0][1] is block
    assert (block.uses, len(sent)) == (2, 1)
    assert constants.leave([block]) == []
    assert block not in constants._unused
    assert constants.leave([block]) == []
    assert block in constants._unused, "it may be used again"
    constants.place(arrays[:1], send)
    assert constants._unused == {}
