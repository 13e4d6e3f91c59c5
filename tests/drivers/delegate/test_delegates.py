"""Devices behind delegates: a small one that computes, refuses, fails and dies as its options say, and our own."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from nnapi import Builder, Device, Model, compile, tensor
from nnapi.capi import installation
from nnapi.contract.driver import OpenOptions, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.drivers.delegate import find_drivers
from nnapi.drivers.delegate.settings import DelegateDevice
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.isolated.probing import Unusable
from nnapi.errors import BadDataError, DeadObjectError, NnapiError, OpFailedError, UnavailableDeviceError
from nnapi.runtime.verdicts import exclusions
from nnapi.runtime.verdicts.verdicts import find_verdicts
from nnapi.testing.conformance import match_name, run
from nnapi.testing.corpus import PUBLISHED, Corpus
from nnapi.testing.suite.result import Status
from tests.drivers.delegate.delegate_cases import COMPILER, build
from tests.waiting import count_descriptors

pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
from nnapi.drivers.delegate.driver import DelegateDriver
from nnapi.drivers.delegate.plugin import explain_loading

pytestmark = [pytest.mark.engine, pytest.mark.skipif(COMPILER is None, reason="no C compiler")]
needs_own = pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem()))
SHAPE = (1, 5, 4, 2)
X = np.arange(40, dtype=np.float32).reshape(SHAPE)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build(tmp_path_factory.mktemp("delegate") / "libsmall.so")


@pytest.fixture(scope="module")
def device(small: str) -> Iterator[Device]:
    with Device(Isolated(DelegateDevice("small", small))) as found:
        yield found


def driver(small: str, mode: str = "") -> DelegateDriver:
    """In this process."""
    return DelegateDriver(*DelegateDevice("small", small, (("mode", mode),)))


def make_model(*operations: str) -> Model:
    """Sums, and operations without arguments between them."""
    builder = Builder()
    x = builder.input(tensor("float32", SHAPE), name="x")
    x = builder.add(x, X)
    for name in operations:
        x = getattr(builder, name)(x)
    builder.output(builder.add(x, x))
    return builder.finish()


def test_a_whole_model_is_computed(device: Device) -> None:
    with compile(make_model(), [device]) as compiled:
        np.testing.assert_array_equal(compiled.run(X)[0], 4 * X)


@pytest.mark.parametrize("name", ["exp", "floor", "log", "logistic", "rsqrt", "sin", "sqrt"])
def test_functions_are_operators_without_what_xnnpack_needs_around_them(small: str, name: str) -> None:
    graph = driver(small).lower(make_model(name)).graph
    assert [operator.kind for operator in graph.operators] == ["ADD", name.upper(), "ADD"]


@pytest.mark.parametrize("pattern", ["add_relaxed", "add_v1_2_2", "conv_float_2"])
def test_examples_pass(device: Device, pattern: str) -> None:
    """Those of the operations that it takes; the whole of the examples is for ``nnapi check``."""
    results = [*run(Corpus(PUBLISHED), [device], ["plain", "dynamic"], match_name(pattern))]
    assert not [result for result in results if result.status is Status.FAILED]
    assert Status.PASSED in {result.status for result in results}


def test_what_is_left_has_the_delegates_reason(small: str) -> None:
    verdicts = driver(small).verdicts(make_model("relu"))
    assert [verdict.supported for verdict in verdicts] == [True, False, True]
    assert verdicts[1].reason == "RELU (#1): libsmall.so did not take RELU: small: there is no kernel for operator 19"


def test_a_cast_without_float16_is_left(small: str) -> None:
    """LiteRT converts to float16 and back around a delegate; other casts are the model's."""
    builder = Builder()
    x = builder.add(builder.input(tensor("float32", SHAPE)), X)
    builder.output(builder.cast(x, out=tensor("int32", SHAPE)))
    assert [verdict.supported for verdict in driver(small).verdicts(builder.finish())] == [True, False]


def test_what_is_left_is_computed_elsewhere(device: Device) -> None:
    import nnapi

    with compile(make_model("relu"), [device, nnapi.device("nnapi-reference")]) as compiled:
        np.testing.assert_array_equal(compiled.run(X)[0], 4 * X)


def test_nothing_is_left_to_litert(small: str) -> None:
    """Refused for every model, even if LiteRT has kernels for it."""
    with pytest.raises(OpFailedError, match=r"libsmall.so did not take operation #1 here"):
        driver(small).prepare(make_model("relu"), PrepareOptions())


def test_what_was_asked_is_remembered(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = driver(small)
    before = found.verdicts(make_model("relu"))
    monkeypatch.setattr("nnapi.drivers.delegate.plugin.Plugin.open", None)
    assert found.verdicts(make_model("relu")) == before
    with pytest.raises(TypeError):
        found.verdicts(make_model("tanh"))


def test_any_number_of_threads_may_run_it(device: Device) -> None:
    with compile(make_model(), [device]) as compiled, ThreadPoolExecutor(4) as pool:
        for k, (result,) in enumerate(pool.map(lambda k: compiled.run(X + k), range(16))):
            np.testing.assert_array_equal(result, 4 * X + 2 * k)


def test_a_closed_model_runs_no_more(small: str) -> None:
    prepared = driver(small).prepare(make_model(), PrepareOptions())
    run_directly = open_handle(prepared, OpenOptions([SHAPE])).call
    np.testing.assert_array_equal(run_directly([X])[0], 4 * X)
    prepared.close()
    for attempt in (lambda: run_directly([X]), lambda: prepared.execute(Request([X]))):
        with pytest.raises(OpFailedError, match="closed"):
            attempt()


def test_one_that_refuses_all(small: str) -> None:
    verdicts = driver(small, "refuse").verdicts(make_model())
    assert {verdict.supported for verdict in verdicts} == {False}
    assert "libsmall.so did not take ADD" in verdicts[0].reason


def test_one_that_fails_when_it_runs(small: str) -> None:
    compiled = compile(make_model(), [Device(driver(small, "break"))])
    with compiled, pytest.raises(OpFailedError, match="small: the chip is too warm"):
        compiled.run(X)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The record of deaths, for one test alone."""
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    return tmp_path


def isolate(small: str, mode: str) -> Device:
    return Device(Isolated(DelegateDevice("small", small, (("mode", mode),))))


@pytest.mark.usefixtures("kept")
def test_one_that_dies_leaves_the_application(small: str) -> None:
    with isolate(small, "abort in invoke") as found, pytest.raises(DeadObjectError, match="SIGABRT"):
        compile(make_model(), [found]).run(X)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("mode", ["take", "prepare"])
def test_what_it_said_before_it_died_is_the_reason(small: str, mode: str) -> None:
    said = f"its process was ended by SIGABRT; it said last: small: the chip burns in {mode}"
    with isolate(small, f"abort in {mode}") as found, pytest.raises(DeadObjectError, match=said):
        found.driver.verdicts(make_model())


@pytest.mark.slow
@pytest.mark.usefixtures("kept")
def test_what_kills_it_when_it_is_asked_is_remembered(small: str, capfd: pytest.CaptureFixture[str]) -> None:
    """By later processes too; what it takes beside that it computes."""
    builder = Builder()
    x = builder.input(tensor("float32", SHAPE), name="x")
    x = builder.add(x, X)
    filter, bias = np.ones((2, 1, 1, 2), np.float32), np.zeros(2, np.float32)
    builder.output(builder.conv_2d(x, filter, bias, padding_scheme=1, stride_w=1, stride_h=1))
    model = builder.finish()
    with isolate(small, "abort at conv") as found:
        verdicts = find_verdicts(found.driver, model)
        assert [verdict.supported for verdict in verdicts] == [True, False]
        reason = "CONV_2D (#1) ended the driver's process twice, the last time when it was asked about: "
        assert verdicts[1].reason.startswith(reason)
        assert verdicts[1].reason.endswith("SIGABRT; it said last: small: the chip burns in CONV_2D")
        with compile(model, [found, *_reference()]) as compiled:
            expected = (2 * X).sum(axis=-1, keepdims=True).repeat(2, axis=-1)
            np.testing.assert_array_equal(compiled.run(X)[0], expected)
    exclusions._exclusions.cache_clear()
    with isolate(small, "abort at conv") as found:
        found.wait()
        pid = found.driver.pid  # type: ignore[attr-defined]
        assert find_verdicts(found.driver, model) == verdicts
        with pytest.raises(BadDataError, match="no device supports CONV_2D"):
            compile(model, [found])
        assert found.driver.pid == pid  # type: ignore[attr-defined]
    assert "chip" not in capfd.readouterr().err


def test_a_compilation_is_cached(small: str, tmp_path: Path) -> None:
    found = driver(small)
    compile(make_model(), [Device(found)], cache=tmp_path).close()
    found.prepare = None  # type: ignore[method-assign]  # who calls it fails
    with compile(make_model(), [Device(found)], cache=tmp_path) as compiled:
        np.testing.assert_array_equal(compiled.run(X)[0], 4 * X)


def test_open_dimensions(small: str) -> None:
    builder = Builder()
    x = builder.input(tensor("float32", (0, 3)), name="x")
    builder.output(builder.add(x, x))
    with compile(builder.finish(), [Device(driver(small))]) as compiled:
        for count in (1, 4, 2):
            ones = np.ones((count, 3), np.float32)
            np.testing.assert_array_equal(compiled.run(ones)[0], 2 * ones)


def test_nothing_leaks(small: str) -> None:
    found = driver(small)
    compile(make_model(), [Device(found)]).close()
    before = count_descriptors()
    for _ in range(3):
        with compile(make_model("relu"), [Device(found), *_reference()]) as compiled:
            compiled.run(X)
    assert count_descriptors() <= before


def _reference() -> list[Device]:
    import nnapi

    return [nnapi.device("nnapi-reference")]


# Why there is none


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((("mode", "absent"),), "gives no delegate with mode=absent: small: there is no /dev/small0"),
        ((("color", "red"),), "gives no delegate with color=red: small: there is no such option: color"),
    ],
)
def test_one_that_is_not_made_says_why(small: str, options: tuple[tuple[str, str], ...], reason: str) -> None:
    with pytest.raises(UnavailableDeviceError, match=reason):
        DelegateDriver(*DelegateDevice("small", small, options))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "int nothing;",
            "is not an external delegate: it has no tflite_plugin_create_delegate or tflite_plugin_destroy",
        ),
        ("int TFL_TheStableDelegate;", "but TFL_TheStableDelegate, which LiteRT's interpreter does not load"),
        ("extern int chip(void); int f(void) { return chip(); }", "libx.so needs the symbol chip, which no library"),
    ],
)
def test_a_library_that_is_none_says_what_it_lacks(tmp_path: Path, source: str, reason: str) -> None:
    with pytest.raises(UnavailableDeviceError, match=reason):
        DelegateDriver(*DelegateDevice("x", build(tmp_path / "libx.so", source=source)))


def test_a_library_that_needs_another(tmp_path: Path) -> None:
    other = Path(build(tmp_path / "libchip.so", source="int chip(void) { return 1; }"))
    source = "extern int chip(void); int f(void) { return chip(); }"
    path = build(tmp_path / "libx.so", f"-L{tmp_path}", "-lchip", source=source)
    other.unlink()
    with pytest.raises(UnavailableDeviceError, match=r"libx.so needs libchip.so, which is not found"):
        DelegateDriver(*DelegateDevice("x", path))


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "libx.so").write_text("nothing")
    with pytest.raises(UnavailableDeviceError, match="libx.so cannot be loaded: "):
        DelegateDriver(*DelegateDevice("x", str(tmp_path / "libx.so")))
    assert explain_loading("libx.so", "odd") == "libx.so cannot be loaded: odd"


@pytest.mark.slow
def test_devices_that_cannot_be_used_are_named(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = f"npu={small}, gone=/none/libx.so, =x, dies={small}?mode=abort"
    monkeypatch.setenv("NNAPI_DELEGATES", said)
    found = find_drivers()
    assert [type(each) for each in found] == [Isolated, Unusable, Unusable, Unusable]
    assert found[0].info.name == "npu"
    assert found[0].info.version.startswith("libsmall.so ")
    reasons = [each.reason for each in found[1:] if isinstance(each, Unusable)]
    assert "there is no file /none/libx.so" in reasons[0]
    assert "must be NAME=PATH" in reasons[1]
    assert reasons[2].endswith("SIGABRT; it said last: small: the chip burns in the beginning")


def test_its_process_knows_no_delegates(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or our own delegate would look for devices for ever."""
    monkeypatch.setenv("NNAPI_DELEGATES", f"npu={small}")
    from nnapi.drivers.isolated.process import NONE

    assert NONE["NNAPI_DELEGATES"] == ""
    for name, value in NONE.items():
        monkeypatch.setenv(name, value)
    assert find_drivers() == []


# Those of others


def test_teflon_without_an_npu_says_so() -> None:
    """Mesa's delegate, as Debian has it for arm64."""
    path = Path("/usr/lib/teflon/libteflon.so")
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    if any(Path("/dev/accel").glob("accel*")) or any(Path("/dev/dri").glob("renderD*")):
        pytest.skip("there may be an NPU")
    with Device(Isolated(DelegateDevice("npu", str(path)))) as found, pytest.raises(NnapiError, match="libteflon.so"):
        found.driver.prepare(make_model(), PrepareOptions())


def test_the_nnapi_delegate_of_tensorflow_lite(monkeypatch: pytest.MonkeyPatch) -> None:
    """On our own library: client and driver in one loop."""
    path = Path(os.environ.get("NNAPI_LITERT_BUILD", ""), "libnnapi_delegate.so").absolute()
    if not path.is_file():
        pytest.skip("it is not built (tests/clients/tflite_delegate; set NNAPI_LITERT_BUILD)")
    for name, value in installation.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DEBUG_NN_CPUONLY", "0")
    options = (("accelerator_name", "nnapi-reference"),)
    found = Device(Isolated(DelegateDevice("tflite", str(path), options)))
    with found, compile(make_model("relu"), [found]) as compiled:
        np.testing.assert_array_equal(compiled.run(X)[0], 4 * X)


# Our own delegate: client and driver in one loop


@pytest.fixture(scope="module")
def own() -> Iterator[Device]:
    options = (("devices", "nnapi-reference"),)
    with Device(Isolated(DelegateDevice("own", str(installation.delegate()), options))) as found:
        yield found


@needs_own
def test_own_delegate_computes(own: Device) -> None:
    with compile(make_model("relu", "tanh"), [own]) as compiled:
        np.testing.assert_allclose(compiled.run(X)[0], 2 * np.tanh(2 * X), rtol=1e-6)


@pytest.mark.slow
@needs_own
@pytest.mark.parametrize("pattern", ["conv_quant8_channels", "exp", "softmax_float_1"])
def test_examples_pass_by_own_delegate(own: Device, pattern: str) -> None:
    results = [*run(Corpus(PUBLISHED), [own], ["plain", "dynamic"], match_name(pattern))]
    assert not [result for result in results if result.status is Status.FAILED]
    assert Status.PASSED in {result.status for result in results}


@pytest.mark.slow
@needs_own
def test_own_delegate_says_what_it_lacks() -> None:
    device = Isolated(DelegateDevice("own", str(installation.delegate()), (("speed", "high"),)))
    with pytest.raises(
        UnavailableDeviceError, match=r"libnnapi_delegate.so gives no delegate with speed=high: .*speed"
    ):
        _ = device.info
    device.close()
