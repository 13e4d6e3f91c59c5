"""The first model of the NNAPI guide, call by call: (trained1 + x) * trained3 on tensors of 3×4 floats.

The trained values are in a file that is mapped into memory. The program builds the model, compiles it for the devices
of this machine, and runs it twice: once it waits for the result, once the model runs in the background and writes its
result to shared memory. Every method is named like its C function: `ANeuralNetworksModel_addOperand` is
`Model.add_operand`.
"""

import mmap
import sys
import tempfile
from pathlib import Path

import numpy as np

import nnapi

MATRIX = nnapi.tensor("float32", (3, 4))
ACTIVATION = nnapi.OperandType(nnapi.OperandCode.INT32)
SIZE = MATRIX.nbytes


def describe(trained: nnapi.Memory) -> nnapi.Model:
    """Build the model. Operand 0 is its input and 6 its output; 1 and 3 are trained values, 2 and 5 are activations
    (none), and 4 is the sum."""
    model = nnapi.Model("guide")
    for type in (MATRIX, MATRIX, ACTIVATION, MATRIX, MATRIX, ACTIVATION, MATRIX):
        model.add_operand(type)
    model.set_operand_value_from_memory(1, trained, offset=0, length=SIZE)
    model.set_operand_value_from_memory(3, trained, offset=SIZE, length=SIZE)
    model.set_operand_value(2, nnapi.FuseCode.FUSED_NONE)
    model.set_operand_value(5, nnapi.FuseCode.FUSED_NONE)
    model.add_operation(nnapi.OperationCode.ADD, [1, 0, 2], [4])
    model.add_operation(nnapi.OperationCode.MUL, [3, 4, 5], [6])
    model.identify_inputs_and_outputs([0], [6])
    model.finish()
    return model


def run_waiting(compilation: nnapi.Compilation, x: np.ndarray) -> np.ndarray:
    """Run with an array for the result, and wait for it."""
    y = np.empty((3, 4), np.float32)
    execution = nnapi.Execution(compilation)
    execution.set_input(0, x)
    execution.set_output(0, y)
    execution.compute()
    return y


def run_in_background(compilation: nnapi.Compilation, x: np.ndarray) -> np.ndarray:
    """Run in the background with a shared memory for the result, then wait for the event."""
    y = np.empty((3, 4), np.float32)
    execution = nnapi.Execution(compilation)
    execution.set_input(0, x)
    execution.set_output_from_memory(0, nnapi.Memory.from_array(y), offset=0, length=SIZE)
    with execution.start_compute() as event:
        event.wait()
    return y


def main() -> int:
    """Run in both ways, and compare with NumPy; return the exit code."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    added, factor = np.full((3, 4), 0.5, np.float32), np.linspace(1, 2, 12, dtype=np.float32).reshape(3, 4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trained.bin"
        path.write_bytes(added.tobytes() + factor.tobytes())
        with path.open("rb") as file:
            trained = nnapi.Memory.from_fd(2 * SIZE, mmap.PROT_READ, file.fileno())
        compilation = nnapi.Compilation(describe(trained))
        compilation.set_preference(nnapi.PreferenceCode.PREFER_LOW_POWER)
        compilation.finish()
        waiting, background = run_waiting(compilation, x), run_in_background(compilation, x)

    print(f"on {', '.join(device.name for device in compilation.devices)}:")
    print(waiting)
    right = (factor * (added + x) == waiting).all() and (waiting == background).all()
    print("both results equal NumPy's" if right else f"a result differs from NumPy's: {factor * (added + x)}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
