"""Survey the types, ranks, constants, layouts and dimensions that a device accepts for each operation."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nnapi.codes import DeviceTypeCode, OperandCode, OperationCode
from nnapi.contract.driver import Capabilities, DriverDiedError
from nnapi.errors import NnapiError
from nnapi.model.graph import Operand
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import OperandType
from nnapi.model.operation import REGISTRY, Operation
from nnapi.model.validation import call_facets
from nnapi.profiles.profile import ANYTHING, OperandLimits, OperationLimits, Profile, name_operands
from nnapi.profiles.reading import read_profile
from nnapi.profiles.writing import write_profile
from nnapi.runtime.device import Device
from nnapi.runtime.verdicts.verdicts import need_verdicts
from nnapi.store.files import write_text
from nnapi.testing.build import build
from nnapi.testing.random.calls import NoCall, is_control_flow, random_call

DRAWS = 160
"""Calls drawn per operation, so many that each type and rank of the first operand is drawn several times."""
ALIKE = 14
"""The largest number of calls with the same type and rank of the first operand."""
ATTEMPTS = 60
"""Draws that may be rejected before the next operation."""
EVIDENCE = 3
"""Refusals, without an accepted call, that establish a limit."""

REFUSED = "# refused: "
"""The beginning of an unfinished profile, before the names of operations."""

FALSE = Operand(0, OperandType(OperandCode.BOOL), "", Lifetime.CONSTANT)
"""The value of a flag that a call omits."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Answer:
    """A device's answer to a call: the call's tensors and flags by parameter name, and whether it accepts the call."""

    operands: Mapping[str, Operand]
    taken: bool


def survey_device(
    device: Device,
    operations: Iterable[Operation] | None = None,
    draws: int = DRAWS,
    progress: Progress = lambda name: None,
    file: Path | None = None,
) -> Profile:
    """Return the profile of a device from its declarations and answers; ``progress`` gets each operation's name.

    With a ``file``, the profile is written there. An unfinished survey leaves its answers in FILE.part; the next survey
    of the device continues from them.
    """
    part = file and file.with_name(f"{file.name}.part")
    limits = _read_part(part, device) if part else {}
    every = [operation for operation in REGISTRY.values() if isinstance(operation.code, OperationCode)]
    for operation in every if operations is None else operations:
        progress(operation.name)
        code = OperationCode(operation.code)
        if code not in limits:
            limits[code] = find_limits(ask(device, operation, draws))
            if part:
                refused = ", ".join(each.name for each, found in limits.items() if found is None)
                write_text(part, f"{REFUSED}{refused}\n{write_profile(_describe(device, limits))}")
    profile = _describe(device, limits)
    if file and part:
        write_text(file, write_profile(profile))
        part.unlink(missing_ok=True)
    return profile


def _read_part(part: Path, device: Device) -> dict[OperationCode, OperationLimits | None]:
    """Return the limits of the operations surveyed so far, None for refused ones; {} if ``part`` is of another
    device."""
    if not part.exists():
        return {}
    profile, refused = read_profile(part), part.read_text(encoding="utf-8").partition("\n")[0].removeprefix(REFUSED)
    if (profile.name, profile.version) != (f"{device.name}-profile", device.version):
        return {}
    return {**profile.operations, **{OperationCode[name]: None for name in refused.split(", ") if name}}


def _describe(device: Device, limits: Mapping[OperationCode, OperationLimits | None]) -> Profile:
    known = device.type != DeviceTypeCode.DEVICE_UNKNOWN
    return Profile(
        f"{device.name}-profile",
        device.version,
        device.type if known else DeviceTypeCode.DEVICE_OTHER,
        device.feature_level.level,
        f"what {device.name} {device.version} answered when it was asked",
        Capabilities() if device.substitute else device.driver.capabilities(),
        {code: found for code, found in limits.items() if found is not None},
    )


def ask(device: Device, operation: Operation, draws: int = DRAWS) -> list[Answer]:
    """Return a device's answers to random calls of an operation, as far as its feature level includes them."""
    rng = np.random.default_rng([operation.code, draws])
    answers: list[Answer] = []
    asked: Counter[tuple[int, int]] = Counter()
    for _ in range(ALIKE if is_control_flow(operation) else draws):
        try:
            model = build(random_call(operation, rng, ATTEMPTS, is_high=False))
        except (NoCall, NnapiError):
            continue
        call = model.operations[-1]
        first = model.operands[call.inputs[0]].type
        kind = first.code, len(first.dimensions)
        asked[kind] += 1
        level = max((facet.level for facet in call_facets(model, call)), default=1)
        if asked[kind] <= ALIKE and level <= device.feature_level.level:
            named = ((name, model.operands[index]) for name, index in name_operands(call))
            operands = {name: operand for name, operand in named if _is_described(operand)}
            answers.append(Answer(operands, _is_taken(device, model)))
    return answers


def _is_taken(device: Device, model: Model) -> bool:
    """Return whether the device accepts the model's last operation; False if the question ends its process."""
    try:
        return need_verdicts(device.driver, model)[-1].supported
    except DriverDiedError as death:
        if not death.by_itself:
            raise
        return False


def find_limits(answers: Sequence[Answer]) -> OperationLimits | None:
    """Return limits that explain the refusals: of types, dimensions, ranks, constants, flags. None if all were
    refused."""
    if not any(answer.taken for answer in answers):
        return None
    find_types = partial(_find_values, "types", lambda type: type.code)
    find_ranks = partial(_find_values, "ranks", lambda type: len(type.dimensions))
    omitted = {name: FALSE for answer in answers for name, operand in answer.operands.items() if _is_flag(operand)}
    answers = [replace(answer, operands={**omitted, **answer.operands}) for answer in answers]
    names = list(dict.fromkeys(name for answer in answers for name in answer.operands))
    limits = dict.fromkeys(names, ANYTHING)
    for find in (find_types, _find_largest, find_ranks, _find_constants, _find_flags, _find_largest):
        for name in names:
            given = [(answer.operands[name], answer.taken) for answer in answers if name in answer.operands]
            limits[name] = replace(limits[name], **find(given))
            answers = [answer for answer in answers if answer.taken or not _is_refused(answer, name, limits[name])]
    found = {name: each for name, each in limits.items() if each != ANYTHING}
    return OperationLimits(operands=found)


def _is_described(operand: Operand) -> bool:
    if operand.lifetime in (Lifetime.NO_VALUE, Lifetime.SUBGRAPH):
        return False
    return operand.type.name.startswith("TENSOR_") or _is_flag(operand)


def _is_flag(operand: Operand) -> bool:
    return operand.type.code == OperandCode.BOOL


def _is_refused(answer: Answer, name: str, limits: OperandLimits) -> bool:
    return name in answer.operands and limits.find_violation(answer.operands[name], name) is not None


def _find_values(
    key: str, value_of: Callable[[OperandType], int], given: Sequence[tuple[Operand, bool]]
) -> dict[str, Any]:
    """Return the accepted types or ranks as a limit, if another one was refused often enough."""
    taken = {value_of(operand.type) for operand, is_taken in given if is_taken}
    refused = Counter(value_of(operand.type) for operand, is_taken in given if not is_taken)
    enough = any(count >= EVIDENCE and value not in taken for value, count in refused.items())
    return {key: tuple(sorted(taken))} if taken and enough else {}


def _find_constants(given: Sequence[tuple[Operand, bool]]) -> dict[str, Any]:
    variable = [taken for operand, taken in given if operand.lifetime is not Lifetime.CONSTANT]
    constant = [taken for operand, taken in given if operand.lifetime is Lifetime.CONSTANT]
    return {"constant": True} if any(constant) and len(variable) >= EVIDENCE and not any(variable) else {}


def _find_flags(given: Sequence[tuple[Operand, bool]]) -> dict[str, Any]:
    constant = [each for each in given if _is_flag(each[0]) and each[0].lifetime is Lifetime.CONSTANT]
    flags = [(bool(operand.value), taken) for operand, taken in constant]
    accepted = {value for value, taken in flags if taken}
    is_established = sum(value not in accepted for value, _ in flags) >= EVIDENCE
    return {"values": tuple(accepted)} if accepted and is_established else {}


def _find_largest(given: Sequence[tuple[Operand, bool]]) -> dict[str, Any]:
    """Return the largest accepted dimension as a limit, if it explains all refusals left by other limits."""
    sizes = [(max(operand.type.dimensions, default=0), taken) for operand, taken in given]
    largest = max((size for size, taken in sizes if taken), default=0)
    refused = [size for size, taken in sizes if not taken]
    return {"largest_dimension": largest} if len(refused) >= EVIDENCE and 0 < largest < min(refused) else {}
