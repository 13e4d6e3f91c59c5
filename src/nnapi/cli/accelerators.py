"""Accelerators that an application may use instead of NNAPI, and the operations that each of them refuses."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import nnapi
from nnapi.drivers.litert.quiet import hide_delegate_message
from nnapi.errors import NnapiError
from nnapi.model.model import Model
from nnapi.runtime.planning.grouping import group_by_owner
from nnapi.runtime.verdicts.verdicts import need_verdicts
from nnapi.store.temporary import temporary_folder


class DeviceAccelerator:
    """A device of this machine, a device simulated by a profile (.toml), or one of another NNAPI library."""

    def __init__(self, name: str) -> None:
        self.name, self._device = name, nnapi.device(name)

    def list_refusals(self, model: Model, parts: Sequence[Model]) -> list[str]:
        """Return the reason for each operation's refusal, "" if it is accepted; ``parts`` are models of one
        operation."""
        answers = need_verdicts(self._device.driver, model)
        return ["" if answer.supported else answer.reason or "refused without a reason" for answer in answers]

    def count_partitions(self, model: Model, refusals: Sequence[str]) -> int:
        """Return the number of partitions that the accelerator computes."""
        owners = {call.number: not refusal for call, refusal in zip(model.operations, refusals, strict=True)}
        return sum(bool(owner) for owner, _ in group_by_owner(model, owners))


class Xnnpack:
    """LiteRT's default delegate. It gives no reasons, so each operation is tried in a file of its own."""

    name = "LiteRT XNNPACK"

    def list_refusals(self, model: Model, parts: Sequence[Model]) -> list[str]:
        return list(map(self._find_refusal, parts))

    def count_partitions(self, model: Model, refusals: Sequence[str]) -> int:
        return self._list_operators(model).count("DELEGATE")

    def _find_refusal(self, part: Model) -> str:
        try:
            names = self._list_operators(part)
        except (NnapiError, ValueError, RuntimeError) as error:
            return str(error).splitlines()[0]
        return "" if "DELEGATE" in names else f"LiteRT computes {' and '.join(dict.fromkeys(names))} without XNNPACK"

    def _list_operators(self, model: Model) -> list[str]:
        """Return the names of the operators in LiteRT's graph; ``DELEGATE`` is a partition of XNNPACK."""
        from ai_edge_litert.interpreter import Interpreter

        with temporary_folder() as folder, hide_delegate_message():
            nnapi.export(model, path := Path(folder) / "model.tflite")
            interpreter = Interpreter(str(path), num_threads=1)
            interpreter.allocate_tensors()
            return [operator["op_name"] for operator in interpreter._get_ops_details()]


Accelerator: TypeAlias = DeviceAccelerator | Xnnpack
