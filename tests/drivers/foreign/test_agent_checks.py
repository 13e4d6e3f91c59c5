"""The checks of an agent's requests: each message here is refused, with the reason, by one of them."""

import platform
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nnapi.drivers.foreign.wire import Ask, Told
from tests.drivers.foreign.agent_cases import RawClient, needs_agent, serve
from tests.drivers.foreign.library_cases import (
    AGENT_FLAGS,
    AGENT_SOURCES,
    COMPILER,
    TAKING,
    build,
    build_adder,
    build_level,
    needs_compiler,
)
from tests.drivers.foreign.request_cases import TENSOR, compilation, model, run, words

pytestmark = [needs_agent, needs_compiler]

MOST_OBJECTS = 1 << 16
BURSTS = {"Burst_create": "*b = &made; return 0;", "Burst_free": "", "Execution_burstCompute": "return 0;"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library of level 8, with bursts, that takes everything and writes nothing."""
    return build_level(tmp_path_factory.mktemp("library"), 8, {**TAKING, **BURSTS})


@pytest.fixture
def client(tmp_path: Path, library: str) -> Iterator[RawClient]:
    with serve(tmp_path, library) as address, RawClient(address).greet() as made:
        yield made


@pytest.fixture
def compiled(client: RawClient) -> int:
    number = client.make(Ask.MODEL, model())
    return client.make(Ask.COMPILE, compilation(number))


@pytest.fixture
def adder(tmp_path: Path) -> Iterator[RawClient]:
    """A client of an agent whose library adds 1; the model has number 1, the compilation 2."""
    with serve(tmp_path, build_adder(tmp_path)) as address, RawClient(address).greet() as made:
        made.make(Ask.COMPILE, compilation(made.make(Ask.MODEL, model())))
        yield made


READS = """
#include "agent.h"
int main(void) {
    static const uint8_t bytes[12] = {7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0};
    struct reader reader = {bytes, bytes + sizeof bytes, false};
    bool is_right = read_word(&reader) == 7 && !read_words(&reader, 3) && reader.is_short;
    return is_right && !read_word(&reader) && !read_long(&reader) && !read_words(&reader, 1) ? 0 : 1;
}
"""


def test_after_a_read_beyond_a_message_there_is_no_other(tmp_path: Path) -> None:
    """So nothing is read from the wrong offset until the check of the whole request."""
    assert COMPILER
    words = [*AGENT_FLAGS, f"-I{AGENT_SOURCES}", "-x", "c", "-", str(AGENT_SOURCES / "wire.c")]
    command = [COMPILER, *words, "-o", str(tmp_path / "reads")]
    subprocess.run(command, input=READS, text=True, check=True)
    assert subprocess.run([tmp_path / "reads"], check=False).returncode == 0


# Numbers of objects


@pytest.mark.parametrize("number", [0, 2, 64, 65, 100_000, 2**32 - 1])
@pytest.mark.parametrize("kind", [Ask.SUPPORTED, Ask.COMPILE, Ask.BURST, Ask.RUN, Ask.RELEASE])
def test_an_object_that_does_not_exist(client: RawClient, kind: Ask, number: int) -> None:
    client.make(Ask.MODEL, model())
    head = {
        Ask.SUPPORTED: words(number, 0),
        Ask.COMPILE: compilation(number),
        Ask.BURST: words(number),
        Ask.RUN: run((number, 0)),
        Ask.RELEASE: words(number),
    }[kind]
    assert client.refuse(kind, head, bytes(16)).startswith(("there is no such", "no object has that number"))
    assert client.ask(Ask.RELEASE, words(1))[0] is Told.ANSWER, "nothing else uses the model"


def test_an_object_of_another_kind(client: RawClient, compiled: int) -> None:
    constants = client.make(Ask.CONSTANTS, b"", bytes(16))
    for kind, head in (
        (Ask.SUPPORTED, words(constants, 0)),
        (Ask.COMPILE, compilation(compiled)),
        (Ask.BURST, words(1)),
        (Ask.RUN, run((1, 0))),
        (Ask.RUN, run((compiled, constants))),
    ):
        assert client.refuse(kind, head, bytes(16)).startswith("there is no such")


@pytest.mark.parametrize("device", [1, 2**32 - 1])
def test_a_device_that_does_not_exist(client: RawClient, device: int) -> None:
    number = client.make(Ask.MODEL, model())
    assert client.refuse(Ask.SUPPORTED, words(number, device)) == "there is no such model or device"
    assert client.refuse(Ask.COMPILE, compilation(number, device)) == "there is no such model or device"


@pytest.mark.slow
def test_a_client_has_at_most_65536_objects(client: RawClient) -> None:
    for _ in range(64):  # the answers fit into the socket's buffer
        client.socket.sendall(struct.pack("<IIQ", Ask.CONSTANTS, 0, 0) * (MOST_OBJECTS // 64))
        for _ in range(MOST_OBJECTS // 64):
            assert client.receive()[0] is Told.ANSWER
    for kind, head in ((Ask.CONSTANTS, b""), (Ask.MODEL, model()), (Ask.COMPILE, words(1)), (Ask.BURST, words(1))):
        assert client.refuse(kind, head) == "there are too many objects"
    client.ask(Ask.RELEASE, words(7))
    assert client.make(Ask.CONSTANTS) == 7, "the number is free again"


def test_what_failed_leaves_no_object(client: RawClient, compiled: int) -> None:
    for kind, head in (
        (Ask.MODEL, words(1)),
        (Ask.COMPILE, compilation(1, device=5)),
        (Ask.BURST, words(1)),
    ):
        client.refuse(kind, head)
        assert client.refuse(Ask.RELEASE, words(compiled + 1)) == "no object has that number"


# Constants and models


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ((1, 0, 17), "a value lies outside its constants"),
        ((1, 16, 1), "a value lies outside its constants"),
        ((1, 17, 0), "a value lies outside its constants"),
        ((1, 1, 2**64 - 1), "a value lies outside its constants"),
        ((1, 2**64 - 16, 32), "a value lies outside its constants"),
        ((2, 0, 16), "there are no such constants"),
        ((0, 0, 16), "there are no such constants"),
    ],
)
def test_a_constant_lies_within_its_block(client: RawClient, source: tuple[int, int, int], reason: str) -> None:
    client.make(Ask.CONSTANTS, b"", bytes(16))
    assert client.refuse(Ask.MODEL, model(value=2, source=source)) == reason
    for possible in ((1, 0, 16), (1, 16, 0)):
        client.make(Ask.MODEL, model(value=2, source=possible))


@pytest.mark.parametrize("source", [0, 1, 2, 9])
def test_a_model_refers_to_another_one(client: RawClient, source: int) -> None:
    """Not to constants, nor to itself, which has number 2."""
    client.make(Ask.CONSTANTS)
    assert client.refuse(Ask.MODEL, model(value=3, source=(source, 0, 0))) == "there is no such model"
    number = client.make(Ask.MODEL, model())
    client.make(Ask.MODEL, model(value=3, source=(number, 0, 0)))
    assert client.refuse(Ask.RELEASE, words(number)) == "the object is in use"


def test_a_model_within_a_model_needs_a_function(tmp_path: Path) -> None:
    level_3 = {name: body for name, body in TAKING.items() if name != "Model_setOperandValueFromModel"}
    with serve(tmp_path, build(tmp_path, **level_3)) as address, RawClient(address).greet() as client:
        number = client.make(Ask.MODEL, model())
        said = client.refuse(Ask.MODEL, model(value=3, source=(number, 0, 0)))
        assert said == "it has no ANeuralNetworksModel_setOperandValueFromModel"


@pytest.mark.parametrize("size", range(0, len(model()), 4))
def test_a_model_that_ends_too_early(adder: RawClient, size: int) -> None:
    """The library, which reads all that it is given, gets no operand whose dimensions are not there."""
    assert adder.refuse(Ask.MODEL, model()[:size]) == "the message ends too early"


@pytest.mark.parametrize("offset", [0, 4, 12, 20, 80, 96, 136, 144])
@pytest.mark.parametrize("count", [1000, 2**30, 2**31, 2**32 - 1])
def test_a_model_with_a_count_that_is_too_large(adder: RawClient, offset: int, count: int) -> None:
    """Of operands, operations, inputs, outputs, dimensions, scales, and of an operation's inputs and outputs."""
    head = bytearray(model())
    struct.pack_into("<I", head, offset, count)
    assert adder.refuse(Ask.MODEL, bytes(head)) == "the message ends too early"


@pytest.mark.parametrize("size", range(4, len(compilation(1, token=1)), 4))
def test_a_compilation_that_ends_too_early(client: RawClient, size: int) -> None:
    number = client.make(Ask.MODEL, model())
    assert client.refuse(Ask.COMPILE, compilation(number, token=1)[:size]) == "the message ends too early"


# Runs


def test_a_run(client: RawClient, compiled: int) -> None:
    assert client.ask(Ask.RUN, run((compiled, 0)), bytes(16))[0] is Told.ANSWER


@pytest.mark.parametrize("given", [(0, 17), (16, 1), (17, 0), (1, 2**64 - 1), (2**64 - 16, 32), (2**63, 16)])
def test_an_input_lies_within_the_message(client: RawClient, compiled: int, given: tuple[int, int]) -> None:
    said = client.refuse(Ask.RUN, run((compiled, 0), given=given), bytes(16))
    assert said == "an input lies outside the message"


@pytest.mark.parametrize("counts", [(0, 1), (2, 1), (1, 0), (1, 2), (2**32 - 1, 1), (1, 2**32 - 1)])
def test_a_run_has_the_model_s_inputs_and_outputs(client: RawClient, compiled: int, counts: tuple[int, int]) -> None:
    said = client.refuse(Ask.RUN, run((compiled, 0), counts), bytes(16))
    assert said == "the model has another number of inputs or outputs"


@pytest.mark.parametrize("size", range(8, len(run((1, 0))), 4))
def test_a_run_that_ends_too_early(client: RawClient, compiled: int, size: int) -> None:
    said = client.refuse(Ask.RUN, run((compiled, 0))[:size], bytes(16))
    assert said in (
        "the model has another number of inputs or outputs",
        "an input lies outside the message",
        "the outputs are too large",
    )


@pytest.mark.parametrize("rank", [2, 1000, 2**30, 2**32 - 1])
def test_the_type_of_an_input_that_ends_too_early(client: RawClient, compiled: int, rank: int) -> None:
    head = struct.pack("<5I2Q", compiled, 0, 0, 1, 1, 0, 0)
    head += struct.pack("<IQQI", 1, 0, 16, 1) + struct.pack("<ifiII", TENSOR, 0, 0, rank, 4)
    assert client.refuse(Ask.RUN, head, bytes(16)) == "an input lies outside the message"


@pytest.mark.parametrize(("length", "other"), [((1 << 30) + 1, 0), (1 << 30, 1), (1, 1 << 30), (2**64 - 1, 2)])
def test_outputs_have_at_most_one_gibibyte(client: RawClient, length: int, other: int) -> None:
    number = client.make(Ask.COMPILE, compilation(client.make(Ask.MODEL, model(outputs=2))))
    head = run((number, 0), (1, 2), length=length, rest=struct.pack("<IQ", 0, other))
    assert client.refuse(Ask.RUN, head, bytes(16)) == "the outputs are too large"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library does not fill new memory")
def test_outputs_that_a_library_does_not_write_are_zeros(tmp_path: Path, library: str) -> None:
    """They are not memory of the agent's process: glibc fills new memory with other bytes."""
    environment = {"MALLOC_PERTURB_": "85"}
    with serve(tmp_path, library, environment=environment) as address, RawClient(address).greet() as client:
        number = client.make(Ask.COMPILE, compilation(client.make(Ask.MODEL, model())))
        for length in (16, 100, 5000):
            told, answer = client.ask(Ask.RUN, run((number, 0), length=length), bytes(16))
            assert told is Told.ANSWER
            assert set(answer[20:]) == {0}
            assert len(answer[20:]) == length + -length % 64


def test_a_burst_belongs_to_its_compilation(client: RawClient, compiled: int) -> None:
    other = client.make(Ask.COMPILE, compilation(1))
    burst = client.make(Ask.BURST, words(compiled))
    assert client.ask(Ask.RUN, run((compiled, burst)), bytes(16))[0] is Told.ANSWER
    assert client.refuse(Ask.RUN, run((other, burst)), bytes(16)) == "the burst belongs to another compilation"
    assert client.refuse(Ask.RELEASE, words(compiled)) == "the object is in use"


@pytest.mark.parametrize("missing", BURSTS)
def test_a_library_without_bursts(tmp_path: Path, missing: str) -> None:
    """It has only some of their functions."""
    bodies = TAKING | {name: body for name, body in BURSTS.items() if name != missing}
    with serve(tmp_path, build_level(tmp_path, 4, bodies)) as address, RawClient(address).greet() as client:
        number = client.make(Ask.COMPILE, compilation(client.make(Ask.MODEL, model())))
        said = client.refuse(Ask.BURST, words(number))
        assert said == "there is no such compilation, or the library has no bursts"


def add_one(client: RawClient, offset: int, *given: float) -> float:
    """Return what a run gives for the value at an offset of the data."""
    data = struct.pack(f"<{len(given)}f", *given)
    told, answer = client.ask(Ask.RUN, run((2, 0), given=(offset, 4), length=4), data)
    assert told is Told.ANSWER, answer
    return float(struct.unpack_from("<f", answer, 20)[0])


def test_another_request_does_not_reuse_an_execution(adder: RawClient) -> None:
    """One with another offset, with data in other memory, with less data or with a shorter head."""
    for offset in (0, 4, 4, 8, 0):
        assert add_one(adder, offset, 10, 20, 30) == 10 * (offset // 4 + 1) + 1
    adder.make(Ask.CONSTANTS, b"", struct.pack("<3f", 70, 80, 90))
    assert add_one(adder, 0, 10, 20, 30) == 11
    assert add_one(adder, 8, 10, 20, 30) == 31
    last = run((2, 0), given=(8, 4), length=4)
    assert adder.refuse(Ask.RUN, last, bytes(8)) == "an input lies outside the message"
    assert add_one(adder, 8, 10, 20, 30) == 31
    assert adder.refuse(Ask.RUN, last[:-4], bytes(12)) == "the outputs are too large"
