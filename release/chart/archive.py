"""The chart as `helm package` would write it, with the same bytes each time. Pure."""

from collections.abc import Mapping

from release.tarball import tarball

NAME = "openbao-operator"


def archive(files: Mapping[str, str]) -> bytes:
    """Pack the files of a chart, by path below its folder; Chart.yaml first, as helm does."""
    paths = sorted(files, key=lambda one: (one != "Chart.yaml", one))
    return tarball((f"{NAME}/{path}", files[path].encode(), 0o644) for path in paths)
