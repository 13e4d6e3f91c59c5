"""The driver of ``qualcomm-htp``."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import (
    COMPOSITE_OPERATIONS,
    CacheEntry,
    Capabilities,
    DeviceInfo,
    Outcome,
    Prepared,
    PrepareOptions,
    Request,
    Verdict,
)
from nnapi.contract.host_memory import HostMemory
from nnapi.contract.prepared import PreparedPerShapes, Shapes, check_deadline
from nnapi.contract.substitutes import FOREMOST
from nnapi.drivers.qualcomm.chips import CHIPS, Chip
from nnapi.drivers.qualcomm.context_binary import read_binary
from nnapi.errors import OpFailedError, need
from nnapi.lowering.lower import assume_shapes, need_supported
from nnapi.model.model import Model
from nnapi.store.directories import RecordKind
from nnapi.store.records import keep_record, recall_record

if TYPE_CHECKING:
    from nnapi.drivers.qualcomm.compiler import CompiledContext
    from nnapi.drivers.qualcomm.lowering import HtpConversion

LIMIT = 300.0
"""Maximum seconds of a compilation or a run. Then the process is ended."""
LEFT = "assigned to the default CPU EP"
"""Part of the message if the compiler does not take an operation, and gives no reason."""
BOOL = "tensor(bool)"
TOGETHER = "QNN accepts it by itself, not in this model"


class PreparedHtp:
    """A compiled graph, executed on the CPU."""

    def __init__(self, model: Model, session: Any, context: bytes) -> None:
        self.context = context
        self._session = session
        self._inputs = [(each.name, each.type == BOOL) for each in session.get_inputs()]
        self._types = [model.operands[index].type.dtype for index in model.outputs]

    def execute(self, request: Request) -> Outcome:
        """Run the model on the CPU. The outcome has no time on the hardware."""
        check_deadline(request)
        need(self._session is not None, "the prepared model is closed", OpFailedError)
        arrays = [array for array in request.inputs if array is not None]
        pairs = zip(self._inputs, arrays, strict=True)
        made = self._session.run(
            None, {name: array.view(bool) if is_bool else array for (name, is_bool), array in pairs}
        )
        return Outcome([array.astype(type) for array, type in zip(made, self._types, strict=True)])

    def close(self) -> None:
        self._session = None


class QualcommDriver(HostMemory):
    """A driver that supports the operations that Qualcomm's compiler accepts. Its times are those of the CPU."""

    isolated: ClassVar[bool] = True
    patience: ClassVar[float] = LIMIT
    is_by_name: ClassVar[bool] = True
    is_measured: ClassVar[bool] = False
    substitute: ClassVar[str] = "emulated on this computer: its times say nothing about the device"
    travels: ClassVar[bool] = True

    def __init__(self, chip: Chip, release: str) -> None:
        version = f"ONNX Runtime QNN {release}, {chip.name} emulated on the CPU"
        self.info = DeviceInfo("qualcomm-htp", version, DeviceTypeCode.DEVICE_ACCELERATOR, 8, (COMPOSITE_OPERATIONS,))
        self._chip, self._release = chip, release
        self._latest: tuple[bytes, CompiledContext] | None = None
        """The file of the last verdicts and its compiled graph, as it is usually prepared next."""

    def __reduce__(self) -> tuple[type[QualcommDriver], tuple[Chip, str]]:
        """Pickle the chip and the release, for the process of its own."""
        return type(self), (self._chip, self._release)

    def capabilities(self) -> Capabilities:
        return FOREMOST

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        lowered = _lower(model)
        refusals = self._find_refusals(lowered, lowered.list_supported())
        return [
            Verdict(False, f"{call}: {refusals[call.number]}") if call.number in refusals else verdict
            for call, verdict in zip(model.operations, lowered.verdicts, strict=True)
        ]

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        return self._prepare_all(model, self._prepare_for(model, tuple(assume_shapes(model))))

    def cache_entry(self, prepared: Prepared) -> bytes:
        """Return the context model, that for the assumed shapes if the model is dynamic."""
        first = prepared.first if isinstance(prepared, PreparedPerShapes) else prepared
        assert isinstance(first, PreparedHtp)
        return first.context

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> Prepared:
        return self._prepare_all(model, self._open(model, bytes(entry.content)))

    def list_targets(self) -> Sequence[str]:
        return list(CHIPS)

    def retarget(self, target: str) -> QualcommDriver:
        return QualcommDriver(CHIPS[target], self._release)

    def list_files(self, entry: bytes) -> Mapping[str, bytes]:
        """Return the context binary, and the context model, which has it inside, with ONNX Runtime's usual suffix."""
        return {".bin": read_binary(entry), "_ctx.onnx": entry}

    def _prepare_all(self, model: Model, first: PreparedHtp) -> Prepared:
        """Return ``first``; for a dynamic model, wrap it with the preparation for other shapes."""
        if all(model.operands[index].type.is_known for index in model.inputs):
            return first
        return PreparedPerShapes(model, partial(self._prepare_for, model), tuple(assume_shapes(model)), first)

    def _open(self, model: Model, context: bytes) -> PreparedHtp:
        from nnapi.drivers.qualcomm.compiler import open_context  # on demand: loads the engine

        return PreparedHtp(model, open_context(context, self._chip), context)

    def _prepare_for(self, model: Model, shapes: Shapes) -> PreparedHtp:
        lowered = _lower(model, shapes)
        need_supported(lowered.verdicts)
        compiled = self._compile(_write(lowered, {call.number for call in model.operations}))
        need(compiled.context, f"QNN cannot compile {model.name}: {compiled.failure}", OpFailedError)
        return self._open(model, compiled.context)

    def _find_refusals(self, lowered: HtpConversion, numbers: set[int]) -> dict[int, str]:
        """Return why operations are refused, by number: the compiler accepts all others in one graph."""
        refusals: dict[int, str] = {}
        while remaining := numbers - refusals.keys():
            found = self._ask(lowered, remaining)
            if not found:
                break
            refusals |= found
        return refusals

    def _ask(self, lowered: HtpConversion, numbers: Collection[int]) -> dict[int, str]:
        """Compile some operations as one graph; return the refused ones. The answers are recorded on disk."""
        content = _write(lowered, numbers)
        key = f"verdicts of {self.info.version}: {hashlib.sha256(content).hexdigest()}"
        known = recall_record(RecordKind.PROBES, key, lambda found: {int(k): str(v) for k, v in found.items()})
        if known is None:
            known = self._find_out(lowered, content, numbers)
            keep_record(RecordKind.PROBES, key, known, model=lowered.model.name, device=self.info.name)
        return known

    def _find_out(self, lowered: HtpConversion, content: bytes, numbers: Collection[int]) -> dict[int, str]:
        from nnapi.drivers.qualcomm.log import read_refusals

        compiled = self._compile(content)
        if compiled.context:
            return {}
        operators = [node for node in lowered.operators if node.origin is not None]
        results = {value.name: node.origin or 0 for node in operators for value in node.outputs if value.name}
        if found := {n: said for n, said in read_refusals(compiled.log, results).items() if n in numbers}:
            return found
        if len(numbers) == 1:
            is_left = LEFT in compiled.failure
            return dict.fromkeys(numbers, "QNN leaves it to the CPU" if is_left else f"QNN fails: {compiled.failure}")
        alone = [self._ask(lowered, {number}) for number in sorted(numbers)]
        found = {number: reason for answer in alone for number, reason in answer.items()}
        return found or dict.fromkeys(numbers, f"{TOGETHER}: {compiled.failure}")

    def _compile(self, content: bytes) -> CompiledContext:
        from nnapi.drivers.qualcomm.compiler import compile_onnx  # on demand: loads the engine

        if self._latest is not None and self._latest[0] == content:
            return self._latest[1]
        compiled = compile_onnx(content, self._chip)
        self._latest = content, compiled
        return compiled


def _lower(model: Model, shapes: Shapes | None = None) -> HtpConversion:
    from nnapi.drivers.qualcomm.lowering import HtpConversion  # on demand: only in the driver's process

    return HtpConversion(model, shapes).run()


def _write(lowered: HtpConversion, numbers: Collection[int]) -> bytes:
    from nnapi.exporters.onnx.writer import serialize

    content, data = serialize(lowered.make_graph(numbers), "", "", {})
    need(not data, "the constants have more than 2 GiB, which the compiler does not accept", OpFailedError)
    return content
