"""A container registry on the rig, with and without login, and tools to push and sign images.

Two processes share one store: one allows anonymous reads, the other requires a password. Both
serve TLS with their own CA, which containerd of the rig and the operator are configured with.
"""

import hashlib
import os
import subprocess
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

from e2e.harness.waiting import until
from e2e.rig import Rig, builds, pki
from e2e.rig.images import openbao_reference, server_images
from e2e.rig.versions import COSIGN_TOOL, CRANE_TOOL, OPENBAO, REGISTRY_SERVER
from managers.images.cosign import BUNDLE
from managers.images.registry import INDEX

OPEN_PORT = 5000
CLOSED_PORT = 5001
USER, PASSWORD = "reader", "open sesame"
# bcrypt of PASSWORD, the only format that the registry accepts: 2^5 rounds are enough for a test.
_HTPASSWD = f"{USER}:$2b$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW\n"
REPOSITORY = "team/openbao"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@dataclass(frozen=True, slots=True)
class Tools:
    """The binaries: the registry server, and two command line tools."""

    crane: Path
    registry: Path
    cosign: Path


class Registry:
    """The registry of one scenario."""

    def __init__(self, rig: Rig, folder: Path) -> None:
        self._rig = rig
        self._folder = folder
        self._node = str(rig.layout.slot.node)
        built = builds.build(rig.cache, [CRANE_TOOL, REGISTRY_SERVER, COSIGN_TOOL], rig.progress)
        self._tools = Tools(*built)
        self._running: list[subprocess.Popen[bytes]] = []
        subject = pki.Subject("registry", (), (self._node, "127.0.0.1"))
        pki.make(folder / "pki", {"registry": subject})
        for port in (OPEN_PORT, CLOSED_PORT):
            hosts = rig.paths.registries / f"{self._node}:{port}"
            hosts.mkdir(parents=True, exist_ok=True)
            url = f"https://{self._node}:{port}"
            (hosts / "hosts.toml").write_text(
                f'server = "{url}"\n[host."{url}"]\n  ca = "{self.authority}"\n'
            )

    @property
    def authority(self) -> Path:
        """The file with the CA of the registry."""
        return self._folder / "pki" / "ca.crt"

    def image(self, tag: str, *, port: int = OPEN_PORT) -> str:
        """Return the reference of an image by its tag."""
        return f"{self._node}:{port}/{REPOSITORY}:{tag}"

    def start(self) -> None:
        """Start both processes and wait until they respond."""
        for port in (OPEN_PORT, CLOSED_PORT):
            config = self._folder / f"registry-{port}.yaml"
            config.write_text(yaml.safe_dump(self._config(port)))
            argv = self._rig.inside(
                "setpriv", "--pdeathsig", "KILL", "--", str(self._tools.registry), "serve",
                str(config),
            )  # fmt: skip
            with (self._folder / f"registry-{port}.log").open("ab") as log:
                process = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
                )
            self._running.append(process)
        until("the registry answers", self._answers, 30.0)

    def stop(self) -> None:
        """Stop both processes."""
        for process in self._running:
            process.kill()
            process.wait()
        self._running.clear()

    def push(self, tag: str, **labels: str) -> str:
        """Push the rig's OpenBao image under a tag and return its digest.

        `labels` change the digest, not the program. The image always differs from that of the rig:
        once pulled from a registry, the kubelet verifies it for each pod with the same image
        (KEP-2535), which would affect all other scenarios.
        """
        layout = self._folder / "layout"
        if not layout.exists():
            archives = server_images(self._rig.cache, (OPENBAO,), self._rig.progress)
            with tarfile.open(archives[openbao_reference(OPENBAO)]) as tar:
                # Not the parameter `filter`, which the Python 3.11.2 of Debian 12 lacks.
                tar.extraction_filter = getattr(tarfile, "data_filter", None)
                tar.extractall(layout)  # noqa: S202  an archive of the rig itself
        name = self.image(tag)
        self._call(self._tools.crane, "push", str(layout), name)
        options = [f"--label={key}={value}" for key, value in ({"pushed": "yes"} | labels).items()]
        self._call(self._tools.crane, "mutate", name, *options, "--tag", name)
        return self._call(self._tools.crane, "digest", name).strip()

    def new_key(self, name: str) -> str:
        """Create a key pair and return the public key."""
        prefix = str(self._folder / name)
        self._call(self._tools.cosign, "generate-key-pair", "--output-key-prefix", prefix)
        return Path(f"{prefix}.pub").read_text()

    def sign(self, digest: str, key: str, *, older: bool = False) -> None:
        """Sign an image without a transparency log, with one of the two formats of cosign."""
        scheme = ["--new-bundle-format=false"] if older else []
        self._call(
            self._tools.cosign, "sign", "--key", str(self._folder / f"{key}.key"), *scheme,
            "--use-signing-config=false", "--tlog-upload=false", "--yes",
            f"{self._node}:{OPEN_PORT}/{REPOSITORY}@{digest}",
        )  # fmt: skip

    def attach(self, digest: str, bundle: bytes) -> None:
        """Attach a bundle to an image, under the tag at which cosign puts it for this registry."""
        layout = self._folder / f"bundle-{hashlib.sha256(bundle).hexdigest()}"
        (layout / "blobs" / "sha256").mkdir(parents=True)
        (layout / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        layer = _store_blob(layout, BUNDLE, bundle)
        empty = _store_blob(layout, "application/vnd.oci.empty.v1+json", b"{}")
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "artifactType": BUNDLE,
            "config": empty,
            "layers": [layer],
        }
        child = _store_blob(layout, _MANIFEST, orjson.dumps(manifest)) | {"artifactType": BUNDLE}
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [child]}
        (layout / "index.json").write_bytes(orjson.dumps(index))
        name = self.image(digest.replace(":", "-"))
        self._call(self._tools.crane, "push", "--index", str(layout), name)

    def requests(self) -> int:
        """Return the number of requests that both have served."""
        logs = (self._folder / f"registry-{port}.log" for port in (OPEN_PORT, CLOSED_PORT))
        lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
        return sum('"GET /v2/' in line or "http.request.method=GET" in line for line in lines)

    def pull_secret(self, namespace: str, name: str) -> dict[str, Any]:
        """Return the pull secret for the registry with login."""
        entry = {"username": USER, "password": PASSWORD}
        config = {"auths": {f"{self._node}:{CLOSED_PORT}": entry}}
        return {
            "metadata": {"name": name, "namespace": namespace},
            "type": "kubernetes.io/dockerconfigjson",
            "stringData": {".dockerconfigjson": orjson.dumps(config).decode()},
        }

    def _config(self, port: int) -> dict[str, Any]:
        config: dict[str, Any] = {
            "version": "0.1",
            "log": {"level": "info", "accesslog": {"disabled": False}},
            "storage": {"filesystem": {"rootdirectory": str(self._folder / "store")}},
            "http": {
                "addr": f"{self._node}:{port}",
                "tls": {
                    "certificate": str(self._folder / "pki" / "registry.crt"),
                    "key": str(self._folder / "pki" / "registry.key"),
                },
            },
        }
        if port == CLOSED_PORT:
            passwords = self._folder / "htpasswd"
            passwords.write_text(_HTPASSWD)
            config["auth"] = {"htpasswd": {"realm": "rig", "path": str(passwords)}}
        return config

    def _answers(self) -> bool:
        dead = [process for process in self._running if process.poll() is not None]
        if dead:
            logs = sorted(self._folder.glob("registry-*.log"))
            output = "\n".join(log.read_text(errors="replace")[-2000:] for log in logs)
            raise AssertionError(f"the registry has exited:\n{output}")
        try:
            self._call(self._tools.crane, "catalog", f"{self._node}:{OPEN_PORT}")
        except subprocess.CalledProcessError:
            time.sleep(0.2)
            return False
        return True

    def _call(self, program: Path, *arguments: str) -> str:
        argv: Sequence[str] = self._rig.inside(str(program), *arguments)
        environment = {
            **os.environ,
            "SSL_CERT_FILE": str(self.authority),
            "COSIGN_PASSWORD": "",
            "HTTPS_PROXY": "",
            "https_proxy": "",
            "DOCKER_CONFIG": str(self._folder),
        }
        done = subprocess.run(
            argv, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode != 0:
            done.stderr = f"{program.name} {arguments[0]}: {done.stderr[-1500:]}"
            raise subprocess.CalledProcessError(done.returncode, argv, done.stdout, done.stderr)
        return done.stdout


def _store_blob(layout: Path, kind: str, content: bytes) -> dict[str, Any]:
    """Store a blob of an image layout and return its descriptor."""
    name = hashlib.sha256(content).hexdigest()
    (layout / "blobs" / "sha256" / name).write_bytes(content)
    return {"mediaType": kind, "digest": f"sha256:{name}", "size": len(content)}


@contextmanager
def registry(rig: Rig, folder: Path) -> Iterator[Registry]:
    """Run a registry; both processes end with the scenario, and with the session."""
    server = Registry(rig, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
