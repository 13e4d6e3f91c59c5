"""Composites before drivers: those that list their extension, and those that do not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, tensor
from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import (
    COMPOSITE_OPERATIONS,
    ENGINE,
    CacheEntry,
    Capabilities,
    DeviceInfo,
    Driver,
    Outcome,
    Prepared,
    PrepareOptions,
    Request,
    Verdict,
)
from nnapi.contract.handles import open_handle
from nnapi.contract.host_memory import HostMemory
from nnapi.errors import OpFailedError
from nnapi.model.extension import COMPOSITES, EXTENSIONS
from nnapi.model.model import Model
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CODES, CompositeCode
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.spare import Spare
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import Device, device
from nnapi.runtime.settings import Partitioning
from nnapi.runtime.verdicts.composites import DriverAdapter
from nnapi.runtime.verdicts.verdicts import find_verdicts
from tests.runtime.planning_cases import make_plan

SIGMOID, TANH = 6, 4
"""Numbers of activations."""
X = np.linspace(-3, 3, 2**16, dtype=np.float32).reshape(256, 256)


class Toy(HostMemory):
    """Takes what it is told by name and nothing else. It runs through the reference."""

    is_measured = False  # so that its declared costs count

    def __init__(self, *taken: str, composites: bool) -> None:
        self.taken, self.seen = {CODES[name] for name in taken}, list[list[str]]()
        self.info = DeviceInfo(
            "toy", "1", DeviceTypeCode.DEVICE_ACCELERATOR, 8, (COMPOSITE_OPERATIONS,) if composites else ()
        )

    def capabilities(self) -> Capabilities:
        return ENGINE._replace(launch_seconds=0, seconds_per_byte=0)

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        self.seen.append([call.name for call in model.operations])
        return [Verdict(call.code in self.taken, f"no {call.name}") for call in model.operations]

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        self.seen.append([call.name for call in model.operations])
        return device("nnapi-reference").driver.prepare(model, options)


def smooth() -> Model:
    """A product, its GELU, and a sum."""
    b = Builder()
    x = b.input(tensor("float32", X.shape))
    b.output(b.add(b.gelu(b.mul(x, x, 0), approximate=True), x, 0))
    return b.finish()


def place(driver: Driver, model: Model) -> tuple[list[tuple[str, str]], Any]:
    compiled = Compilation(model, [Device(driver), device("nnapi-reference")])
    compiled.finish()
    with compiled:
        plan = compiled.plan
        return [(each.operation, each.chosen) for each in plan.decisions], compiled.run(X)[0]


def expected() -> Any:
    with Compilation(smooth(), "nnapi-reference") as compiled:
        compiled.finish()
        return compiled.run(X)[0]


def test_a_driver_that_takes_a_composite_whole_gets_it() -> None:
    toy = Toy("GELU", composites=True)
    decisions, result = place(toy, smooth())
    assert ("GELU", "toy") in decisions
    assert toy.seen[-1] == ["GELU"]
    np.testing.assert_allclose(result, expected(), 1e-6, 1e-6)


def recurrent() -> Model:
    """A GRU over many long rows, and the GELU of its results: more than 256 steps."""
    random = np.random.default_rng(4)
    b, units, size = Builder(), 8, X.shape[1]

    def weights(*shape: int) -> Any:
        return random.uniform(-0.3, 0.3, shape).astype(np.float32)

    x = b.input(tensor("float32", (300, 1, size)))
    zeros, state = np.zeros(3 * units, np.float32), np.zeros((1, units), np.float32)
    matrices = weights(3 * units, size), weights(3 * units, units)
    out, _ = b.gru(x, *matrices, zeros, zeros, state, None, SIGMOID, TANH, 0.0, False, False, True)
    b.output(b.abs(b.gelu(out, approximate=False)))
    return b.finish()


def test_a_driver_that_takes_gelu_and_gru_whole_and_nothing_else() -> None:
    """No other file knows the driver. GRU is one operation, whatever its number of steps."""
    toy, model = Toy("GELU", "GRU", composites=True), recurrent()
    x = np.random.default_rng(5).normal(size=(300, 1, X.shape[1])).astype(np.float32)
    compiled = Compilation(model, [Device(toy), device("nnapi-reference")])
    compiled.finish()
    with compiled:
        decisions, found = [(each.operation, each.chosen) for each in compiled.plan.decisions], compiled.run(x)[0]
    assert decisions == [("GRU", "toy"), ("GELU", "toy"), ("ABS", "nnapi-reference")]
    assert toy.seen[-1] == ["GRU", "GELU"]
    with Compilation(model, "nnapi-reference") as alone:
        alone.finish()
        np.testing.assert_array_equal(found, alone.run(x)[0])


def test_a_driver_that_does_not_list_the_extension_sees_the_parts() -> None:
    toy = Toy("MUL", "ADD", "TANH", composites=False)
    decisions, result = place(toy, smooth())
    assert ("GELU", "toy") in decisions
    assert all("GELU" not in names for names in toy.seen)
    np.testing.assert_allclose(result, expected(), 1e-6, 1e-6)


def test_the_verdict_on_a_composite_is_the_first_refusal_of_its_parts() -> None:
    verdicts = find_verdicts(Toy("MUL", "ADD", composites=False), smooth())
    assert [verdict.supported for verdict in verdicts] == [True, False, True]
    assert verdicts[1].reason == "GELU (#1): its decomposition is refused: no TANH"


def test_a_composite_that_no_engine_takes_is_divided() -> None:
    decisions, result = place(Toy("MUL", "ADD", composites=True), smooth())
    names = [name for name, _ in decisions]
    assert "GELU" not in names
    assert ("TANH", "nnapi-reference") in decisions
    np.testing.assert_allclose(result, expected(), 1e-6, 1e-6)


def test_a_model_without_composites_is_shown_as_it_is() -> None:
    b = Builder()
    x = b.input(tensor("float32", X.shape))
    b.output(b.relu(x))
    model = b.finish()
    assert DriverAdapter(Toy(composites=False)).show(model) is model
    assert DriverAdapter(Toy(composites=True)).show(smooth()).operations[1].name == "GELU"


class Versatile(Toy):
    """Has each optional method, and notes the model that it sees."""

    def note(self, model: Model) -> Any:
        return self.seen.append([call.name for call in model.operations])

    list_variants = predict_variant = predict_savings = offer_precision = list_estimates = note

    def cache_entry(self, prepared: Prepared) -> bytes:
        return b""

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> Prepared:
        return self.note(model)


class Broken:
    def execute(self, request: Request) -> Outcome:
        raise OpFailedError("broken")

    def close(self) -> None: ...


@pytest.mark.parametrize("composites", [False, True])
def test_each_method_sees_composites_only_if_the_driver_lists_them(composites: bool) -> None:
    toy, model, options = Versatile(composites=composites), smooth(), PrepareOptions()
    adapter = Device(toy).adapter
    adapter.list_variants(model)
    adapter.predict_variant(model)
    adapter.predict_savings(model)
    adapter.offer_precision(model)
    adapter.list_estimates(model)
    adapter.restore(model, CacheEntry(b""), options)
    adapter.prepare(model, options)
    assert ["GELU" in names for names in toy.seen] == [composites] * 7


def test_what_a_driver_prepares_can_be_run() -> None:
    toy = Versatile(composites=True)
    toy.prepare = lambda model, options: None  # type: ignore[method-assign]
    with pytest.raises(OpFailedError, match="toy returned None for a prepared model"):
        Device(toy).adapter.prepare(smooth(), PrepareOptions())


def test_optional_methods_have_defaults() -> None:
    adapter, model = Device(Toy(composites=True)).adapter, smooth()
    assert [*adapter.list_variants(model), *adapter.predict_savings(model), *adapter.list_estimates(model)] == []
    assert adapter.predict_variant(model) == ""
    assert adapter.offer_precision(model) is None


def test_a_spare_cpu_sees_the_parts() -> None:
    toy, chip = Toy("MUL", "ADD", "TANH", composites=False), device("nnapi-reference")
    toy.info = toy.info._replace(type=DeviceTypeCode.DEVICE_CPU)
    question = Question(smooth(), [Device(toy)], PrepareOptions())
    plan = make_plan(smooth(), [chip], question.options.preference)
    handle = open_handle(Spare(question, Partitioning.WITH_FALLBACK).guard("chip", plan.model, {chip.name}, Broken()))
    np.testing.assert_allclose(handle.execute(Request([X])).outputs[0], expected(), 1e-6, 1e-6)
    assert "GELU" not in toy.seen[-1]


def test_the_codes_are_those_of_the_extension() -> None:
    assert EXTENSIONS.type(COMPOSITES, CompositeCode.GELU & 0xFFFF) == CompositeCode.GELU
    assert EXTENSIONS.name(CompositeCode.CUMSUM) == COMPOSITES
    assert all(code in REGISTRY for code in CompositeCode)
    assert device("nnapi-reference").supports_extension(COMPOSITES)


def deep_sum(shape: tuple[int, ...] = (1, 2, 1, 3, 1)) -> Model:
    b = Builder()
    x = b.input(tensor("float32", shape))
    b.output(b.add(x, x))
    return b.finish()


def test_ranks_beyond_nnapi_are_shown_to_drivers_that_list_the_extension() -> None:
    (verdict,) = find_verdicts(Toy("ADD", composites=True), deep_sum())
    assert verdict.supported
    toy = Toy("ADD", composites=False)
    (verdict,) = find_verdicts(toy, deep_sum())
    assert verdict.reason == "ADD (#0): lhs has rank 5, must have rank 1 or 2 or 3 or 4 on toy"
    assert toy.seen == []
    assert find_verdicts(toy, deep_sum((1, 2, 1, 3)))[0].supported


def test_control_flow_with_ranks_beyond_nnapi_is_not_shown_either() -> None:
    b = Builder()
    flag, x = b.input(tensor("bool8", (1,))), b.input(tensor("float32", (1, 2, 1, 3, 1)))
    b.output(*b.if_(flag, deep_sum(), deep_sum(), x))
    (verdict,) = find_verdicts(Toy("IF", composites=False), b.finish())
    assert verdict.reason == "IF (#0): lhs has rank 5, must have rank 1 or 2 or 3 or 4 on toy"


def test_parts_of_composites_may_have_ranks_beyond_nnapi() -> None:
    """The parts of a composite of rank 5, in a model without such operations."""
    model = Model()
    x, y = (model.add_operand(tensor("float32", (1, 2, 1, 3, 1))) for _ in range(2))
    model.add_operation(CompositeCode.SOFTPLUS, [x], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    (verdict,) = find_verdicts(Toy("ABS", "NEG", "EXP", "ADD", "LOG", "RELU", composites=False), model)
    assert verdict.reason.startswith("SOFTPLUS (#0): its decomposition is refused: ")
    assert "has rank 5" in verdict.reason
