"""Builds the Services of a cluster. Pure."""

from __future__ import annotations

from contracts.builders.metadata import cluster_object
from contracts.naming import labels, names
from contracts.naming.ports import API, CLUSTER
from contracts.records.resolved import ReadPoolSpec, Resolved
from runtime.apply.intent import Intent
from runtime.builtin_kinds import SERVICE
from runtime.memo import memoize


@memoize
def headless_service(resolved: Resolved) -> Intent:
    """Give each pod of either pool a DNS name, ready or not.

    Raft peers must find each other before they are ready, and a sealed server must stay
    reachable for the user who unseals it.
    """
    return cluster_object(
        resolved,
        SERVICE,
        names.headless_service(resolved.name),
        {
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": True,
                "selector": labels.servers(resolved.name),
                "ports": [API.service_port(), CLUSTER.service_port()],
            }
        },
    )


@memoize
def public_service(resolved: Resolved) -> Intent:
    """Give clients one stable address: every ready server of either pool.

    A standby or a read replica answers the reads that it can, and forwards other requests to the
    leader. While the green pool takes over, the Service selects one of the two pools only.
    """
    return cluster_object(
        resolved,
        SERVICE,
        names.public_service(resolved.name),
        {
            "spec": {
                "type": resolved.service_type,
                "selector": _clients_of(resolved),
                "ports": [API.service_port()],
            }
        },
        annotations=resolved.service_annotations,
    )


def _clients_of(resolved: Resolved) -> labels.Labels:
    """Select the servers that receive the requests of clients.

    The template of the first pool has no revision label, and a new label would restart its pods.
    The operator labels these pods one by one while another pool exists
    (managers.workload.objects.annotations).
    """
    selector = labels.of_revision(labels.servers(resolved.name), resolved.traffic)
    if resolved.traffic_first:
        selector[labels.FIRST_SET] = "true"
    return selector


@memoize
def active_service(resolved: Resolved) -> Intent:
    """Give clients the leader alone, so that no standby has to forward a request.

    The Service selects the label that a server sets on its own pod. While the green pool takes
    over, it still selects both pools: otherwise clients would have no server between the switch of
    the traffic to green and the election of a green leader.
    """
    return cluster_object(
        resolved,
        SERVICE,
        names.active_service(resolved.name),
        {"spec": {"selector": labels.leader(resolved.name), "ports": [API.service_port()]}},
    )


@memoize
def read_service(resolved: Resolved, read: ReadPoolSpec) -> Intent:
    """Give clients the ready read replicas only."""
    return cluster_object(
        resolved,
        SERVICE,
        names.read_service(resolved.name),
        {
            "spec": {
                "type": read.service_type,
                "selector": labels.read_replicas(resolved.name),
                "ports": [API.service_port()],
            }
        },
        annotations=read.service_annotations,
    )


@memoize
def acme_service(resolved: Resolved) -> Intent:
    """Give the ACME server access to the challenge ports of all voters, ready or not.

    A server gets its certificate after the challenge, and is ready only with a certificate.
    """
    return cluster_object(
        resolved,
        SERVICE,
        names.acme_service(resolved.name),
        {
            "spec": {
                "publishNotReadyAddresses": True,
                "selector": resolved.voter_pool.selector,
                "ports": [
                    {"name": "http-80", "port": 80, "targetPort": API.number, "protocol": "TCP"},
                    {"name": "https-443", "port": 443, "targetPort": API.number, "protocol": "TCP"},
                ],
            }
        },
    )
