"""Devices of another NNAPI library: ours as the other one, and small ones that lie, hang, die or lack symbols."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nnapi import Builder, Device, Model, OperationCode, compile, tensor
from nnapi.capi import installation
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.drivers.foreign import find_drivers
from nnapi.drivers.foreign.driver import list_devices, read_level
from nnapi.drivers.isolated.probing import Unusable
from nnapi.errors import BadDataError, DeadObjectError, NnapiError, OpFailedError, UnavailableDeviceError
from nnapi.testing.conformance import match_name, run
from nnapi.testing.corpus import PUBLISHED, Corpus
from nnapi.testing.suite.result import Status
from nnapi.trace import Layer, spans
from tests.drivers.foreign.agent_cases import load_driver, needs_agent
from tests.drivers.foreign.library_cases import (
    FUNCTIONS,
    HEADER,
    PREFIX,
    TABLE,
    TAKING,
    build,
    build_source,
    describe_names,
    needs_compiler,
    needs_library,
)

pytestmark = needs_agent
X = np.array([1, 2, 3], np.float32)


def make_model() -> Model:
    builder = Builder()
    x = builder.input(tensor("float32", [3]), name="x")
    builder.output(builder.add(x, X, name="sum"))
    return builder.finish()


@pytest.fixture(scope="module")
def own() -> Iterator[Device]:
    """Our own reference, by way of our own library, in a process of its own."""
    drivers = [*list_devices("own", str(installation.library()))]
    (driver,) = [each for each in drivers if each.info.name == "own-nnapi-reference"]
    device = Device(driver)
    yield device
    device.close()


@needs_library
def test_own_library_computes(own: Device) -> None:
    with compile(make_model(), [own]) as compiled:
        np.testing.assert_array_equal(compiled.run(X)[0], 2 * X)


@needs_library
@pytest.mark.parametrize(
    "pattern", ["add_broadcast*", "conv2d_v1_2_quant_output_multiplier*", "where", "split_float_1", "if_simple_u*"]
)
def test_examples_pass(own: Device, pattern: str) -> None:
    """Open dimensions, several outputs, models within models; the whole of the examples is for ``nnapi check``."""
    results = list(run(Corpus(PUBLISHED), [own], ["plain", "dynamic"], match_name(pattern)))
    assert not [result for result in results if result.status is Status.FAILED]


@needs_library
def test_an_output_without_elements(own: Device) -> None:
    """Which a library is not given a buffer of no bytes for."""
    results = list(run(Corpus(PUBLISHED), [own], ["plain", "dynamic"], match_name("concat_zero_sized*")))
    assert {result.status for result in results} == {Status.PASSED}


@needs_library
def test_a_trace_has_the_device_within_the_connection(own: Device) -> None:
    with compile(make_model(), [own]) as compiled:
        spans.start()
        try:
            compiled.run(X)
        finally:
            found = spans.stop()
    layers = [span.label.layer for span in sorted(found, key=lambda span: span.start) if span.label.name == own.name]
    assert layers == [Layer.IPC, Layer.DRIVER]


LYING = {
    "ranks": ("*(uint32_t*)c = 3000000000u; return 0;", "return 0;", "is said to have 3000000000 dimensions"),
    "dimensions": (
        "*(uint32_t*)c = 2; return 0;",
        "return 0;",
        r"gives TENSOR_FLOAT32\[.*but the model declares TENSOR_FLOAT32",
    ),
    "sizes": (
        "*(uint32_t*)c = 1; return 0;",
        "*(uint32_t*)c = 1000; return 0;",
        "gave 1000 elements, the buffer takes",
    ),
}


@needs_compiler
@pytest.mark.parametrize(("rank", "dimensions", "reason"), LYING.values(), ids=LYING)
def test_one_that_lies_about_its_outputs(tmp_path: Path, rank: str, dimensions: str, reason: str) -> None:
    lies = {"Execution_getOutputOperandRank": rank, "Execution_getOutputOperandDimensions": dimensions}
    driver = load_driver("board", build(tmp_path, **TAKING | lies), 0)
    model = Model()
    x, y = (model.add_operand(tensor("float32", [0])) for _ in range(2))
    model.add_operation(OperationCode.RELU, [x], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    prepared = driver.prepare(model, PrepareOptions())
    with pytest.raises(OpFailedError, match=reason):
        prepared.execute(Request([X]))
    prepared.close()


@needs_library
def test_what_the_library_refuses_keeps_its_result_code(own: Device) -> None:
    builder = Builder()
    x = builder.input(tensor("float32", [2, 3]), name="x")
    axis = builder.input(tensor("int32", [1]), name="axis")
    builder.output(builder.mean(x, axis, keep_dims=1))
    compiled = compile(builder.finish(), [own])
    with pytest.raises(NnapiError, match="gives OP_FAILED|gives BAD_DATA"):
        compiled.run(np.zeros((2, 3), np.float32), np.array([7], np.int32))


@pytest.mark.slow
@needs_library
def test_a_device_whose_process_was_closed_is_there_again(own: Device) -> None:
    compiled = compile(make_model(), [own])
    own.close()
    np.testing.assert_array_equal(compiled.run(X)[0], 2 * X)


def test_functions_are_required_from_the_level_of_the_header() -> None:
    """Or later: the agent calls functions of level 3 only where the library has them."""
    found = re.findall(r"Since\s+feature\s+level\s+(\d)\.\s+\*/\n\w[\w *]* (\w+)\(", HEADER)
    levels = {name: int(level) for level, name in found}
    for name, level in FUNCTIONS.items():
        assert not level or levels[PREFIX + name] <= level, name


@needs_compiler
def test_a_device_is_described(tmp_path: Path) -> None:
    (driver,) = list_devices("board", build(tmp_path))
    assert driver.info[:4] == ("board-chip", "0.9", 4, 3)


@needs_compiler
def test_a_level_is_no_higher_than_the_functions(tmp_path: Path) -> None:
    """It says 8 and has no functions of level 4."""
    assert load_driver("board", build(tmp_path, level="1000008"), 0).info.feature_level == 3


@pytest.mark.parametrize(("number", "level"), [(27, 1), (31, 5), (1_000_006, 6), (1_000_008, 8), (1_000_011, 8)])
def test_levels_are_read(number: int, level: int) -> None:
    assert read_level("lib", number) == level


@pytest.mark.parametrize("number", [-1, 0, 26, 32, 1_000_005])
def test_levels_that_there_are_not_are_refused(number: int) -> None:
    with pytest.raises(UnavailableDeviceError, match=f"lib reports feature level {number}"):
        read_level("lib", number)


@needs_compiler
def test_a_support_library_gives_its_table(tmp_path: Path) -> None:
    plain = describe_names("1000007", "", 8, "static ", {})
    entries = ", ".join(
        f"(void*){PREFIX}{n}" if FUNCTIONS.get(n := name.removeprefix(PREFIX)) else "0" for name in TABLE
    )
    source = f"{plain}\nstruct {{ int64_t level; void* functions[{len(TABLE)}]; }} table = {{1000007, {{{entries}}}}};"
    path = build_source(tmp_path, f"{source}\nvoid* ANeuralNetworks_getSLDriverImpl(void) {{ return &table; }}")
    driver = load_driver("board", path, 0)
    assert driver.info.feature_level == 7
    (verdict,) = driver.verdicts(make_model())
    assert re.search("ANeuralNetworksModel_create of .* gives UNMAPPABLE", verdict.reason)


@needs_compiler
def test_a_library_that_is_none_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(UnavailableDeviceError, match="not an NNAPI library: it has no ANeuralNetworks_getDeviceCount"):
        load_driver("board", build_source(tmp_path, "int nothing;"), 0)


@needs_compiler
def test_result_codes_that_nobody_knows_are_general_failures(tmp_path: Path) -> None:
    (verdict,) = load_driver("board", build(tmp_path, Model_create="return 99;"), 0).verdicts(make_model())
    assert "gives result code 99, which NNAPI does not have" in verdict.reason


@needs_compiler
def test_one_that_refuses_every_model_refuses_each_operation(tmp_path: Path) -> None:
    driver = load_driver("board", build(tmp_path), 0)
    (verdict,) = driver.verdicts(make_model())
    assert not verdict.supported
    assert "ANeuralNetworksModel_create" in verdict.reason
    assert "UNMAPPABLE" in verdict.reason


@needs_compiler
def test_one_that_dies_when_it_is_loaded_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build(tmp_path, count="abort();")
    monkeypatch.setenv("NNAPI_FOREIGN", f"board={path}, {tmp_path}/none.so, gone={tmp_path}/none.so")
    broken = [each for each in find_drivers() if isinstance(each, Unusable)]
    assert [each.name for each in broken] == ["board", f"{tmp_path}/none.so", "gone"]
    assert "SIGABRT" in broken[0].reason
    assert "must be NAME=PATH" in broken[1].reason
    assert "cannot be loaded" in broken[2].reason
    with pytest.raises(UnavailableDeviceError, match="SIGABRT"):
        _ = broken[0].info


@pytest.mark.slow
@needs_compiler
def test_one_that_hangs_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(DeadObjectError, match="said nothing|did not answer"):
        list(list_devices("board", build(tmp_path, count="for (;;) pause();"), patience=2))


@needs_compiler
def test_one_that_dies_later_leaves_the_application(tmp_path: Path) -> None:
    (driver,) = list_devices("board", build(tmp_path, Model_create="abort();"))
    with pytest.raises(DeadObjectError):
        driver.verdicts(make_model())


@needs_compiler
def test_a_library_without_that_device(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match="has 1 devices"):
        load_driver("board", build(tmp_path), 1)
