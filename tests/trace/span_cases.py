"""A recording."""

import threading
import time

from nnapi.trace.labels import Layer, Phase
from nnapi.trace.recorder import Span
from nnapi.trace.spans import begin_async_section, end_async_section, recording, section, span

FUNCTION = "[NN_LR_PE]ANeuralNetworksExecution_compute"


def recorded() -> list[Span]:
    """Two runs on two threads, with operations, a section of somebody else's and an asynchronous one."""

    def work() -> None:
        with section("[NN_LA_PE]x"), section("draw <!-- <script> </script>\nmore"), section(FUNCTION):
            for number in range(3):
                with span(Layer.CPU, Phase.COMPUTATION, "ADD", operation=number, outputs=[f"sum {number}"]):
                    time.sleep(0.002)

    with recording() as recorder:
        for number in range(2):
            with section(f"[NN_LA_PO]run {number}"):
                begin_async_section("[NN_LR_PE]flight", number)
                work()
                thread = threading.Thread(target=work, name="a worker with a long | name")
                thread.start()
                thread.join()
                end_async_section("[NN_LR_PE]flight", number)
    return recorder.spans()
