"""Compilations: a model made ready on devices (``ANeuralNetworksCompilation``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import PreferenceCode
from nnapi.drivers.base import Prepared, PrepareOptions, Request
from nnapi.errors import BadDataError, BadStateError, NnapiError, OpFailedError, UnexpectedNullError, need
from nnapi.model.model import Model
from nnapi.model.operand import Array, combine
from nnapi.runtime.device import Device, device
from nnapi.runtime.device import devices as all_devices
from nnapi.runtime.event import Event


class Compilation:
    """A model being made ready; once finished it may be shared by any number of threads.

    Without ``devices`` the runtime chooses (``ANeuralNetworksCompilation_create``), with them it keeps to the list
    (``ANeuralNetworksCompilation_createForDevices``). Raises BadStateError for a model that is not finished.
    """

    def __init__(self, model: Model, devices: Sequence[Device] | None = None) -> None:
        need(model is not None, "model is None", UnexpectedNullError)
        self.is_explicit = devices is not None
        candidates = all_devices() if devices is None else list(devices)
        need(candidates, "no devices are listed", BadDataError)
        need(all(device is not None for device in candidates), "a device is None", UnexpectedNullError)
        need(len({id(device) for device in candidates}) == len(candidates), "a device is listed twice", BadDataError)
        need(all(isinstance(device, Device) for device in candidates), "something listed is no Device", BadDataError)
        need(model.is_finished, f"{model!r} is not finished", BadStateError)
        self.model = model
        self._candidates = candidates
        self._preference = PreferenceCode.PREFER_FAST_SINGLE_ANSWER
        self._state = "preparing"
        self._device: Device | None = None
        self._prepared: Prepared | None = None

    def set_preference(self, preference: PreferenceCode) -> None:
        """Low power, fast single answer (the default) or sustained speed (``..._setPreference``)."""
        self._need_preparing("set the preference")
        need(
            preference in PreferenceCode.__members__.values(), f"preference is {preference}, must be 0..2", BadDataError
        )
        self._preference = PreferenceCode(preference)

    def finish(self) -> None:
        """Choose the device and prepare the model on it (``ANeuralNetworksCompilation_finish``).

        Raises BadDataError, with the reasons, when no device takes some operation. A failed finish is final.
        """
        self._need_preparing("finish")
        self._state = "failed"
        self._device = self._choose()
        try:
            self._prepared = self._device.driver.prepare(self.model, PrepareOptions(self._preference))
        except NnapiError:
            raise
        except Exception as error:
            raise OpFailedError(
                f"{self._device.name} failed to prepare the model: {type(error).__name__}: {error}"
            ) from error
        self._state = "ready"

    def _choose(self) -> Device:
        reasons = []
        for device in self._candidates:
            refused = [verdict.reason for verdict in device.driver.verdicts(self.model) if not verdict.supported]
            if not refused:
                return device
            reasons.append(f"{device.name}: {refused[0]}" + (f" (and {len(refused) - 1} more)" if refused[1:] else ""))
        raise BadDataError("no device takes the whole model; " + "; ".join(reasons))

    def run(self, *inputs: Any) -> list[Array]:
        """Run on arrays of the inputs' storage types; gives new arrays, in the order of ``model.outputs``.

        An input may be None where the model allows it to be omitted.
        """
        return list(self.prepared.execute(Request(checked_inputs(self.model, inputs))).outputs)

    def start(self, *inputs: Any) -> Result:
        """Run in the background; ``result()`` of what comes back waits for the arrays."""
        return Result(self, inputs)

    def burst(self) -> Burst:
        """An object for repeated runs in quick succession (``ANeuralNetworksBurst_create``)."""
        return Burst(self)

    @property
    def devices(self) -> list[Device]:
        """The devices that compute."""
        return [self._device] if self._device else []

    @property
    def prepared(self) -> Prepared:
        """The prepared model; BadStateError until finish has succeeded."""
        need(self._state == "ready", f"the compilation is {self._state}, not ready", BadStateError)
        assert self._prepared is not None
        return self._prepared

    def _need_preparing(self, what: str) -> None:
        need(self._state == "preparing", f"cannot {what}: the compilation is {self._state}", BadStateError)

    def __repr__(self) -> str:
        where = f" on {self._device.name}" if self._device else ""
        return f"<nnapi.Compilation of {self.model.name!r}{where}, {self._state}>"


class Burst:
    """Repeated runs of one compilation by one thread (``ANeuralNetworksBurst``)."""

    def __init__(self, compilation: Compilation) -> None:
        need(compilation is not None, "compilation is None", UnexpectedNullError)
        self.compilation = compilation
        self._prepared = compilation.prepared
        self._model = compilation.model

    def run(self, *inputs: Any) -> list[Array]:
        """As :meth:`Compilation.run`."""
        return list(self._prepared.execute(Request(checked_inputs(self._model, inputs))).outputs)

    def close(self) -> None:
        """Give the burst back (``ANeuralNetworksBurst_free``)."""

    def __enter__(self) -> Burst:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Result(Event):
    """An event that brings the outputs with it."""

    def __init__(self, compilation: Compilation, inputs: Sequence[Any]) -> None:
        checked_inputs(compilation.model, inputs)
        self._outputs: list[Array] = []
        super().__init__(lambda: self._outputs.extend(compilation.run(*inputs)))

    def result(self) -> list[Array]:
        """Wait for the outputs."""
        self.wait()
        return self._outputs


def checked_inputs(model: Model, inputs: Sequence[Any]) -> list[Array | None]:
    """The inputs as arrays of the storage types; BadDataError naming the one that does not fit."""
    need(
        len(inputs) == len(model.inputs),
        f"{model.name} takes {len(model.inputs)} inputs, got {len(inputs)}",
        BadDataError,
    )
    return [_checked_input(model, index, value) for index, value in zip(model.inputs, inputs, strict=True)]


def _checked_input(model: Model, index: int, value: Any) -> Array | None:
    if value is None:
        return None
    operand = model.operands[index]
    array = value if isinstance(value, np.ndarray) else np.asarray(value, operand.type.dtype)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    need(
        array.dtype == operand.type.dtype,
        f"{operand} stores {operand.type.dtype}, got an array of {array.dtype}",
        BadDataError,
    )
    if operand.type.is_scalar:
        need(array.size == 1, f"{operand} is a scalar, got {list(array.shape)}", BadDataError)
        return array.reshape(())
    fits = array.ndim > 0 and 0 not in array.shape and combine(operand.type.dimensions, array.shape) == array.shape
    need(fits, f"{operand} cannot take an array of shape {list(array.shape)}", BadDataError)
    return array


def compile(
    model: Model, devices: Sequence[Device | str] | None = None, preference: PreferenceCode | None = None
) -> Compilation:
    """Make a model ready: choose devices, prepare, finish.

    ``devices`` restricts the choice (names or Device objects); ``preference`` is PREFER_FAST_SINGLE_ANSWER unless given.
    """
    chosen = (
        None
        if devices is None
        else [
            device(d) if isinstance(d, str) else d
            for d in ([devices] if isinstance(devices, str | Device) else devices)
        ]
    )
    compilation = Compilation(model, chosen)
    if preference is not None:
        compilation.set_preference(preference)
    compilation.finish()
    return compilation
