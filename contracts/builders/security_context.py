"""The security contexts of our pods: slightly stricter than Pod Security Standard "restricted"."""

from __future__ import annotations

from typing import Any

# The user and group of the server's own images.
SERVER_UID = 100
SERVER_GID = 1000
# The ACME client of the server opens port 443 for each challenge, in addition to its own port
# (certmagic 0.24). The sysctl affects only the pod, and is one of the safe ones of "restricted".
LOW_PORTS = {"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}


def pod_security(*, fixed_ids: bool = True) -> dict[str, Any]:
    """Build `spec.securityContext` of a server pod.

    Without `fixed_ids` the platform chooses user and groups: OpenShift gives each namespace its own
    range, and its constraint restricted-v2 rejects all other numbers.
    """
    ids = {"runAsUser": SERVER_UID, "runAsGroup": SERVER_GID, "fsGroup": SERVER_GID}
    return {
        "runAsNonRoot": True,
        **(ids if fixed_ids else {}),
        # Avoids a recursive chown at each start if the volume already has the right owner.
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security() -> dict[str, Any]:
    """Build `securityContext` of a container."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "privileged": False,
        "readOnlyRootFilesystem": True,
    }
