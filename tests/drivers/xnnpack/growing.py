"""Models of random operations, and how an engine is judged by them: operation by operation, beside the reference."""

import os
from typing import Any

import numpy as np

from nnapi import compile
from nnapi.codes import OperationCode
from nnapi.model.operand import ChannelQuantization, tensor
from nnapi.runtime.verdicts.submodel import make_submodel
from tests.drivers.xnnpack.engine_cases import Net, reference

GRAPHS = int(os.environ.get("NNAPI_GRAPHS", "60"))
"""How many are tried; NNAPI_GRAPHS=2000 takes a minute or two."""
SAME, VALID = 1, 2
SHAPE = (1, 6, 6, 4)
KINDS = ("float32", "uint8", "int8")


class Growing:
    """A model that grows by one random operation at a time on images of the same height and width."""

    def __init__(self, kind: Any, random: Any) -> None:
        self.kind, self.random, self.net = kind, random, Net()
        self.values = [self._with_type(self.net.input, self.type(SHAPE))]

    def type(self, shape: Any, scale: Any = None) -> Any:
        if self.kind == "float32":
            return tensor("float32", shape)
        zero_point = int(self.random.integers(100, 150)) - (128 if self.kind == "int8" else 0)
        return tensor(self.kind, shape, scale or float(self.random.choice([0.02, 0.04, 0.05])), zero_point)

    def _with_type(self, make: Any, type: Any) -> Any:
        return make(type), type

    def pick(self) -> Any:
        return self.values[self.random.integers(len(self.values))]

    def grow(self) -> None:
        steps = (
            self.convolve,
            self.convolve,
            self.each_channel,
            self.add,
            self.pool,
            self.clamp,
            self.join,
            self.squash,
        )
        steps[self.random.integers(len(steps))]()

    def call(self, code: Any, inputs: Any, type: Any) -> None:
        self.values.append((self.net.call(code, inputs, type), type))

    def _filter(self, shape: Any, channel: Any) -> Any:
        if self.kind == "float32":
            return self.net.constant(tensor("float32", shape), self.random.uniform(-0.3, 0.3, shape))
        if self.kind == "int8" or self.random.random() < 0.3:
            scales = tuple(self.random.uniform(0.002, 0.004, shape[channel]).astype(np.float32).tolist())
            type = tensor("quant8_symm_per_channel", shape, channel=ChannelQuantization(channel, scales))
            return self.net.constant(type, self.random.integers(-127, 128, shape))
        codes = self.random.normal(0, 40, shape).round() + 100
        return self.net.constant(tensor("uint8", shape, 0.003, 100), np.clip(codes, 0, 255))

    def _bias(self, filter: Any, input_type: Any, units: Any) -> Any:
        type = self.net.model.operands[filter].type
        if self.kind == "float32":
            return self.net.constant(tensor("float32", (units,)), self.random.uniform(-1, 1, units))
        scale = 0.0 if type.channel else float(np.float32(type.scale) * np.float32(input_type.scale))
        return self.net.constant(tensor("int32", (units,), scale), self.random.integers(-2000, 2000, units))

    def convolve(self) -> None:
        x, type = self.pick()
        units, size = int(self.random.choice([3, 8, 16, 17])), int(self.random.choice([1, 3]))
        filter = self._filter((units, size, size, type.shape[3]), 0)
        out = self.type((*type.shape[:3], units))
        tail = self.net.numbers(SAME, 1, 1, int(self.random.integers(0, 4)))
        self.call(OperationCode.CONV_2D, [x, filter, self._bias(filter, type, units), *tail], out)

    def each_channel(self) -> None:
        x, type = self.pick()
        filter = self._filter((1, 3, 3, type.shape[3]), 3)
        tail = self.net.numbers(SAME, 1, 1, 1, 3)
        inputs = [x, filter, self._bias(filter, type, type.shape[3]), *tail]
        self.call(OperationCode.DEPTHWISE_CONV_2D, inputs, self.type(type.shape))

    def add(self) -> None:
        x, type = self.pick()
        others = [(y, other) for y, other in self.values if other.shape == type.shape]
        y, _ = others[self.random.integers(len(others))]
        code = OperationCode.ADD if self.random.random() < 0.7 else OperationCode.SUB
        self.call(code, [x, y, *self.net.numbers(int(self.random.integers(0, 4)))], self.type(type.shape))

    def pool(self) -> None:
        x, type = self.pick()
        code = OperationCode.MAX_POOL_2D if self.random.random() < 0.5 else OperationCode.AVERAGE_POOL_2D
        self.call(code, [x, *self.net.numbers(SAME, 1, 1, 3, 3, 0)], type)

    def clamp(self) -> None:
        x, type = self.pick()
        self.call(OperationCode.RELU, [x], type)

    def join(self) -> None:
        (x, type), (y, other) = self.pick(), self.pick()
        depth = type.shape[3] + other.shape[3]
        if depth <= 40:
            self.call(OperationCode.CONCATENATION, [x, y, *self.net.numbers(3)], self.type((*type.shape[:3], depth)))

    def squash(self) -> None:
        x, type = self.pick()
        fixed = {"float32": (0, 0), "uint8": (1 / 256, 0), "int8": (1 / 256, -128)}[self.kind]
        self.call(OperationCode.LOGISTIC, [x], tensor(self.kind, type.shape, *fixed))

    def finished(self) -> Any:
        """The model; every result on the way is an output as well, so that operations can be judged one by one."""
        return self.net.finished(*(index for index, _ in self.values[1:]))


def judge(device: Any, kind: str, count: int, seed: int) -> None:
    """Assert that each operation of a random model, given what the device made before it, is as the reference's."""
    random = np.random.default_rng(seed)
    growing = Growing(kind, random)
    while len(growing.values) <= count:
        growing.grow()
    model = growing.finished()
    type = model.operands[model.inputs[0]].type
    if kind == "float32":
        given = random.uniform(-2, 2, SHAPE).astype(np.float32)
    else:
        limits = np.iinfo(type.dtype)
        given = random.integers(limits.min, limits.max, SHAPE, type.dtype, endpoint=True)
    made = dict(zip(model.outputs, compile(model, [device]).run(given), strict=True)) | {model.inputs[0]: given}
    for call in model.operations:
        part, inputs, outputs = make_submodel(model, [call])
        expected = compile(part, [reference()]).run(*(made[index] for index in inputs))
        for index, theirs in zip(outputs, expected, strict=True):
            if kind == "float32":
                np.testing.assert_allclose(made[index], theirs, rtol=1e-4, atol=1e-4, err_msg=str(call))
            else:
                assert np.abs(made[index].astype(int) - theirs).max() <= 1, call
