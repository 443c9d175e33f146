"""Scheduling fields of the pods of one pool: those of the spec, else a spread over nodes and zones.

Pure. Used for the voters and for the read replicas, each with the selector of its own pods. The
default spread is only preferred: a cluster of three servers also starts on a single node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.api.cluster.scheduling import Scheduling, TopologySpread

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
# The maximum of the API: there is no other term.
WEIGHT = 100
UNSET = Scheduling()


def scheduling_fields(
    scheduling: Scheduling | None, selector_labels: Mapping[str, str]
) -> dict[str, Any]:
    """Return the scheduling fields of a PodSpec (core/v1).

    `selector_labels` select the pods of the same pool. `affinity` and `topologySpreadConstraints`
    of the spec each replace their default. A constraint without a selector gets that of the pool,
    because the API would count no pods.
    """
    spec = scheduling or UNSET
    fields = spec.to_object()
    copied = {
        key: fields[key]
        for key in ("nodeSelector", "tolerations", "priorityClassName")
        if fields.get(key)
    }
    constraints = [
        _constraint(entry, selector_labels) for entry in spec.topology_spread_constraints
    ]
    return {
        **copied,
        "affinity": fields.get("affinity") or _apart(selector_labels),
        "topologySpreadConstraints": constraints or _even(selector_labels),
    }


def _apart(selector_labels: Mapping[str, str]) -> dict[str, Any]:
    term = {
        "labelSelector": {"matchLabels": dict(selector_labels)},
        "topologyKey": HOSTNAME,
    }
    return {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": WEIGHT, "podAffinityTerm": term}
            ]
        }
    }


def _even(selector_labels: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": dict(selector_labels)},
        }
        for key in (HOSTNAME, ZONE)
    ]


def _constraint(constraint: TopologySpread, selector_labels: Mapping[str, str]) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": dict(selector_labels)}, **constraint.to_object()}
