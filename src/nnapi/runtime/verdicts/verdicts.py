"""Verdicts of a device on the operations of a model: by the runtime's rules, then by its driver."""

from collections.abc import Mapping, Sequence
from functools import partial

from nnapi.codes import CONTROL_FLOW, DeviceTypeCode
from nnapi.contract.driver import Driver, DriverDiedError, Verdict
from nnapi.errors import need
from nnapi.model.model import Lifetime, Model, OperationCall
from nnapi.model.nesting import list_call_references, list_nested
from nnapi.operation_codes import COMPOSITE_CODES
from nnapi.runtime.verdicts.composites import DriverAdapter, ask_about_parts, takes_composites
from nnapi.runtime.verdicts.exclusions import exclusions_of, note_death_when_asked
from nnapi.runtime.verdicts.submodel import make_submodel
from nnapi.trace.log import Log

log = Log("nnapi.ModelBuilder")

DYNAMIC_SHAPES_LEVEL = 3
"""The feature level from which devices support dynamic dimensions."""
HIGHEST_LEVEL = 8


def find_verdicts(driver: Driver, model: Model) -> list[Verdict]:
    """Return a verdict on each operation. A driver that raises an error supports none, with the error as the reason."""
    try:
        return need_verdicts(driver, model)
    except Exception as error:
        name, said = driver.info.name, f"{type(error).__name__}: {error}"
        log.warning("%s runs no operations of %s, because its support query fails: %s", name, model.name, said)
        return [Verdict(False, f"{call}: the support query of {name} fails: {said}") for call in model.operations]


def need_verdicts(driver: Driver, model: Model) -> list[Verdict]:
    """Return a verdict on each operation. The driver is asked only for those of its feature level that are not
    excluded. Raise its errors, and OpFailedError if it returns a wrong number of verdicts."""
    if DriverAdapter(driver).show(model) is model:
        return _need_verdicts(driver, model)
    return ask_about_parts(model, partial(_need_verdicts, driver))


def _need_verdicts(driver: Driver, model: Model) -> list[Verdict]:
    hidden = _refuse_unseen(driver, model)
    try:
        verdicts = _ask(driver, model, hidden)
    except DriverDiedError as error:
        shown = [call for call in model.operations if call.number not in hidden]
        if not note_death_when_asked(driver, model, shown, error):
            raise
        verdicts = _ask(driver, model, _refuse_unseen(driver, model))
    if _needs_known_sizes(driver, model, verdicts):
        verdicts = [_refuse_sizes_of_data(model, *pair) for pair in zip(model.operations, verdicts, strict=True)]
    if not _may_refuse(driver, model):
        return verdicts
    return [
        Verdict(False, reason) if verdict.supported and (reason := _find_refusal(driver, model, call)) else verdict
        for call, verdict in zip(model.operations, verdicts, strict=True)
    ]


def _ask(driver: Driver, model: Model, hidden: Mapping[int, Verdict]) -> list[Verdict]:
    if not hidden:
        return _ask_about(driver, model)
    shown = [call for call in model.operations if call.number not in hidden]
    answers: dict[int, Verdict] = {}
    if shown:
        part, *_ = make_submodel(model, shown)
        said = dict(zip((call.number for call in part.operations), _ask_about(driver, part), strict=True))
        answers = {call.number: said[position] for position, call in enumerate(shown)}
    return [hidden.get(call.number) or answers[call.number] for call in model.operations]


def _ask_about(driver: Driver, model: Model) -> list[Verdict]:
    verdicts, count = list(driver.verdicts(model)), len(model.operations)
    need(len(verdicts) == count, f"{driver.info.name} gives {len(verdicts)} verdicts on {count} operations")
    return verdicts


def _refuse_unseen(driver: Driver, model: Model) -> dict[int, Verdict]:
    if model.empty_inputs and driver.info.type != DeviceTypeCode.DEVICE_CPU:
        empty = f"{model.operands[min(model.empty_inputs)]} has no elements; such models run on the CPU only"
        return {call.number: Verdict(False, empty) for call in model.operations}
    level, known = driver.info.feature_level, exclusions_of(driver)
    hidden = _refuse_beyond_level(driver, model, level) if level < HIGHEST_LEVEL else {}
    if not takes_composites(driver) and any(each.high_ranks for each in list_nested(model)):
        hidden |= _refuse_high_ranks(driver, model)
    for call in model.operations if known.reasons else ():
        if call.number not in hidden and (reason := known.reason(model, call)):
            hidden[call.number] = Verdict(False, reason)
    return hidden


def _refuse_high_ranks(driver: Driver, model: Model) -> dict[int, Verdict]:
    """Return refusals, by number, of the operations on ranks beyond NNAPI's, also of control flow that has some."""
    refusals = {}
    for call in model.operations:
        inner = (each for called in list_call_references(model, call) for each in list_nested(called))
        calls = (call, *(each for nested in inner for each in nested.operations))
        if beyond := next((each.match.beyond for each in calls if each.match and each.match.beyond), ""):
            refusals[call.number] = Verdict(False, f"{call}: {beyond} on {driver.info.name}")
    return refusals


def has_sizes_of_data(model: Model) -> bool:
    """Return whether unknown dimensions depend on data: the inputs are known, and a composite has results of unknown
    size. Engines would compile what reads these results anew at each run."""
    if not all(model.operands[index].type.is_known for index in model.inputs):
        return False
    composites = [call for call in model.operations if call.code in COMPOSITE_CODES]
    return any(not model.operands[index].type.is_known for call in composites for index in call.outputs)


def _needs_known_sizes(driver: Driver, model: Model, verdicts: Sequence[Verdict]) -> bool:
    """Return whether a device would compile anew at each run what reads sizes that depend on data. A device that
    computes sizes does not, if it takes the model whole: else another one finds the sizes."""
    if driver.info.type == DeviceTypeCode.DEVICE_CPU or not has_sizes_of_data(model):
        return False
    return not (computes_sizes(driver) and all(verdict.supported for verdict in verdicts))


def computes_sizes(driver: Driver) -> bool:
    """Return whether a device compiles a model once for all sizes that depend on data."""
    return bool(getattr(driver, "computes_sizes", False))


def _refuse_sizes_of_data(model: Model, call: OperationCall, verdict: Verdict) -> Verdict:
    read = (model.operands[index] for index in call.inputs)
    unknown = [each for each in read if each.lifetime == Lifetime.TEMPORARY and not each.type.is_known]
    if not verdict.supported or not unknown:
        return verdict
    why = f"the dimensions of {unknown[0]} depend on data, so that each run would compile the operation"
    return Verdict(False, f"{call}: {why}")


def has_dynamic_control_flow(model: Model, call: OperationCall) -> bool:
    """Return whether a control-flow operation has dynamic operands, here or in the models that it refers to."""
    if call.code not in CONTROL_FLOW:
        return False
    operands = [model.operands[index] for index in (*call.inputs, *call.outputs)]
    for referenced in [operand.value for operand in operands if isinstance(operand.value, Model)]:
        operands += [referenced.operands[index] for index in (*referenced.inputs, *referenced.outputs)]
    return any(not o.type.is_known for o in operands if not isinstance(o.value, Model))


def _refuse_beyond_level(driver: Driver, model: Model, level: int) -> dict[int, Verdict]:
    """Return refusals, by number, of the operations that need a higher feature level."""
    from nnapi.model.validation import call_facets  # on demand: it loads the declarations of operations

    refusals = {}
    for call in model.operations:
        facet = max(call_facets(model, call), key=lambda facet: facet.level, default=None)
        if facet is not None and facet.level > level:
            reason = _find_refusal(driver, model, call) or (
                f"{call} needs feature level {facet.level} ({facet.reason}), {driver.info.name} has {level}"
            )
            refusals[call.number] = Verdict(False, reason)
    return refusals


def _may_refuse(driver: Driver, model: Model) -> bool:
    is_old = driver.info.feature_level < DYNAMIC_SHAPES_LEVEL
    return is_old or not {call.code for call in model.operations}.isdisjoint(CONTROL_FLOW)


def _find_refusal(driver: Driver, model: Model, call: OperationCall) -> str | None:
    """Return why an operation must not run on a device although its driver may support it; None if it may."""
    is_limited = driver.info.type != DeviceTypeCode.DEVICE_CPU and not (
        computes_sizes(driver) and has_sizes_of_data(model)
    )
    if is_limited and has_dynamic_control_flow(model, call):
        return f"{call}: control flow on unknown dimensions runs on the CPU only"
    if driver.info.feature_level < DYNAMIC_SHAPES_LEVEL:
        for operand in (model.operands[index] for index in (*call.inputs, *call.outputs)):
            if operand.lifetime != Lifetime.NO_VALUE and not operand.type.is_known:
                return f"{call}: {operand} has unknown dimensions, which a device of level 1 or 2 does not understand"
    return None
