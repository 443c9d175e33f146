"""The archive of the chart."""

import io
import tarfile

from release.chart.archive import archive


def test_the_archive_is_independent_of_the_order_of_files() -> None:
    files = {"values.yaml": "b", "Chart.yaml": "a", "templates/x.yaml": "c"}
    packed = archive(files)
    assert archive(dict(reversed(files.items()))) == packed
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        names = tar.getnames()
        assert {member.mtime for member in tar.getmembers()} == {0}
    assert names[0] == "openbao-operator/Chart.yaml"
    assert len(names) == 3
