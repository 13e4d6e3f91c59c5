"""A driver that computes Fibonacci numbers, with an operand type that NNAPI does not have.

docs/writing-a-driver.md explains it.
"""

import numpy as np

import nnapi
from nnapi import DeviceTypeCode
from nnapi.drivers.base import Capabilities, DeviceInfo, Extension, ExtensionType, Outcome, Verdict
from nnapi.errors import need

NAME = "com.example.fibonacci"
INT64 = 0  # an operand type of the extension: a tensor of 64-bit integers
FIBONACCI = 0  # an operation of the extension: from a count (TENSOR_INT32 [1]) to the first Fibonacci numbers


class FibonacciDriver:
    info = DeviceInfo(
        name="fibonacci",
        version="1.0",
        type=DeviceTypeCode.DEVICE_ACCELERATOR,
        feature_level=8,
        extensions=(Extension(NAME, {INT64: ExtensionType(byte_size=8)}),),
    )

    def capabilities(self):
        return Capabilities()

    def verdicts(self, model):
        return [self.verdict(model, call) for call in model.operations]

    def verdict(self, model, call):
        if call.code != model.extension_operation_type(NAME, FIBONACCI):
            return Verdict(False, f"{call}: the device computes Fibonacci numbers only")
        count = model.operands[call.inputs[0]].type
        if count != nnapi.tensor("int32", (1,)):
            return Verdict(False, f"{call}: the count is {count}, must be TENSOR_INT32[1]")
        return Verdict(True)

    def prepare(self, model, options):
        return PreparedFibonacci(model)


class PreparedFibonacci:
    def __init__(self, model):
        self.model = model

    def execute(self, request):
        values = {operand.index: operand.value for operand in self.model.operands}  # the constants
        values.update(zip(self.model.inputs, request.inputs, strict=True))
        for call in self.model.operations:
            count = int(values[call.inputs[0]][0])
            need(0 < count < 93, f"{call}: {count} numbers do not fit into 64 bits")
            type = self.model.operands[call.outputs[0]].type
            values[call.outputs[0]] = fibonacci(count).view(type.dtype)
        return Outcome([values[index] for index in self.model.outputs])

    def close(self):
        pass


def fibonacci(count):
    numbers = np.ones(count, np.int64)
    for i in range(2, count):
        numbers[i] = numbers[i - 1] + numbers[i - 2]
    return numbers


device = nnapi.Device(FibonacciDriver())
model = nnapi.Model("fibonacci")
count = model.add_operand(nnapi.tensor("int32", (1,)), "count")
int64 = model.extension_operand_type(NAME, INT64)
numbers = model.add_operand(nnapi.OperandType(int64, (0,)), "numbers")
model.add_operation(model.extension_operation_type(NAME, FIBONACCI), [count], [numbers])
model.identify_inputs_and_outputs([count], [numbers])
model.finish()

compilation = nnapi.compile(model, [*nnapi.devices(), device])
(result,) = compilation.run(np.array([10], np.int32))
print(compilation.explain(), result.view(np.int64), sep="\n")
