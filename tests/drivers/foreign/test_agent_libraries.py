"""Agents of libraries that give nothing or too much, and agents without memory."""

import platform
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from nnapi.drivers.foreign.agent import Agent
from nnapi.drivers.foreign.wire import Ask, Told
from nnapi.errors import UnavailableDeviceError
from tests.drivers.foreign.agent_cases import LIMIT, RawClient, needs_agent, serve
from tests.drivers.foreign.library_cases import (
    TAKING,
    build,
    build_level,
    build_source,
    describe_names,
    needs_compiler,
)
from tests.drivers.foreign.request_cases import compilation, model, run, words

pytestmark = [needs_agent, needs_compiler]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library of level 4 that takes everything and writes nothing."""
    return build_level(tmp_path_factory.mktemp("library"), 4, {**TAKING, "Execution_setReusable": "return 0;"})


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("Model_create", "ANeuralNetworksModel_create gives no error and no model"),
        ("Compilation_createForDevices", "ANeuralNetworksCompilation_createForDevices gives nothing"),
        ("Execution_create", "ANeuralNetworksExecution_create gives no error and no execution"),
    ],
)
def test_a_library_that_gives_nothing(tmp_path: Path, function: str, reason: str) -> None:
    library = build(tmp_path, **TAKING | {function: "return 0;"})
    with serve(tmp_path, library) as address, RawClient(address).greet() as client:
        number, said = 0, ""
        for kind, make in (
            (Ask.MODEL, lambda _: model()),
            (Ask.COMPILE, compilation),
            (Ask.RUN, lambda number: run((number, 0))),
        ):
            told, answer = client.ask(kind, make(number), bytes(16) if kind is Ask.RUN else b"")
            number = int.from_bytes(answer[:4], "little")
            if told is Told.ERROR:
                said = answer[4:].decode()
                break
        assert said == reason


def test_a_support_library_that_gives_no_functions(tmp_path: Path) -> None:
    library = build_source(tmp_path, "void *ANeuralNetworks_getSLDriverImpl(void) { return 0; }")
    with (
        serve(tmp_path, library) as address,
        pytest.raises(UnavailableDeviceError, match="getSLDriverImpl of .*gives"),
    ):
        Agent(address, LIMIT)


def test_a_library_that_gives_no_device(tmp_path: Path) -> None:
    source = describe_names("29", "", 3, "", TAKING)
    assert "*d = (void*)1;" in source
    library = build_source(tmp_path, source.replace("*d = (void*)1;", "*d = 0;"))
    with serve(tmp_path, library) as address, RawClient(address).greet() as client:
        assert client.refuse(Ask.DEVICES) == "ANeuralNetworks_getDevice gives no error and no device"
        number = client.make(Ask.MODEL, model())
        assert client.refuse(Ask.SUPPORTED, words(number, 0)) == "there is no such model or device"


@pytest.mark.parametrize(("count", "is_possible"), [(256, True), (257, False), (2**32 - 1, False)])
def test_a_library_has_at_most_256_devices(tmp_path: Path, count: int, is_possible: bool) -> None:
    library = build(tmp_path, count=f"*n = {count}u; return 0;", **TAKING)
    with serve(tmp_path, library) as address, RawClient(address).greet() as client:
        if is_possible:
            assert struct.unpack_from("<I", client.ask(Ask.DEVICES)[1]) == (count,)
        else:
            assert client.refuse(Ask.DEVICES) == "the library lists more devices than are possible"


def test_a_name_is_cut(tmp_path: Path) -> None:
    source = describe_names("29", "", 3, "", TAKING)
    long = "*s = malloc(5001); memset((char*)*s, 65, 5000); ((char*)*s)[5000] = 0;"
    library = build_source(tmp_path, "#include <string.h>\n" + source.replace('*s = "chip";', long))
    with serve(tmp_path, library) as address, RawClient(address).greet() as client:
        _, answer = client.ask(Ask.DEVICES)
        assert struct.unpack_from("<IiqI", answer) == (1, 4, 29, 1024)
        assert len(answer) == 20 + 1024 + 8


@pytest.mark.parametrize(("rank", "words_after"), [(32, 32), (33, 0), (2**32 - 1, 0)])
def test_the_rank_of_an_output_is_bounded(tmp_path: Path, rank: int, words_after: int) -> None:
    """The dimensions of a larger one are not asked for: the agent has memory for 32."""
    library = build(
        tmp_path,
        **TAKING
        | {
            "Execution_getOutputOperandRank": f"*(uint32_t*)c = {rank}u; return 0;",
            "Execution_getOutputOperandDimensions": "((uint32_t*)c)[0] = 7; return 0;",
        },
    )
    with serve(tmp_path, library) as address, RawClient(address).greet() as client:
        number = client.make(Ask.COMPILE, compilation(client.make(Ask.MODEL, model())))
        head = struct.pack("<5I2Q", number, 0, 0, 1, 1, 0, 0) + struct.pack("<IQQI", 1, 0, 16, 0)
        told, answer = client.ask(Ask.RUN, head + struct.pack("<IQ", 1, 64), bytes(16))
        assert told is Told.ANSWER
        assert len(answer) == 20 + 4 + 4 * words_after + 64
        assert struct.unpack_from("<I", answer, 20) == (rank,)


# Memory that the agent does not get

SCARCE = """
#include <stdlib.h>
void *__libc_calloc(size_t, size_t), *__libc_malloc(size_t), *__libc_memalign(size_t, size_t);
void *__libc_realloc(void *, size_t);
static int is_refused(const char *function, size_t size) {
    char *sizes = getenv(function), *end;
    return sizes && size >= strtoul(sizes, &end, 10) && size <= strtoul(end + 1, NULL, 10);
}
void *calloc(size_t n, size_t size) { return is_refused("no_calloc", n * size) ? NULL : __libc_calloc(n, size); }
void *malloc(size_t size) { return is_refused("no_malloc", size) ? NULL : __libc_malloc(size); }
void *realloc(void *at, size_t size) { return is_refused("no_realloc", size) ? NULL : __libc_realloc(at, size); }
int posix_memalign(void **made, size_t alignment, size_t size) {
    if (is_refused("no_posix_memalign", size)) return 12;
    *made = __libc_memalign(alignment, size);
    return 0;
}
"""
"""An allocator that refuses sizes from one to another, which the environment names for each function."""


@pytest.fixture
def scarce(tmp_path: Path, library: str, request: pytest.FixtureRequest) -> Iterator[RawClient]:
    """A client of an agent to which a function refuses memory of some sizes."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("replaces the allocator of glibc")
    preload = build_source(tmp_path, SCARCE)
    environment = {"LD_PRELOAD": preload, **request.param}
    with serve(tmp_path, library, environment=environment) as address, RawClient(address).greet() as made:
        yield made


def refuse(function: str, sizes: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("scarce", [{f"no_{function}": sizes}], ids=[function], indirect=True)


@refuse("posix_memalign", "20000-20000")
@pytest.mark.parametrize(("head", "data"), [(20_000, 0), (0, 20_000)])
def test_no_memory_for_a_message(scarce: RawClient, head: int, data: int) -> None:
    scarce.send(Ask.CONSTANTS, bytes(head), bytes(data))
    assert scarce.is_ended()


@refuse("posix_memalign", "20032-20032")
def test_no_memory_for_outputs(scarce: RawClient) -> None:
    number = scarce.make(Ask.COMPILE, compilation(scarce.make(Ask.MODEL, model())))
    said = scarce.refuse(Ask.RUN, run((number, 0), length=20_000), bytes(16))
    assert said == "there is no memory for the outputs"
    assert scarce.ask(Ask.RUN, run((number, 0)), bytes(16))[0] is Told.ANSWER


@refuse("realloc", "20000-1000000")
def test_no_memory_for_objects(scarce: RawClient) -> None:
    said = [scarce.ask(Ask.CONSTANTS) for _ in range(300)]
    refused = {answer[4:] for told, answer in said if told is Told.ERROR}
    assert refused == {b"there are too many objects"}


@refuse("calloc", "1001-1001")
def test_no_memory_for_verdicts(scarce: RawClient) -> None:
    number = scarce.make(Ask.MODEL, model(operations=1000))
    assert scarce.refuse(Ask.SUPPORTED, words(number, 0)) == "there is no memory"


@refuse("realloc", "3000-3100")
def test_no_memory_for_an_answer(scarce: RawClient) -> None:
    number = scarce.make(Ask.MODEL, model(operations=1000))
    assert scarce.refuse(Ask.SUPPORTED, words(number, 0)) == "there is no memory for the answer"
    assert scarce.ask(Ask.DEVICES)[0] is Told.ANSWER


@refuse("realloc", "4-4")
def test_no_memory_to_note_what_an_object_needs(scarce: RawClient) -> None:
    constants = scarce.make(Ask.CONSTANTS, b"", bytes(16))
    assert scarce.refuse(Ask.MODEL, model(value=2, source=(constants, 0, 16))) == "there is no memory"
    number = scarce.make(Ask.MODEL, model())
    assert scarce.refuse(Ask.MODEL, model(value=3, source=(number, 0, 0))) == "there is no memory"
    assert scarce.refuse(Ask.COMPILE, compilation(number)) == "there is no memory"
    assert scarce.ask(Ask.RELEASE, words(number))[0] is Told.ANSWER, "nothing uses it"


@pytest.mark.parametrize("scarce", [{"no_malloc": f"{len(run((2, 0))) - 8}-{len(run((2, 0))) - 8}"}], indirect=True)
def test_no_memory_to_reuse_an_execution(scarce: RawClient) -> None:
    scarce.make(Ask.COMPILE, compilation(scarce.make(Ask.MODEL, model())))
    for _ in range(3):
        assert scarce.ask(Ask.RUN, run((2, 0)), bytes(16))[0] is Told.ANSWER
