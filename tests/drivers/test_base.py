"""The declared performance of drivers: literal, because applications compare devices by it."""

from nnapi.codes import OperandCode
from nnapi.drivers.base import ENGINE, Capabilities, Performance


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
