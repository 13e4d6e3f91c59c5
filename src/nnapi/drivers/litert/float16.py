"""XNNPACK in float16, through LiteRT's C API, as the interpreter has no option for it on x86."""

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from nnapi.drivers.litert.c_api import CompiledModel
from nnapi.errors import OpFailedError

FORCE_FP16 = 4
"""Flag of LiteRT's XNNPACK delegate: compute in float16. Operators without a float16 kernel stay in float32."""


def compile_in_float16(content: bytes, threads: int) -> CompiledModel:
    """Compile a graph with XNNPACK in float16; raise OpFailedError if LiteRT refuses it."""
    plain = Interpreter(
        model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )
    try:
        plain.allocate_tensors()  # before, the details are the file's
        sides = plain.get_input_details(), plain.get_output_details()
        ends = [[np.zeros(detail["shape"], detail["dtype"]) for detail in side] for side in sides]
        model = CompiledModel(content, ends, {b"xnnpack": b"num_threads = %d\nflags = %d\n" % (threads, FORCE_FP16)})
        model.invoke()  # some graphs fail only here, such as products with a constant
    except (RuntimeError, KeyError) as error:
        raise OpFailedError(f"LiteRT refuses the graph in float16: {error}") from None
    return model
