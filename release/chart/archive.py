"""The chart as `helm package` would write it, with the same bytes each time. Pure."""

import gzip
import io
import tarfile
from collections.abc import Mapping

NAME = "openbao-operator"


def archive(files: Mapping[str, str]) -> bytes:
    """Pack the files of a chart, by path below its folder; Chart.yaml first, as helm does."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as target:
        for path in sorted(files, key=lambda one: (one != "Chart.yaml", one)):
            content = files[path].encode()
            entry = tarfile.TarInfo(f"{NAME}/{path}")
            entry.size = len(content)
            entry.mode = 0o644
            target.addfile(entry, io.BytesIO(content))
    return gzip.compress(tar.getvalue(), mtime=0)
