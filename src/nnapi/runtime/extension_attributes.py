"""Extension attributes of a compilation or execution: vendor-defined bytes for drivers, by name and code."""

from nnapi.contract.driver import Attribute
from nnapi.errors import BadDataError, need
from nnapi.model.extension import EXTENSIONS


def add_attribute(
    attributes: tuple[Attribute, ...], extension: str, code: int, data: bytes | None, owner: str
) -> tuple[Attribute, ...]:
    """Return ``attributes`` of ``owner`` with a copy of ``data``, sorted by extension and code.

    BadDataError for an attribute that was added already.
    """
    is_new = all(each[:2] != (extension, code) for each in attributes)
    need(is_new, f"{extension} {code} was added to {owner} already", BadDataError)
    EXTENSIONS.type(extension, code)  # registers the prefix of the extension
    return tuple(sorted((*attributes, (extension, code, bytes(data or b"")))))
