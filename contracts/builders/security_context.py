"""The security contexts of our pods: Pod Security Standard "restricted", and a little more."""

from __future__ import annotations

from typing import Any

# The user and group of the server's own images.
SERVER_UID = 100
SERVER_GID = 1000
# The ACME client of the server opens port 443 for each check of a name, in addition to its own port
# (certmagic 0.24). The sysctl belongs to the pod alone, and to the safe ones of "restricted".
LOW_PORTS = {"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}


def pod_security(*, fixed_ids: bool = True) -> dict[str, Any]:
    """Build `spec.securityContext` of a server pod.

    Without `fixed_ids` user and groups are left to the platform: OpenShift gives each namespace a
    range of its own, and its constraint restricted-v2 refuses every other number.
    """
    ids = {"runAsUser": SERVER_UID, "runAsGroup": SERVER_GID, "fsGroup": SERVER_GID}
    return {
        "runAsNonRoot": True,
        **(ids if fixed_ids else {}),
        # A volume that is already right is not walked again at each start.
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
