"""Selects the server and the CA of a login, and builds the environment of its shell.

Pure. Called by the other modules of baoctl.commands.login.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from baoctl.commands.api_client import RequestError
from baoctl.commands.cluster.observed import EMPTY_OBJECT, is_ready, part, text
from baoctl.exit_codes import ExitCode
from contracts import tls_names
from contracts.naming import labels
from managers.context.authority_pem import UnreadableFileError, ascii_pem, check_trusted
from runtime.types import Object, key_of, labels_of

AUTHORITY_MAX: Final = 1 << 20
"""Maximum bytes of a CA file; a Secret cannot contain more."""
LOOPBACK: Final = "127.0.0.1"
_MODES: Final = ("OperatorManaged", "External")
"""Values of spec.tls.mode, apart from ACME; the first one is the default."""
_FORWARDING: Final = re.compile(r"Forwarding from 127\.0\.0\.1:(\d{1,5}) -> \d{1,5}")
_SETTINGS: Final = (
    "ADDR", "AGENT_ADDR", "CACERT", "CACERT_BYTES", "CAPATH", "CLIENT_CERT", "CLIENT_KEY",
    "HTTP_PROXY", "PROXY_ADDR", "SKIP_VERIFY", "TLS_SERVER_NAME", "TOKEN",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ServerAuthority:
    """The name and the CA to verify the certificate of a server."""

    server_name: str
    secret: str | None
    """The Secret with the CA; None: the CAs of this machine."""
    entry: str


@dataclass(frozen=True, slots=True)
class Connection:
    """The parameters that a command needs to connect to OpenBao."""

    port: int
    server_name: str
    ca_file: str | None
    token: str = field(repr=False)


def leader_of(cluster: str, pods: Sequence[Object]) -> str:
    """Return the pod of the active server. Raises RequestError with the reason if there is none."""
    running_pods = [pod for pod in pods if not text(pod, "metadata", "deletionTimestamp")]
    states = [labels.registration(labels_of(pod)) for pod in running_pods]
    active = [
        key_of(pod).name
        for pod, state in zip(running_pods, states, strict=True)
        if state.active and is_ready(pod)
    ]
    if active:
        return active[0]
    if not running_pods:
        why = "has no server; kubectl bao status shows whether it is hibernated"
    elif all(state.sealed for state in states):
        why = "is sealed on every server; kubectl bao doctor names the cause"
    else:
        why = "has no active server; wait for the leader election, then see kubectl bao doctor"
    raise RequestError(f"{cluster} {why}", ExitCode.NOT_READY)


def trust_of(live: Object) -> ServerAuthority:
    """Return the name and the CA to verify the servers of a cluster. Raises RequestError."""
    fields = _tls_fields(live)
    if fields.mode == "ACME":
        return ServerAuthority(fields.server_name, fields.acme_issuer_secret, tls_names.ISSUER_FILE)
    if fields.mode not in _MODES:
        raise RequestError(
            f"{key_of(live)}: spec.tls.mode {fields.mode[:80]!r}: this client does not know it; "
            "use a client with the version of the operator"
        )
    return ServerAuthority(fields.server_name, fields.authority_secret, tls_names.CA_FILE)


def _tls_fields(live: Object) -> tls_names.TlsFields:
    """Read the fields without the model of a cluster, whose import takes a fifth of a second."""
    key, tls = key_of(live), part(live, "spec", "tls")
    mode = text(tls, "mode") or _MODES[0]
    external = part(tls, "external") if mode == "External" else EMPTY_OBJECT
    acme = part(tls, "acme")
    domains = acme.get("domains") or [acme.get("domain")]
    return tls_names.TlsFields(
        cluster=key.name,
        namespace=key.namespace,
        mode=mode,
        external_ca_secret=text(external, "caSecretRef", "name") or None,
        domains=tuple(filter(None, domains)),
        directory_secret=text(acme, "caSecretRef", "name") or None,
        ca_root=text(live, "spec", "configuration", "acmeCARoot") or None,
        seal_secret=text(live, "spec", "unseal", "credentialsSecretRef", "name") or None,
    )


def authority_in(where: str, data: Any, entry: str) -> str:
    """Return the CA in an entry of a Secret, in PEM. Raises RequestError."""
    encoded = data.get(entry) if isinstance(data, Mapping) else None
    try:
        content = base64.b64decode(encoded or "", validate=True).decode()
    except (TypeError, ValueError):
        content = ""
    return check_authority(f"{where}, entry {entry}", content)


def check_authority(where: str, content: str) -> str:
    """Return valid CA certificates in PEM. Raises RequestError."""
    try:
        if not content or len(content) > AUTHORITY_MAX:
            raise UnreadableFileError(f"it is empty, or longer than {AUTHORITY_MAX} bytes")
        check_trusted(content)
    except UnreadableFileError as error:
        raise RequestError(
            f"{where}: not a valid CA: {error}; use another file with --ca-file"
        ) from None
    return ascii_pem(content)


def forwarded_port(output: str) -> int | None:
    """Return the local port in the output of kubectl; None if there is none yet."""
    match = _FORWARDING.search(output)
    return int(match[1]) if match and 0 < int(match[1]) < 65_536 else None


def forward_error(pod: str, output: str) -> RequestError:
    """Return the error of kubectl port-forward, with the next step."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    reason = lines[-1] if lines else "kubectl printed no reason"
    if "forbidden" in reason.casefold():
        step = "request the right to get pods and to create pods/portforward"
        return RequestError(f"port-forward to {pod}: {reason}; {step}", ExitCode.NO_ACCESS)
    return RequestError(f"port-forward to {pod}: {reason}; try again, then see kubectl bao doctor")


def environment_of(user_environment: Mapping[str, str], connection: Connection) -> dict[str, str]:
    """Return the environment of the user, with the client settings of this connection.

    Client settings that the user has set, such as VAULT_ADDR, are removed.
    """
    replaced = {f"{client}_{name}" for client in ("BAO", "VAULT") for name in _SETTINGS}
    environment = {name: value for name, value in user_environment.items() if name not in replaced}
    trusted = {"BAO_CACERT": connection.ca_file} if connection.ca_file else {}
    return {
        **environment,
        **trusted,
        "BAO_ADDR": f"https://{LOOPBACK}:{connection.port}",
        "BAO_TLS_SERVER_NAME": connection.server_name,
        "BAO_TOKEN": connection.token,
    }
