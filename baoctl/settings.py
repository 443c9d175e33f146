"""Flags and environment to frozen settings: the only module that reads `os.environ`."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from managers.access.installation import Installation
from managers.images.tlog import read_trust_root
from managers.images.verifier import Trust

DEFAULT_NAMESPACE = "openbao-operator-system"
DEFAULT_ACCOUNT = "openbao-operator-controller"
DEFAULT_REPOSITORY = "openbao/openbao"
DEFAULT_AUDIENCE = "openbao-internal"
TOKEN_FILE = Path("/var/run/secrets/tokens/openbao-token")
SECRET_RECHECK = 15.0
NO_TRUST = Trust()


@dataclass(frozen=True, slots=True)
class Settings:
    """How one operator process runs."""

    installation: Installation
    api_server_host: str | None
    """Address of the API server as pods see it; None: ask the API server."""
    kubeconfig: str | None
    """None: this process runs in a pod."""
    watch_namespace: str | None
    """None: clusters of all namespaces."""
    leader_election: bool
    identity: str
    workers: int
    listen: str
    port: int
    log_level: str
    token_file: Path
    pod_name: str = ""
    """The pod of this process; "" when it runs in none."""
    images: Trust = NO_TRUST
    """Registries and transparency logs that this installation believes in."""


def from_environment(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of `baoctl run`; flags override them with `dataclasses.replace`."""
    env = os.environ if environ is None else environ
    in_pod = "KUBERNETES_SERVICE_HOST" in env
    return Settings(
        installation=Installation(
            namespace=env.get("POD_NAMESPACE", DEFAULT_NAMESPACE),
            service_account=env.get("OPERATOR_SERVICE_ACCOUNT_NAME", DEFAULT_ACCOUNT),
            image_repository=env.get("RELATED_IMAGE_OPENBAO", DEFAULT_REPOSITORY),
            secret_recheck=SECRET_RECHECK,
            operator_image=env.get("OPERATOR_IMAGE", ""),
            audience=env.get("OPENBAO_JWT_AUDIENCE") or DEFAULT_AUDIENCE,
        ),
        api_server_host=env.get("KUBERNETES_SERVICE_HOST"),
        kubeconfig=None if in_pod else env.get("KUBECONFIG", str(Path.home() / ".kube/config")),
        watch_namespace=env.get("WATCH_NAMESPACE") or None,
        leader_election=True,
        identity=f"{env.get('POD_NAME') or socket.gethostname()}_{uuid.uuid4()}",
        workers=4,
        listen=env.get("LISTEN_ADDRESS", ""),
        port=int(env.get("METRICS_PORT", "8080")),
        log_level=env.get("LOG_LEVEL", "info"),
        token_file=Path(env.get("OPENBAO_TOKEN_FILE", str(TOKEN_FILE))),
        pod_name=env.get("POD_NAME", ""),
        images=_trust(env),
    )


def _trust(env: Mapping[str, str]) -> Trust:
    """Read what images are proven with. Raises ValueError when the trust root cannot be used."""
    insecure = frozenset(filter(None, env.get("INSECURE_REGISTRIES", "").split(",")))
    file = env.get("SIGSTORE_TRUSTED_ROOT")
    if not file:
        return Trust(insecure)
    try:
        return Trust(insecure, read_trust_root(Path(file).read_bytes()))
    except (OSError, ValueError) as error:
        raise ValueError(f"SIGSTORE_TRUSTED_ROOT {file}: {error}") from error
