"""The driver of a device behind a delegate, with the lowering for LiteRT."""

import hashlib
import os
from collections.abc import Sequence

from nnapi.codes import DeviceTypeCode
from nnapi.drivers.base import ENGINE, Capabilities, DeviceInfo, PrepareOptions, Verdict
from nnapi.drivers.delegate.plugin import Plugin
from nnapi.drivers.delegate.prepared import PreparedDelegated
from nnapi.drivers.delegate.probing import judge, rewrite
from nnapi.drivers.installed_packages import version
from nnapi.drivers.litert.artifact import Compiled
from nnapi.drivers.litert.compile import compile_graph
from nnapi.drivers.litert.driver import GraphDriver
from nnapi.drivers.prepared import Shapes
from nnapi.formats.tflite.graph import Graph
from nnapi.model.model import Model

Options = tuple[tuple[str, str], ...]


class DelegateDriver(GraphDriver[PreparedDelegated]):
    """Supports the operations that the delegate claims: LiteRT itself computes nothing."""

    def __init__(self, name: str, library: str, options: Options, type: DeviceTypeCode) -> None:
        self._plugin = Plugin(library, dict(options))
        self.info = DeviceInfo(name, describe_version(library, options), type, 8)

    def capabilities(self) -> Capabilities:
        return ENGINE

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return judge(self._plugin, model, self.lower(model))

    def compile(self, model: Model, graph: Graph, assumed: Shapes, options: PrepareOptions) -> Compiled:
        return compile_graph(model, rewrite(graph), assumed)

    def open_graph(self, model: Model, options: PrepareOptions, compiled: Compiled) -> PreparedDelegated:
        return PreparedDelegated(self._plugin, compiled)


def describe_version(library: str, options: Options) -> str:
    """Return the version of a delegate, for which cached facts of the device are valid."""
    digest = hashlib.sha256(repr(options).encode())
    with open(library, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return f"{os.path.basename(library)} {digest.hexdigest()[:12]}, LiteRT {version('ai-edge-litert')}"
