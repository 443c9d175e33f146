"""OCI archives: every digest is that of its content."""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from e2e.rig.images import BinaryImage, archive
from e2e.rig.paths import Cache


@pytest.fixture
def image(tmp_path: Path) -> BinaryImage:
    binary = tmp_path / "key" / "server"
    binary.parent.mkdir()
    binary.write_bytes(b"machine code")
    return BinaryImage("localhost/server:1", binary, "/usr/bin/server", "100:1000")


def _files(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        members = {member.name: tar.extractfile(member) for member in tar}
        return {name: file.read() for name, file in members.items() if file}


def _follow(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    content = files["blobs/" + descriptor["digest"].replace(":", "/")]
    assert hashlib.sha256(content).hexdigest() == descriptor["digest"].partition(":")[2]
    assert len(content) == descriptor["size"]
    return content


def test_an_archive_holds_one_layer_with_the_binary(tmp_path: Path, image: BinaryImage) -> None:
    files = _files(archive(Cache(tmp_path), image))
    (top,) = json.loads(files["index.json"])["manifests"]
    assert top["annotations"]["io.containerd.image.name"] == "localhost/server:1"
    manifest = json.loads(_follow(files, top))
    config = json.loads(_follow(files, manifest["config"]))
    (layer,) = manifest["layers"]
    assert config["rootfs"]["diff_ids"] == [layer["digest"]]
    assert len(config["history"]) == 1
    assert config["config"] == {"User": "100:1000", "Entrypoint": ["/usr/bin/server"]}
    with tarfile.open(fileobj=io.BytesIO(_follow(files, layer))) as tar:
        modes = {member.name: oct(member.mode) for member in tar}
        file = tar.extractfile("usr/bin/server")
        assert file is not None
        assert file.read() == b"machine code"
    assert modes == {"tmp": "0o1777", "usr": "0o755", "usr/bin": "0o755", "usr/bin/server": "0o755"}


def test_an_archive_is_written_once_per_name(tmp_path: Path, image: BinaryImage) -> None:
    cache = Cache(tmp_path)
    first = archive(cache, image)
    stamp = first.stat().st_mtime_ns
    assert archive(cache, image) == first
    assert first.stat().st_mtime_ns == stamp
    other = BinaryImage("localhost/server:2", image.binary, image.path, image.user)
    assert archive(cache, other) != first
    assert sorted(path.suffix for path in cache.images.iterdir()) == [".tar", ".tar"]
