"""The permissions of a model: lower precision, dynamic range, rounded states, high ranks, empty tensors."""

from typing import Protocol

from nnapi.model.lifecycle import State
from nnapi.model.precision import Precision


class Permitted(Protocol):
    precision: Precision
    dynamic_range: bool
    rounded_states: bool
    high_ranks: bool
    empty_tensors: bool


class Permissions:
    """The permissions of a model. They change only while it is built."""

    state: State

    def __init__(self) -> None:
        super().__init__()
        self.precision = Precision.FLOAT32
        self.dynamic_range = False
        self.rounded_states = False
        self.high_ranks = False
        self.empty_tensors = False

    def permit_as(self, other: Permitted) -> None:
        """Permit what another model permits."""
        self.permit_precision(other.precision)
        self.permit_dynamic_range(other.dynamic_range)
        self.permit_rounded_states(other.rounded_states)
        self.permit_high_ranks(other.high_ranks)
        self.permit_empty_tensors(other.empty_tensors)

    def relax_computation_float32_to_float16(self, allow: bool) -> None:
        """Permit float32 to be computed as float16 (``..._relaxComputationFloat32toFloat16``); devices need not."""
        self.state.need("building", to="change precision")
        self.precision = Precision.FLOAT16 if allow else Precision.FLOAT32

    def permit_precision(self, precision: Precision) -> None:
        """Permit float32 to be computed in this precision. The C API lacks bfloat16."""
        self.state.need("building", to="change precision")
        self.precision = precision

    def permit_dynamic_range(self, allow: bool) -> None:
        """Permit devices to compute with the quantized values of constant weights behind DEQUANTIZE.

        Each run then quantizes these operations' inputs, as TensorFlow Lite does for dynamic-range models;
        :data:`DYNAMIC_RANGE` describes the effect on results. The C API has no counterpart.
        """
        self.state.need("building", to="change precision")
        self.dynamic_range = bool(allow)

    def permit_rounded_states(self, allow: bool) -> None:
        """Permit devices to compute quantized recurrent cells in floats and to round only the states.

        States may then be off by more than one quantization step. Permit this if states are only passed to the next
        run, like variables in TensorFlow Lite. The C API has no counterpart.
        """
        self.state.need("building", to="change precision")
        self.rounded_states = bool(allow)

    def permit_high_ranks(self, allow: bool) -> None:
        """Permit operations on tensors of rank 5 and 6 where their declarations have them, from this call on.

        Devices of other vendors, exports and recordings refuse them. The C API has no counterpart.
        """
        self.state.need("building", to="change the ranks")
        self.high_ranks = bool(allow)

    def permit_empty_tensors(self, allow: bool) -> None:
        """Permit tensors without elements, as files have them; most of NNAPI's operations refuse them."""
        self.state.need("building", to="permit empty tensors")
        self.empty_tensors = bool(allow)
