"""Names and bones of key points."""

import pytest

from nnapi.vision.view import read_skeleton


@pytest.mark.parametrize(("name", "count"), [("coco", 17), ("body14", 14), ("hand", 21), ("body33", 33)])
def test_bones_connect_all_points_but_those_of_the_face(name: str, count: int) -> None:
    points, bones = read_skeleton(name)
    assert len(points) == len(set(points)) == count
    connected = {point for bone in bones for point in bone}
    assert connected <= set(range(count))
    assert all("eye" in points[number] for number in set(range(count)) - connected)
