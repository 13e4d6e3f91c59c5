"""The contract between the runtime and drivers.

Ownership: a model passed to a driver is frozen and outlives everything made from it; its constants are read-only views
that must not be copied without need. Arrays in a Request belong to the caller and are only valid during the call.
Arrays in an Outcome belong to the runtime from then on and must share no memory with the inputs.

Threading: every method may be called from any thread, several at a time. All state of a run is local to the call.

Failure: raise the exception of :mod:`nnapi.errors` whose code the C API would return, with a message. Any other
exception is reported as OP_FAILED. A refusal to support an operation is not a failure but a Verdict with a reason.

Deadlines: a Request or PrepareOptions may have a deadline (``time.monotonic_ns``). Check it at least between operations
and raise MissedDeadlineTransientError once it has passed. If it has passed before the start, raise
MissedDeadlinePersistentError.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from nnapi.codes import DeviceTypeCode, OperandCode, PreferenceCode, PriorityCode
from nnapi.errors import DeadObjectError, MissedDeadlineTransientError
from nnapi.model.extension import COMPOSITE_OPERATIONS as COMPOSITE_OPERATIONS
from nnapi.model.extension import Extension as Extension
from nnapi.model.extension import ExtensionType as ExtensionType
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape

if TYPE_CHECKING:
    from nnapi.contract.precision import Offer
    from nnapi.contract.workload import Work

DEFAULT_LOOP_TIMEOUT, MAXIMUM_LOOP_TIMEOUT = 2_000_000_000, 15_000_000_000
"""Maximum nanoseconds for a WHILE, unless the execution sets another limit, and the maximum of that. Runs that cannot
set one have the second limit: the loops of files may be long."""


class DeviceInfo(NamedTuple):
    """The identity of a device. If devices declare the same extension differently, it is disabled for all of them."""

    name: str
    version: str
    type: DeviceTypeCode
    feature_level: int
    extensions: tuple[Extension, ...] = ()


class Performance(NamedTuple):
    """Declared costs relative to the CPU reference, which has 1; lower is better."""

    exec_time: float = 1.0
    power_usage: float = 1.0


REFERENCE = Performance()


class Capabilities(NamedTuple):
    """Declared performance; passing a tensor takes ``launch_seconds``, copying takes ``seconds_per_byte``."""

    default: Performance = REFERENCE
    by_type: Mapping[int, Performance] = {}  # never changed, so a shared default is safe
    relaxed: Performance = REFERENCE
    if_: Performance = REFERENCE
    while_: Performance = REFERENCE
    launch_seconds: float = 2e-6
    seconds_per_byte: float = 1e-10


FAST, FAST_CODES = Performance(0.02, 0.02), Performance(0.01, 0.01)
ENGINE = Capabilities(
    FAST,
    {OperandCode.TENSOR_QUANT8_ASYMM: FAST_CODES, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED: FAST_CODES},
    relaxed=FAST,
)
"""Capabilities of CPU engines: estimated costs relative to the reference."""


class LoopTimeoutError(MissedDeadlineTransientError):
    """A WHILE ran longer than its limit. The run is not repeated on another device."""


class DriverDiedError(DeadObjectError):
    """A driver's process has ended: ``by_itself`` unless nnapi ended it; ``was_alone`` if it served one request
    only."""

    by_itself = False
    was_alone = False


class Verdict(NamedTuple):
    """Whether a device supports an operation; ``reason`` says why not, or else how, such as in how many cycles.

    ``parts`` is the work of a decomposition, if any.
    """

    supported: bool
    reason: str = ""
    parts: tuple[Work, ...] = ()


Attribute = tuple[str, int, bytes]
"""An extension attribute for drivers: the extension's name, the attribute's code, and its bytes."""


class PrepareOptions(NamedTuple):
    """Options of a preparation. ``deadline`` is in nanoseconds of ``time.monotonic_ns``; ``attributes`` are sorted.

    ``threads`` is the maximum number of threads per run; if None, the driver chooses it by the preference. ``variant``
    is one of :meth:`Variants.list_variants`, empty for the default.
    """

    preference: PreferenceCode = PreferenceCode.PREFER_FAST_SINGLE_ANSWER
    priority: PriorityCode = PriorityCode.PRIORITY_MEDIUM
    deadline: int | None = None
    threads: int | None = None
    attributes: tuple[Attribute, ...] = ()
    variant: str = ""


class Request(NamedTuple):
    """One run. ``inputs`` has an array of the storage type for each model input, None if omitted.

    ``borrow`` is for :mod:`.earlier_forms` only, and as in :class:`OpenOptions`.
    """

    inputs: Sequence[Array | None]
    deadline: int | None = None
    loop_timeout: int = MAXIMUM_LOOP_TIMEOUT
    borrow: bool = False
    attributes: tuple[Attribute, ...] = ()


class Outcome(NamedTuple):
    """The result of a run: one array per model output, and durations in nanoseconds, None if not measured.

    ``hardware_ns`` is the time inside the engine's call, ``driver_ns`` that of the whole run in the driver. If a driver
    in this process gives no ``driver_ns``, the runtime measures it.
    """

    outputs: Sequence[Array]
    hardware_ns: int | None = None
    driver_ns: int | None = None


@runtime_checkable
class Prepared(Protocol):
    """A model prepared on a device."""

    def execute(self, request: Request) -> Outcome:
        """Run, and return the outputs with their actual shapes."""
        ...

    def close(self) -> None:
        """Release the device's resources; ``execute`` is not called again."""
        ...


Inference: TypeAlias = Callable[[Sequence[Array]], list[Array]]
"""A run without a :class:`Request`: takes an array per input, returns an array per output."""


class OpenOptions(NamedTuple):
    """Options of a handle.

    ``shapes`` are those of the inputs of :attr:`Handle.call`, None if they are unknown. An ``exclusive`` handle is used
    by one run at a time and may have resources of its own. With ``borrow``, its results may be views of the device's
    memory, valid until its next run. ``bind`` asks for :attr:`Handle.inputs` and implies ``borrow``. ``measure`` asks
    for durations in the outcomes of :attr:`Handle.execute`.
    """

    shapes: Sequence[Shape] | None = None
    exclusive: bool = False
    borrow: bool = False
    bind: bool = False
    measure: bool = False


class Handle(NamedTuple):
    """A prepared model that is opened once and run many times, by any number of threads unless it is exclusive."""

    execute: Callable[[Request], Outcome]
    """Run on any inputs; see :meth:`Prepared.execute`."""
    reopen: Callable[[OpenOptions], Handle]
    """Return a handle with other options. It uses the resources of this one, and is closed with it."""
    call: Inference | None = None
    """The fast path: run on arrays of the opened shapes in their storage types, none omitted; None if there is none.
    It has no time limit and no trace. After any error the caller repeats the run by ``execute``, which raises the error
    again. If it returns the same list again, the list holds the same arrays."""
    inputs: list[Array] | None = None
    """Memory for the inputs, which callers write to. ``call`` then takes exactly this list and saves a copy."""
    close: Callable[[], None] = lambda: None
    """Release the handle's resources. The prepared model stays open."""


@runtime_checkable
class Opens(Protocol):
    """A Prepared with a fast path, or with resources for one caller's runs."""

    def open_handle(self, options: OpenOptions) -> Handle:
        """Return a handle. A device that lacks a feature ignores its option."""
        ...


class Bound(NamedTuple):
    """Memory for inputs, and a function that runs on it. Results are valid until the next run."""

    inputs: list[Array]
    run: Callable[[], list[Array]]


@runtime_checkable
class Buffer(Protocol):
    """A device's memory for the value of one operand."""

    @property
    def has_data(self) -> bool: ...

    def load(self) -> Array:
        """Return the value as an array that must not be written to."""
        ...

    def store(self, array: Array) -> None: ...

    def clear(self) -> None: ...


@runtime_checkable
class Allocates(Protocol):
    """A driver that allocates its own memory."""

    def allocate(self, type: OperandType) -> Buffer:
        """Return a buffer for values of a type; OpFailedError if that is impossible, as for unknown dimensions."""
        ...


class CacheEntry(NamedTuple):
    """Bytes that :meth:`Caches.cache_entry` returned; ``file`` is the mapped file that begins with them, or None."""

    content: bytes | memoryview
    file: Memory | None = None


@runtime_checkable
class Caches(Protocol):
    """A driver whose prepared models can be cached in a file."""

    def cache_entry(self, prepared: Prepared) -> bytes | None:
        """Return the bytes from which :meth:`restore` makes ``prepared`` again; None if caching would save no time."""
        ...

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> Prepared:
        """Return a prepared model from a cache entry, without calling ``prepare``."""
        ...


@runtime_checkable
class Breakable(Protocol):
    """A driver whose engine may be unusable in one process, but usable in others."""

    def outage(self) -> str:
        """Return why the engine cannot be used in this process; empty if it can."""
        ...


@runtime_checkable
class Threaded(Protocol):
    """A driver that may be unable to limit the threads of a run."""

    def find_thread_fault(self) -> str:
        """Return why runs may take more threads than :class:`PrepareOptions` says; empty if they do not."""
        ...


@runtime_checkable
class Variants(Protocol):
    """A driver with several variants of a model, of which the fastest depends on the processor."""

    def list_variants(self, model: Model) -> Sequence[str]:
        """Return the names of a model's other variants that the driver supports as a whole; the default has none."""
        ...

    def predict_variant(self, model: Model) -> str:
        """Return the variant predicted to be fastest on this processor; empty for the default."""
        ...


@runtime_checkable
class Predicts(Protocol):
    """A driver that predicts how much time some of its variants save."""

    def predict_savings(self, model: Model) -> Mapping[str, float]:
        """Return the seconds that variants save on one thread, by name. The call takes little time."""
        ...


@runtime_checkable
class Precise(Protocol):
    """A driver that may compute float32 in the lower precision that a model permits."""

    def offer_precision(self, model: Model) -> Offer:
        """Return the precision of the default variant, and of another variant, if any. The call takes little time."""
        ...


@runtime_checkable
class TakesDynamic(Protocol):
    """A driver whose engine takes dynamic dimensions as they are."""

    def prepare_dynamic(self, model: Model, options: PrepareOptions) -> Prepared:
        """Prepare a model whose dimensions are sizes (:mod:`nnapi.shapes`) once; raise OpFailedError with the reason if
        that is impossible. Sizes that are compared or converted record guards, which all inputs keep."""
        ...


@runtime_checkable
class Exact(Protocol):
    """A Prepared that may compute in float32, because the engine refused the precision that the driver offered."""

    @property
    def precision_refusal(self) -> str:
        """Why the engine refused the precision; empty if it did not."""
        ...


@runtime_checkable
class Probed(Protocol):
    """An entry point that searches for hardware. The search is slow, so the runtime caches its answer."""

    def identify(self) -> str:
        """Return a key of everything that the answer depends on; raise if hardware cannot exist. Takes little time."""
        ...

    def ask(self) -> Any:
        """Search; return the answer as JSON values. UnavailableDeviceError, with the reason, without usable
        hardware."""
        ...

    def make(self, answer: Any) -> Driver: ...


@runtime_checkable
class DescribedDevices(Protocol):
    """An entry point whose name is the suffix of files that describe devices, such as ``.toml``."""

    def find(self, name: str) -> str:
        """Return the path of a file, the same for all names of the file; raise BadDataError if there is none."""
        ...

    def make(self, path: str, names: Collection[str], find_driver: Callable[[str], Driver]) -> Driver:
        """Return the device that a file describes; raise BadDataError if it is invalid, or has one of the ``names`` of
        this machine's devices. ``find_driver`` returns the driver of such a device, or raises
        UnavailableDeviceError."""
        ...


@runtime_checkable
class Driver(Protocol):
    """A device and the code that uses it, found through the entry-point group ``nnapi.drivers``."""

    @property
    def info(self) -> DeviceInfo: ...

    def capabilities(self) -> Capabilities: ...

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        """Return one verdict per operation of a finished model, in the model's order."""
        ...

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared: ...
