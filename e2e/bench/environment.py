"""The environment of the benchmark: a control plane, an identity, and both programs.

Both programs use the same ServiceAccount: ours reads files as in a pod, the other a kubeconfig with
the same token.
"""

import sys
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path

import yaml

from e2e.rig import Rig, builds
from e2e.rig.versions import BENCH

ACCOUNT = "bench"


@dataclass(frozen=True, slots=True)
class Environment:
    """A running rig, and the command lines of both programs, without modes and flags."""

    rig: Rig
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


def prepare(rig: Rig, folder: Path) -> Environment:
    """Start everything; `folder` is for the identity. Raises RigError."""
    program = builds.build(rig.cache, (BENCH,), rig.progress)[0]
    rig.up(control_plane=True)
    role = f"--clusterrole=cluster-admin --serviceaccount=default:{ACCOUNT}".split()
    if not rig.kubectl("get", "serviceaccount", ACCOUNT, "--ignore-not-found"):
        rig.kubectl("create", "serviceaccount", ACCOUNT)
        rig.kubectl("create", "clusterrolebinding", ACCOUNT, *role)
    token = rig.kubectl("create", "token", ACCOUNT, "--duration=12h").strip()
    config = yaml.safe_load(rig.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "token").write_text(token)
    (folder / "namespace").write_text("default")
    (folder / "ca.crt").write_bytes(_authority(cluster))
    config["users"][0]["user"] = {"token": token}
    (folder / "kubeconfig").write_text(yaml.safe_dump(config))
    ours = (sys.executable, "-m", "e2e.bench.ours")
    return Environment(
        rig,
        (*ours, "-server", cluster["server"], "-account", str(folder)),
        (str(program), "-kubeconfig", str(folder / "kubeconfig")),
    )


def _authority(cluster: dict[str, str]) -> bytes:
    return b64decode(cluster["certificate-authority-data"])
