"""The Ingress: one host, one path, to the public Service.

It opens no port: the NetworkPolicy controls access to the servers, and
`spec.network.trustedIngressPeers` names the pods of the ingress controller.
"""

from __future__ import annotations

from contracts.builders.metadata import cluster_object
from contracts.naming import names
from contracts.naming.ports import API
from contracts.records.exposure import IngressSettings
from contracts.records.resolved import Resolved
from runtime.apply.intent import Intent
from runtime.builtin_kinds import INGRESS
from runtime.memo import memoize


@memoize
def ingress(resolved: Resolved, spec: IngressSettings) -> Intent:
    """Build the Ingress (networking.k8s.io/v1)."""
    backend = {
        "service": {
            "name": names.public_service(resolved.name),
            "port": {"number": API.number},
        }
    }
    path = {"path": spec.path, "pathType": spec.path_type, "backend": backend}
    return cluster_object(
        resolved,
        INGRESS,
        names.ingress(resolved.name),
        {
            "spec": {
                "ingressClassName": spec.class_name,
                "tls": [{"hosts": [spec.host], "secretName": spec.tls_secret}],
                "rules": [{"host": spec.host, "http": {"paths": [path]}}],
            }
        },
        annotations=spec.annotations,
    )
