"""Plan of the network: Services and NetworkPolicies of a cluster. Pure.

Called by `managers.cluster.plan.steps`.
"""

from __future__ import annotations

from contracts.records.desired import Plan
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.networking.exposure import exposure_intents, gateway_outcome
from managers.networking.policy import jobs_network_policy, network_policy
from managers.networking.services import (
    acme_service,
    active_service,
    headless_service,
    public_service,
    read_service,
)


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Plan the Services and the NetworkPolicies of the pods.

    The policies are applied before any pod is created, so no pod ever runs without them.
    """
    read = resolved.read
    return Plan(
        intents=(
            headless_service(resolved),
            public_service(resolved),
            active_service(resolved),
            *((acme_service(resolved),) if resolved.tls.mode == "ACME" else ()),
            *((read_service(resolved, read),) if read and read.service else ()),
            network_policy(resolved, observed),
            jobs_network_policy(resolved, observed),
        ),
        optional=exposure_intents(resolved, observed),
        outcome=gateway_outcome(resolved, observed),
    )
