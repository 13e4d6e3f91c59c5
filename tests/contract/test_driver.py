"""The declared performance of drivers: literal, because applications compare devices by it."""

from types import SimpleNamespace

from nnapi.codes import DeviceTypeCode, OperandCode, PreferenceCode, PriorityCode, ResultCode
from nnapi.contract import driver as contract
from nnapi.contract import earlier_forms, host_memory
from nnapi.contract.driver import (
    ENGINE,
    Allocates,
    Breakable,
    Caches,
    Capabilities,
    DeviceInfo,
    Driver,
    DriverDiedError,
    Exact,
    OpenOptions,
    Opens,
    Outcome,
    Performance,
    Precise,
    Predicts,
    Prepared,
    PrepareOptions,
    Probed,
    Request,
    Threaded,
    Variants,
    Verdict,
)
from nnapi.drivers import base as public


def test_drivers_outside_of_the_package_import_the_contract_as_before() -> None:
    own = {
        name
        for module in (contract, earlier_forms, host_memory)
        for name, each in vars(module).items()
        if getattr(each, "__module__", "") == module.__name__ and not name.startswith("_")
    }
    constants = {name for name in vars(contract) if name.isupper() and name != "TYPE_CHECKING"}
    types = {"Attribute", "Extension", "ExtensionType", "Inference"}
    assert set(public.__all__) == (own | constants | types) - {"DescribedDevices"}, "only nnapi's own describe devices"
    known = {**vars(contract), **vars(earlier_forms), **vars(host_memory)}
    assert all(getattr(public, name) is known[name] for name in public.__all__)


def test_a_driver_declares_the_performance_of_the_reference_by_default() -> None:
    plain = Capabilities()
    assert Performance() == (1.0, 1.0)
    assert (plain.default, plain.relaxed, plain.if_, plain.while_) == ((1.0, 1.0),) * 4
    assert plain.by_type == {}
    assert (plain.launch_seconds, plain.seconds_per_byte) == (2e-6, 1e-10)


def test_engines_declare_themselves_faster_than_the_reference() -> None:
    assert ENGINE.default == ENGINE.relaxed == (0.02, 0.02)
    assert ENGINE.by_type == {
        OperandCode.TENSOR_QUANT8_ASYMM: (0.01, 0.01),
        OperandCode.TENSOR_QUANT8_ASYMM_SIGNED: (0.01, 0.01),
    }
    assert ENGINE.if_ == ENGINE.while_ == (1.0, 1.0), "control flow runs on the reference"


def test_a_death_is_blamed_on_nobody_by_default() -> None:
    error = DriverDiedError("test has died")
    assert (error.by_itself, error.was_alone, error.code) == (False, False, ResultCode.DEAD_OBJECT)


def test_defaults_of_the_contract() -> None:
    """A run has 15 s for a loop; nothing else is limited, borrowed or asked for."""
    assert Request([]) == ([], None, 15_000_000_000, False, ())
    assert OpenOptions() == (None, False, False, False, False)
    assert PrepareOptions() == (
        PreferenceCode.PREFER_FAST_SINGLE_ANSWER,
        PriorityCode.PRIORITY_MEDIUM,
        None,
        None,
        (),
        "",
    )
    assert Outcome([]) == ([], None, None)
    assert Verdict(True) == (True, "", ())
    assert DeviceInfo("a", "1", DeviceTypeCode.DEVICE_CPU, 8).extensions == ()


def test_protocols_are_told_apart_by_their_methods() -> None:
    """A runtime check of each; a driver need not derive from it."""
    methods = {
        Prepared: ("execute", "close"),
        earlier_forms.Sessions: ("session",),
        earlier_forms.Direct: ("direct",),
        earlier_forms.Binds: ("bind",),
        Opens: ("open_handle",),
        Allocates: ("allocate",),
        Caches: ("cache_entry", "restore"),
        Breakable: ("outage",),
        Threaded: ("find_thread_fault",),
        Variants: ("list_variants", "predict_variant"),
        Predicts: ("predict_savings",),
        Precise: ("offer_precision",),
        Exact: ("precision_refusal",),
        Probed: ("identify", "ask", "make"),
        Driver: ("info", "capabilities", "verdicts", "prepare"),
    }
    for protocol, names in methods.items():
        has_all = SimpleNamespace(**dict.fromkeys(names, print))
        assert [other for other in methods if isinstance(has_all, other)] == [protocol]
        for name in names:
            lacks_one = SimpleNamespace(**dict.fromkeys(set(names) - {name}, print))
            assert not isinstance(lacks_one, protocol)
