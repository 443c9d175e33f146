"""The archive of the chart in the format of `helm package`, reproducible. Pure."""

from collections.abc import Mapping

from release.tarball import tarball

NAME = "openbao-operator"


def archive(files: Mapping[str, str]) -> bytes:
    """Pack the files of a chart, by path in its folder; Chart.yaml first, like helm."""
    paths = sorted(files, key=lambda path: (path != "Chart.yaml", path))
    return tarball((f"{NAME}/{path}", files[path].encode(), 0o644) for path in paths)
