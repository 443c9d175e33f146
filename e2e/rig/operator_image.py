"""Builds the operator image from the Dockerfile of the release, without a registry.

What rarely changes is built once and cached: the Debian base, the dependencies at their locked
hashes, and the layers of the builder. After a code change, only the code is copied, compiled and
loaded. The image builder writes only below the cache folder.
"""

import hashlib
import io
import platform
import shutil
import sys
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from e2e.rig import images, network
from e2e.rig.commands import require_root, run_long
from e2e.rig.layout import Layout
from e2e.rig.locks import hold_lock
from e2e.rig.packages import IMAGE, ensure
from e2e.rig.paths import REPOSITORY, Cache, write_atomically
from e2e.rig.progress import Progress
from e2e.rig.versions import BASE_IMAGE, BASE_PACKAGES, BASE_PYTHON, BASE_SUITE, OPERATOR_IMAGE

_DOCKERFILE = REPOSITORY / "Dockerfile"
_REQUIREMENTS = REPOSITORY / "requirements" / "image.txt"
_CODE = ("runtime", "contracts", "managers", "baoctl", "release/minimal_root.py")
# Cache of the builder about blobs; the path is compiled in.
_BUILDER_STATE = Path("/var/lib/containers")
_UNUSED = ("man", "locale", "doc", "info")


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _code_files() -> list[Path]:
    parts = [REPOSITORY / name for name in _CODE]
    files = (path for part in parts for path in (part, *sorted(part.rglob("*"))))
    return [path for path in files if path.is_file() and "__pycache__" not in path.parts]


def code_key() -> str:
    """Return a digest of the paths and contents that are copied into the image."""
    parts = [_DOCKERFILE.read_bytes()]
    for path in _code_files():
        parts += [str(path.relative_to(REPOSITORY)).encode(), path.read_bytes()]
    return _digest(*parts)


@dataclass(frozen=True, slots=True)
class Workshop:
    """The folder of one base and one set of dependencies."""

    root: Path

    @property
    def site(self) -> Path:
        """The installed dependencies."""
        return self.dependencies / "app" / "site"

    @property
    def dependencies(self) -> Path:
        """The context that replaces the first stage, which needs pip and a network."""
        return self.root / "dependencies"

    @property
    def context(self) -> Path:
        """The build context: the code."""
        return self.root / "context"

    @property
    def layout(self) -> Path:
        """The built image as an OCI layout folder."""
        return self.root / "oci"

    @property
    def build_file(self) -> Path:
        """The file with the key of the last build."""
        return self.root / "built"

    def buildah(self, *argv: str) -> list[str]:
        """Return a builder command whose storage is this folder."""
        places = ["--root", f"{self.root}/storage", "--runroot", f"{self.root}/run"]
        return ["buildah", *places, "--storage-driver", "overlay", *argv]


def build(cache: Cache, progress: Progress) -> Path:
    """Build what is outdated and return the OCI layout folder. Raises RigError."""
    require_root("building the operator image")
    ensure(IMAGE, progress)
    with hold_lock(cache.locks / "operator-image.lock", progress, "the operator image"):
        base_key = _digest(BASE_SUITE.encode(), *(name.encode() for name in BASE_PACKAGES), b"1")
        key = _digest(base_key.encode(), _REQUIREMENTS.read_bytes())
        shop = Workshop(cache.images / f"operator-{key}")
        for old in cache.images.glob("operator-*"):
            if old != shop.root:
                _clear(old)
                shutil.rmtree(old)
        shop.context.mkdir(parents=True, exist_ok=True)
        base = _base(cache.images / f"base-{base_key}.tar", progress)
        _dependencies(shop, progress)
        digest = code_key()
        if not shop.build_file.exists() or shop.build_file.read_text() != digest:
            _assemble(shop, base, progress)
            write_atomically(shop.build_file, digest)
    return shop.layout


def _base(target: Path, progress: Progress) -> Path:
    if not target.exists():
        fresh = target.with_name(f".{target.name}")
        leave_out = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _UNUSED]
        include = f"--include={','.join(BASE_PACKAGES)}"
        quiet = ["--quiet", "--variant=essential", "--format=tar", include, *leave_out]
        argv = ["mmdebstrap", *quiet, BASE_SUITE, str(fresh)]
        run_long("creating the base of the operator image", argv, progress)
        fresh.replace(target)
    return target


def _dependencies(shop: Workshop, progress: Progress) -> None:
    if shop.site.exists():
        return
    fresh = shop.root / ".site"
    shutil.rmtree(fresh, ignore_errors=True)
    wheels = ["--require-hashes", "--no-deps", "--only-binary=:all:", "--no-compile"]
    argv = [sys.executable, "-m", "pip", "install", "--quiet", *wheels, *_platform()]
    argv += ["--target", str(fresh), "--requirement", str(_REQUIREMENTS)]
    run_long("installing the operator's dependencies", argv, progress)
    shop.site.parent.mkdir(parents=True, exist_ok=True)
    fresh.rename(shop.site)


def _platform() -> list[str]:
    """Return the pip options for the Python of the base image, if it differs from ours."""
    if sys.version_info[:2] == BASE_PYTHON:
        return []
    version = "".join(str(part) for part in BASE_PYTHON)
    # Any glibc up to the version of the base.
    tags = [f"manylinux_2_{minor}_{platform.machine()}" for minor in range(17, 37)]
    tags.append(f"manylinux2014_{platform.machine()}")
    chosen = ["--implementation", "cp", "--python-version", version, "--abi", f"cp{version}"]
    return [*chosen, "--abi", "abi3", "--abi", "none", *(f"--platform={tag}" for tag in tags)]


def _assemble(shop: Workshop, base: Path, progress: Progress) -> None:
    shutil.rmtree(shop.context)
    for path in _code_files():
        target = shop.context / path.relative_to(REPOSITORY)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    foreign = _BUILDER_STATE.exists()
    temporary = shop.root / "tmp"
    temporary.mkdir(exist_ok=True)
    quiet = {"TMPDIR": str(temporary)}
    try:
        marker = shop.root / "base-imported"
        if not marker.exists():
            archive = _base_archive(base, temporary / "base.oci.tar")
            argv = shop.buildah("pull", "--quiet", f"oci-archive:{archive}")
            run_long("importing the base", argv, progress, environment=quiet)
            archive.unlink()
            marker.touch()
        options = ["--isolation", "chroot", "--network", "host", "--pull-never", "--layers"]
        base_image = ["--build-arg", f"BASE={BASE_IMAGE}"]
        base_image += ["--build-context", f"dependencies={shop.dependencies}"]
        tag = ["--tag", f"oci:{shop.layout}:{OPERATOR_IMAGE}", "--file", str(_DOCKERFILE)]
        argv = shop.buildah("build", *options, *base_image, *tag, str(shop.context))
        run_long("building the operator image", argv, progress, environment=quiet)
        _forget_old(shop.layout)
    finally:
        _clear(shop.root)
        if not foreign:
            shutil.rmtree(_BUILDER_STATE, ignore_errors=True)


def _base_archive(base: Path, target: Path) -> Path:
    config = {"architecture": images.architecture(), "os": "linux", "config": {}}
    target.write_bytes(images.oci_archive(BASE_IMAGE, base.read_bytes(), config))
    return target


def _clear(folder: Path) -> None:
    for mount in network.mounts_below(folder):
        network.unmount(mount)


def _reachable(layout: Path) -> tuple[dict[str, object], list[str]]:
    """Return the index entry of the tagged image and the names of all its blobs."""
    index = orjson.loads((layout / "index.json").read_bytes())
    top = next(entry for entry in reversed(index["manifests"]) if entry.get("annotations"))
    names = [str(top["digest"])]
    manifest = orjson.loads(_blob(layout, names[0]).read_bytes())
    names += [str(blob["digest"]) for blob in (manifest["config"], *manifest["layers"])]
    return top, names


def _blob(layout: Path, digest: str) -> Path:
    return layout / "blobs" / digest.replace(":", "/")


def _forget_old(layout: Path) -> None:
    """Remove the blobs of earlier builds from the layout."""
    top, names = _reachable(layout)
    # Exactly as the builder wrote it; otherwise it does not find its entry the next time.
    write_atomically(layout / "index.json", _index(top))
    kept = {_blob(layout, name) for name in names}
    for path in (layout / "blobs" / "sha256").iterdir():
        if path not in kept:
            path.unlink()


def _index(top: dict[str, object]) -> bytes:
    return orjson.dumps({"schemaVersion": 2, "manifests": [top]})


def load(layout: Layout, image: Path) -> bool:
    """Load the built image into a rig; False if the rig already has this image.

    Transfers only the blobs that the rig does not have.
    """
    top, names = _reachable(image)
    if images.digest(layout, OPERATOR_IMAGE) == top["digest"]:
        return False
    known = images.blobs(layout)
    top = {**top, "annotations": {"io.containerd.image.name": OPERATOR_IMAGE}}
    archive = layout.paths.tmp / "operator.oci.tar"
    _pack(archive, image, _index(top), [name for name in names if name not in known])
    images.load(layout, archive)
    archive.unlink()
    return True


def _pack(target: Path, image: Path, index: bytes, names: Iterable[str]) -> None:
    with tarfile.open(target, "w") as tar:
        for path, content in (("oci-layout", images.OCI_LAYOUT), ("index.json", index)):
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        for name in names:
            tar.add(_blob(image, name), f"blobs/{name.replace(':', '/')}")
