"""Extension attributes of a compilation or an execution: bytes by name, defined by vendors, for drivers."""

from nnapi.drivers.base import Attribute
from nnapi.errors import BadDataError, need
from nnapi.model.extension import EXTENSIONS


def add_attribute(
    attributes: tuple[Attribute, ...], extension: str, code: int, data: bytes | None, owner: str
) -> tuple[Attribute, ...]:
    """Return the attributes of ``owner`` with a copy of the bytes (None for none), sorted by name and code.

    BadDataError for an attribute that was added already.
    """
    is_new = all(each[:2] != (extension, code) for each in attributes)
    need(is_new, f"{extension} {code} was added to {owner} already", BadDataError)
    EXTENSIONS.type(extension, code)  # called to register the prefix of the name
    return tuple(sorted((*attributes, (extension, code, bytes(data or b"")))))
