"""The probes of a server's container. Pure.

Except in mode ACME, the kubelet probes over HTTPS. It sends no server name, and a server in mode
ACME refuses a handshake without one. In mode ACME `bao status` runs in the container (exit code 0:
unsealed), with the server name that the operator and joining servers use. The first handshake also
makes the server fetch its certificate.
"""

from __future__ import annotations

from typing import Any

from contracts.naming.ports import API
from contracts.records.resolved import TlsSettings

# An exec probe starts a process each time, and a first handshake waits for the ACME server.
STATUS_PERIOD = 5
STATUS_TIMEOUT = 20


def probes(tls: TlsSettings) -> dict[str, Any]:
    """Build the three probes, as fields of a container."""
    return _by_status(tls.server_name) if tls.mode == "ACME" else _by_health()


def _by_health() -> dict[str, Any]:
    return {
        "startupProbe": _health("standbyok=true&sealedcode=200&uninitcode=200", 1, 120),
        # A sealed or uninitialized server is alive: a restart would not help.
        "livenessProbe": _health("standbyok=true&sealedcode=200&uninitcode=200", 10, 6),
        "readinessProbe": _health("standbyok=true", 1, 3),
    }


def _health(query: str, period: int, failures: int) -> dict[str, Any]:
    return {
        "httpGet": {"scheme": "HTTPS", "port": API.number, "path": f"/v1/sys/health?{query}"},
        "periodSeconds": period,
        "timeoutSeconds": 3,
        "failureThreshold": failures,
    }


def _by_status(server_name: str) -> dict[str, Any]:
    command = [
        "bao",
        "status",
        f"-address=https://127.0.0.1:{API.number}",
        f"-tls-server-name={server_name}",
        # The server is on loopback, and the request has no token.
        "-tls-skip-verify",
    ]
    return {
        "startupProbe": {**_port(1), "failureThreshold": 120},
        "livenessProbe": {**_port(10), "failureThreshold": 6},
        "readinessProbe": {
            "exec": {"command": command},
            "periodSeconds": STATUS_PERIOD,
            "timeoutSeconds": STATUS_TIMEOUT,
            "failureThreshold": 3,
        },
    }


def _port(period: int) -> dict[str, Any]:
    return {"tcpSocket": {"port": API.number}, "periodSeconds": period, "timeoutSeconds": 3}
