"""kubectl-bao for krew: the archive is the same each time, and the manifest names its hash."""

import hashlib
import io
import tarfile

import yaml

from release.cli_archive import PLATFORMS
from release.krew import Source, archive, manifest

SOURCE = Source("https://forge.example.com/o", "https://forge.example.com/o/releases/v0.1.0")


def test_the_archive_contains_program_and_license() -> None:
    packed = archive(b"program", b"license")
    assert packed == archive(b"program", b"license")
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        held = {member.name: (member.mode, tar.extractfile(member)) for member in tar.getmembers()}
        contents = {name: (mode, file and file.read()) for name, (mode, file) in held.items()}
    assert contents == {"LICENSE": (0o644, b"license"), "kubectl-bao": (0o755, b"program")}


def test_every_platform_has_its_archive_and_its_hash() -> None:
    archives = {platform: platform.encode() for platform in PLATFORMS}
    document = yaml.safe_load(manifest("0.1.0", SOURCE, archives))
    assert document["spec"]["version"] == "v0.1.0"
    assert len(document["spec"]["shortDescription"]) <= 50, "the index of krew takes no longer one"
    platforms = document["spec"]["platforms"]
    assert [platform["sha256"] for platform in platforms] == [
        hashlib.sha256(body).hexdigest() for body in archives.values()
    ]
    assert platforms[0]["selector"] == {"matchLabels": {"os": "linux", "arch": "amd64"}}
    assert platforms[0]["uri"] == f"{SOURCE.files}/kubectl-bao-linux-amd64.tar.gz"
