"""Agents at Unix sockets and TCP: what they call, what they keep, and how they end."""

import os
import socket
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nnapi import Builder, Device, OperandCode, OperandType, OperationCode, tensor
from nnapi.capi import installation
from nnapi.contract.driver import DriverDiedError, OpenOptions, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.drivers.foreign.agent import Agent
from nnapi.drivers.foreign.built_model import Built, Frame
from nnapi.drivers.foreign.constants import KEPT, Constants
from nnapi.drivers.foreign.driver import list_devices
from nnapi.drivers.foreign.wire import MAGIC, Ask, pack_text
from nnapi.drivers.isolated import Isolated
from nnapi.errors import (
    BadDataError,
    BadStateError,
    MissedDeadlineTransientError,
    OpFailedError,
    UnavailableDeviceError,
)
from nnapi.host.adb import LOCAL as AGENT
from nnapi.model.operation import REGISTRY
from nnapi.testing.conformance import match_name, run
from nnapi.testing.corpus import PUBLISHED, Corpus
from nnapi.testing.device_survey import survey_device
from nnapi.testing.suite.result import Status
from tests.drivers.foreign.agent_cases import LIMIT, add_constant, load_driver, needs_agent, prepare, serve, serve_tcp
from tests.drivers.foreign.library_cases import (
    FUNCTIONS,
    TAKING,
    build,
    build_adder,
    build_level,
    needs_compiler,
    needs_library,
)

pytestmark = [needs_agent, needs_compiler]
X = np.arange(64, dtype=np.float32)
EXCLUSIVE = OpenOptions(exclusive=True)


@pytest.mark.slow
@needs_library
@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_our_own_library_passes_examples(tmp_path: Path, transport: str) -> None:
    library = str(installation.library())
    with serve(tmp_path, library) if transport == "unix" else serve_tcp(library) as address:
        (driver,) = [each for each in list_devices("phone", address) if each.info.name == "phone-nnapi-reference"]
        with Device(driver) as device:
            results = list(run(Corpus(PUBLISHED), [device], ["plain", "dynamic", "burst"], match_name("if_simple_u*")))
    assert results
    assert not [result for result in results if result.status is not Status.PASSED]


@pytest.mark.slow
@needs_library
@pytest.mark.engine
def test_a_profile_saved_through_an_agent_is_the_local_one(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    codes = OperationCode.ADD, OperationCode.CONV_2D, OperationCode.SOFTMAX, OperationCode.TOPK_V2
    operations = [REGISTRY[code] for code in codes]
    with serve(tmp_path, str(installation.library()), environment={"DEBUG_NN_CPUONLY": "0"}) as address:
        (driver,) = [each for each in list_devices("phone", address) if each.info.name == "phone-xnnpack-cpu"]
        with Device(driver) as device:
            remote = survey_device(device, operations, 16)
    local = survey_device(Device(Isolated("xnnpack-cpu")), operations, 16)
    assert remote.operations == local.operations
    assert (remote.version, remote.type, remote.feature_level) == (local.version, local.type, local.feature_level)


NARROW = """
from nnapi.drivers.limited import Limited
from nnapi.profiles.profile import OperandLimits, OperationLimits
from nnapi.drivers.reference import ReferenceDriver
from nnapi import OperationCode

LIMITS = {
    OperationCode.CONV_2D: {
        "input": OperandLimits((3, 5, 14)),
        "filter": OperandLimits(constant=True),
        "layout": OperandLimits(values=(False,)),
    },
    OperationCode.RELU: {"input": OperandLimits(largest_dimension=4)},
    OperationCode.SOFTMAX: {"input": OperandLimits(ranks=(2, 4))},
}


def refuse(model, call):
    return OperationLimits(operands=LIMITS.get(call.code, {})).find_violation(model, call)


def make():
    return Limited(ReferenceDriver(), "narrow", refuse)
"""


@pytest.mark.slow
@needs_library
def test_a_profile_of_a_restricted_device_is_the_local_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process finds the device by an entry point; its limits are found as well as here."""
    (tmp_path / "narrow_device.py").write_text(NARROW)
    (tmp_path / "narrow-1.0.dist-info").mkdir()
    (tmp_path / "narrow-1.0.dist-info/METADATA").write_text("Name: narrow\nVersion: 1.0\n")
    (tmp_path / "narrow-1.0.dist-info/entry_points.txt").write_text("[nnapi.drivers]\nnarrow = narrow_device:make\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    narrow = __import__("narrow_device")
    operations = [REGISTRY[code] for code in narrow.LIMITS]
    paths = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    environment = {"DEBUG_NN_CPUONLY": "0", "PYTHONPATH": paths}
    with serve(tmp_path, str(installation.library()), environment=environment) as address:
        (driver,) = [each for each in list_devices("phone", address) if each.info.name == "phone-narrow"]
        with Device(driver) as device:
            remote = survey_device(device, operations)
    assert remote.operations == survey_device(Device(narrow.make()), operations).operations
    assert {code: limits.operands for code, limits in remote.operations.items()} == narrow.LIMITS


def test_constants_are_sent_once(taking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, sent = Agent(taking), list[int]()
    send = agent.send_constants
    monkeypatch.setattr(agent, "send_constants", lambda arrays: sent.append(len(arrays)) or send(arrays))
    for _ in range(3):
        with closing(Built(agent, add_constant())) as built:
            assert built.ask(0) == [True]
    assert sent == [2], "the constant and the activation"


@pytest.mark.slow
def test_the_oldest_unused_constants_are_dropped() -> None:
    numbers = iter(range(9))
    constants, large = Constants(), np.zeros(KEPT // 2 + 1, np.uint8)
    blocks = []
    for filling in (0, 1, 2):
        large[:] = filling
        ((_, block, _),) = constants.place([large], lambda arrays: (next(numbers), [0]))
        blocks.append(block)
    assert constants.leave(blocks[1:2]) == []
    assert constants.leave(blocks[:1]) == [1]
    large[:] = 0
    assert constants.place([large], lambda arrays: (9, [0]))[0][1] is blocks[0]
    large[:] = 1
    assert constants.place([large], lambda arrays: (9, [0]))[0][1].number == 9


def test_what_is_needed_is_not_released(taking: str) -> None:
    agent = Agent(taking)
    built = Built(agent, add_constant())
    compiled = built.compile(0, PrepareOptions())
    for number in (1, 2):
        with pytest.raises(BadStateError, match="the object is in use"):
            agent.release(number)
    compiled.close()
    built.close()
    agent.release(1)
    with pytest.raises(BadDataError, match="no object has that number"):
        agent.release(1)


def test_requests_that_are_none(taking: str) -> None:
    agent = Agent(taking)
    for kind in (0, 77):
        with pytest.raises(BadDataError, match="there is no such request"):
            agent.ask(kind, b"")  # type: ignore[arg-type]
    with pytest.raises(BadDataError, match="ends too early"):
        agent.ask(Ask.MODEL, struct.pack("<IIIII", 1 << 31, 0, 0, 1 << 31, 0))
    assert len(agent.list_devices()) == 1


def test_lengths_that_are_not_possible_end_the_connection(taking: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LIMIT)
        connection.connect(taking.removeprefix("unix:"))
        connection.sendall(struct.pack("<IIQ", Ask.HELLO, 1 << 31, 1 << 62))
        assert not connection.recv(1)


def test_another_version_is_refused(taking: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LIMIT)
        connection.connect(taking.removeprefix("unix:"))
        head = struct.pack("<II", MAGIC, 7) + pack_text(b"")
        connection.sendall(struct.pack("<IIQ", Ask.HELLO, len(head), 0) + head)
        assert b"speaks version 1 of the protocol, the client 7" in connection.recv(1000)


def test_a_token_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_tcp(build(tmp_path, **TAKING), environment={"NNAPI_AGENT_TOKEN": "0123456789abcdef"}) as address:
        for token in ("", "0123456789abcdeF", "0123456789abcdef0"):
            monkeypatch.setenv("NNAPI_AGENT_TOKEN", token)
            with pytest.raises(UnavailableDeviceError, match="the token is missing or wrong"):
                Agent(address)
        monkeypatch.setenv("NNAPI_AGENT_TOKEN", "0123456789abcdef")
        assert Agent(address).level == 8


@pytest.mark.parametrize("token", ["", "short"])
def test_other_machines_need_a_token(token: str) -> None:
    command = [str(AGENT), "--tcp", "0.0.0.0:0"]
    ended = subprocess.run(
        command, env={"NNAPI_AGENT_TOKEN": token}, capture_output=True, text=True, check=False, timeout=LIMIT
    )
    assert ended.returncode == 1
    assert "NNAPI_AGENT_TOKEN must have at least 16 characters" in ended.stderr


def test_bad_words_print_the_usage() -> None:
    ended = subprocess.run([str(AGENT), "--unix"], capture_output=True, text=True, check=False, timeout=LIMIT)
    assert ended.returncode == 2
    assert ended.stderr.startswith("usage: nnapi-agent")


def test_a_second_agent_does_not_take_the_socket(taking: str) -> None:
    command = [str(AGENT), "--unix", taking.removeprefix("unix:")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert "cannot listen at" in ended.stderr
    assert Agent(taking).level == 8


LEVEL_3 = {name: body for name, body in TAKING.items() if FUNCTIONS[name] <= 3}


@pytest.mark.parametrize(("highest", "bodies"), [(3, LEVEL_3), (4, TAKING)])
def test_a_library_without_the_functions_of_later_levels(
    tmp_path: Path, highest: int, bodies: Mapping[str, str]
) -> None:
    """All that is called of levels 5 to 8 is there from level 4 on."""
    driver, prepared = prepare(build_level(tmp_path, highest, bodies))
    assert driver.info.feature_level == {3: 3, 4: 8}[highest]
    assert open_handle(prepared, EXCLUSIVE).execute(Request([X])).outputs[0].shape == (64,)


def test_durations_are_the_driver_s_own(tmp_path: Path) -> None:
    library = build(
        tmp_path,
        **TAKING,
        Execution_setMeasureTiming="return 0;",
        Execution_getDuration="*(uint64_t*)c = (int32_t)(intptr_t)b ? ~0ull : 4321; return 0;",
    )
    prepared = load_driver("phone", library, 0).prepare(add_constant(), PrepareOptions())
    outcome = open_handle(prepared, OpenOptions(measure=True)).execute(Request([X]))
    assert (outcome.hardware_ns, outcome.driver_ns) == (4321, None)
    outcome = prepared.execute(Request([X]))
    assert (outcome.hardware_ns, outcome.driver_ns) == (None, None), "not asked for"


def test_bursts_and_time_limits_are_passed_on(tmp_path: Path) -> None:
    library = build_level(
        tmp_path,
        4,
        TAKING
        | {
            "Burst_create": "*b = &made; return 0;",
            "Burst_free": "",
            "Execution_burstCompute": "return 6;",
            "Execution_setTimeout": "return (uint64_t)b > 0 && (uint64_t)b <= 50000000000 ? 10 : 0;",
        },
    )
    prepared = load_driver("phone", library, 0).prepare(add_constant(), PrepareOptions())
    session = open_handle(prepared, EXCLUSIVE)
    with pytest.raises(BadStateError, match="ANeuralNetworksExecution_burstCompute of .* gives BAD_STATE"):
        session.execute(Request([X]))
    assert prepared.execute(Request([X])).outputs[0].shape == (64,)
    with pytest.raises(MissedDeadlineTransientError, match="Execution_setTimeout"):
        prepared.execute(Request([X], deadline=time.monotonic_ns() + 50_000_000_000))
    prepared.close()
    session.close()
    with pytest.raises(OpFailedError, match="closed"):
        prepared.execute(Request([X]))


COUNTING = {
    "Execution_create": 'write(2, "c", 1); *b = &made; made = 0; return 0;',
    "Execution_setReusable": "return 0;",
    "Execution_setOutput": "return 0;",
    "Execution_free": 'write(2, "f", 1);',
}


@pytest.mark.parametrize(
    ("bodies", "calls"),
    [
        ({}, "c"),
        ({"Execution_setReusable": "return 6;"}, "cfcfcfcf"),
        ({"Execution_compute": "return made++ ? 6 : 0;"}, "cfcfcfc"),
    ],
    ids=["reusable", "refused", "only once"],
)
def test_an_execution_is_reused_for_equal_requests(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], bodies: Mapping[str, str], calls: str
) -> None:
    library = build_level(tmp_path, 4, {**TAKING, **COUNTING, **bodies})
    prepared = load_driver("phone", library, 0).prepare(add_constant(), PrepareOptions())
    run = open_handle(prepared, OpenOptions([X.shape])).call
    assert run
    for _ in range(4):
        assert run([X])[0].shape == (64,)
    assert capfd.readouterr().err == calls


@pytest.mark.parametrize("through_burst", [False, True])
def test_a_reused_execution_has_the_new_inputs(tmp_path: Path, through_burst: bool) -> None:
    with closing(load_driver("phone", build_adder(tmp_path), 0)._agent) as agent:
        compiled = Built(agent, add_constant()).compile(0, PrepareOptions())
        used = compiled.open_burst() if through_burst else compiled
        frames = {count: Frame(used, [(count,)], [(64,)]) for count in (16, 64)}
        for start in range(3):  # other sizes between two equal requests
            for count in (64, 64, 16):
                given = np.arange(start, start + count, dtype=np.float32)
                np.testing.assert_array_equal(used.run_frame(frames[count], [given])[0][:count], given + 1)


WRITING = """
    char path[4096];
    snprintf(path, sizeof path, "%s/tokens", (char*)b);
    void* file = fopen(path, "a");
    fwrite(c, 1, 32, file);
    fclose(file);
    return 0;
"""


def test_compilations_of_one_model_have_one_caching_token(tmp_path: Path) -> None:
    library = build(tmp_path, **TAKING, Compilation_setCaching=WRITING)
    with serve(tmp_path, library, "--cache", str(tmp_path)) as address:
        driver = load_driver("phone", address, 0)
        for constant in (1, 1, 2):
            driver.prepare(add_constant(constant), PrepareOptions()).close()
    content = (tmp_path / "tokens").read_bytes()
    first, second, other = (content[at : at + 32] for at in (0, 32, 64))
    assert first == second != other
    assert len(content) == 96


def test_a_run_without_a_time_limit_sets_none(tmp_path: Path) -> None:
    refusing = {"Execution_setTimeout": "return 7;", "Execution_setLoopTimeout": "return 7;"}
    with closing(load_driver("phone", build(tmp_path, **TAKING | refusing), 0)._agent) as agent:
        compiled = Built(agent, add_constant()).compile(0, PrepareOptions())
        assert compiled.run_frame(Frame(compiled, [(64,)], [(64,)]), [np.zeros(64, np.float32)])[0].shape == (64,)


def test_the_library_gets_the_whole_type_of_an_input_whose_size_a_run_knows(tmp_path: Path) -> None:
    """Its code, number of dimensions, scale and zero point; the dimensions are behind a pointer."""
    words = "(int[]){*(int*)c, ((int*)c)[1], ((int*)c)[4], ((int*)c)[5], (*(int**)((char*)c + 8))[0]}"
    keep = f'void* file = fopen("{tmp_path}/type", "w"); fwrite({words}, 4, 5, file); fclose(file); return 0;'
    library = build(tmp_path, **{**TAKING, "Execution_setInput": keep})
    b, type = Builder("quantized"), OperandType(OperandCode.TENSOR_QUANT8_ASYMM, (0,), 0.375, 7)
    b.output(b.dequantize(b.input(type), out=tensor("float32", (5,))))
    with closing(load_driver("phone", library, 0)._agent) as agent:
        compiled = Built(agent, b.finish()).compile(0, PrepareOptions())
        compiled.run_frame(Frame(compiled, [(5,)], [(5,)]), [np.zeros(5, np.uint8)])
    assert struct.unpack("<IIfiI", (tmp_path / "type").read_bytes()) == (type.code, 1, 0.375, 7, 5)


@pytest.mark.slow
def test_constants_that_are_placed_are_not_dropped_meanwhile() -> None:
    """A finalizer may end the use of others in any thread, also in this one."""
    numbers = iter(range(9))
    constants, large = Constants(), np.zeros(KEPT // 2 + 1, np.uint8)
    first = constants.place([large], lambda arrays: (next(numbers), [0]))[0][1]
    large[:] = 1
    second = constants.place([large], lambda arrays: (next(numbers), [0]))[0][1]
    assert constants.leave([first]) == []

    def send(arrays: Sequence[np.ndarray]) -> tuple[int, Sequence[int]]:
        assert constants.leave([second]) == []  # else the first would be dropped
        return next(numbers), [0]

    large[:] = 0
    placed = constants.place([large, np.ones(1, np.uint8)], send)
    assert placed[0][1] is first
    assert first.uses == 1
    assert constants.leave([]) == []
    assert second.uses == 0


def test_the_first_reason_of_a_loss_counts(taking: str) -> None:
    agent = Agent(taking)
    agent._note_loss("the first", by_itself=True)
    agent.close()
    with pytest.raises(DriverDiedError, match="the first") as caught:
        agent.list_devices()
    assert caught.value.by_itself
