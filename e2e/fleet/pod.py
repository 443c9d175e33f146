"""Runs an operator as if it were in a pod, next to a control plane without nodes.

Uses the harness. A pod reads its token from files; a kubeconfig is read by a library that needs
tens of megabytes. Called by e2e.fleet, e2e.cluster_fleet and e2e.churn, which measure memory.
"""

import sys
from base64 import b64decode
from collections.abc import Mapping, Sequence

import orjson
import yaml

from e2e.harness.installation import BASE, NAMESPACE, Identity
from e2e.harness.operator import NO_ELECTION, Launcher, Operator

MOUNTED = "/run/secrets/kubernetes.io/serviceaccount"
PORTS = range(18200, 18300)
"""Candidates for the port of the metrics."""
_MOUNT = 'mount -t tmpfs none /run && mkdir -p "$1" && cp "$0"/* "$1" && shift && exec "$@"'


def start_in_pod(
    launcher: Launcher,
    identity: Identity,
    environment: Mapping[str, str],
    module: Sequence[str] = ("baoctl",),
    listen: int = 0,
    arguments: Sequence[str] = (NO_ELECTION,),
) -> Operator:
    """Start an operator with the files of a ServiceAccount in a separate mount namespace.

    `module` is the module to run, with its arguments. `listen` is the metrics port, 0 for any.
    `arguments` are those of `baoctl run`.
    """
    config = orjson.loads(identity.kubeconfig.read_bytes())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    folder = launcher.folder / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text(user["token"])
    (folder / "namespace").write_text(NAMESPACE)
    (folder / "ca.crt").write_bytes(b64decode(cluster["certificate-authority-data"]))
    host, _, port = cluster["server"].removeprefix("https://").rpartition(":")
    argv = [
        "unshare", "--map-root-user", "--mount", "sh", "-c", _MOUNT, str(folder), MOUNTED,
        sys.executable, "-m", *module, "run", "--port", str(listen), *arguments,
    ]  # fmt: skip
    api_server = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    return launcher.launch(identity, argv, {**environment, **api_server})


def allocator() -> dict[str, str]:
    """Return the allocator environment variables of the shipped Deployment."""
    deployment = yaml.safe_load((BASE / "deployment.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {
        variable["name"]: variable["value"]
        for variable in container["env"]
        if variable["name"].startswith("MALLOC_")
    }
