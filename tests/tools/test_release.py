"""Refusals of `make release`."""

import json
import zipfile
from pathlib import Path

import pytest

from tools.environment import FailedError
from tools.release import add_bill, need_changes, read_version, without_local_files


def test_a_version_without_changes_is_refused() -> None:
    need_changes("1.2.0", "# Changelog\n\n## 1.2.0\n")
    with pytest.raises(FailedError, match=r"no section for 1\.3\.0"):
        need_changes("1.3.0", "# Changelog\n\n## 1.2.0\n")


def test_the_version_is_the_one_of_the_project() -> None:
    assert read_version().count(".") == 2


def test_a_bill_is_one_of_the_wheels_files(tmp_path: Path) -> None:
    wheel = tmp_path / "nnapi-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("nnapi.py", "x = 1\n")
        archive.writestr("nnapi-1.0.0.dist-info/RECORD", "nnapi.py,,\nnnapi-1.0.0.dist-info/RECORD,,\n")
    add_bill(wheel, b'{"bomFormat": "CycloneDX"}')
    name = "nnapi-1.0.0.dist-info/sboms/nnapi.cdx.json"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        assert archive.read("nnapi.py") == b"x = 1\n"
        assert archive.read(name) == b'{"bomFormat": "CycloneDX"}'
        record = archive.read("nnapi-1.0.0.dist-info/RECORD").decode().splitlines()
    digest = "P7l0kCIFUUpImbUcrmPMFJoqD94-4BrtSIvCQGhxqHc"
    assert record == [f"{name},sha256={digest},26", "nnapi.py,,", "nnapi-1.0.0.dist-info/RECORD,,"]


def test_a_bill_names_no_file_of_this_machine() -> None:
    page, file = (
        {"type": "website", "url": "https://example.org"},
        {"type": "distribution", "url": "file:///dist/a.whl"},
    )
    components = [{"name": "nnapi", "externalReferences": [file, page]}, {"name": "rich"}]
    found = json.loads(without_local_files(json.dumps({"components": components})))
    assert [each["externalReferences"] for each in found["components"]] == [[page], []]
