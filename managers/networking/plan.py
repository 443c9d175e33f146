"""The networking step: which objects of reachability a cluster wants."""

from __future__ import annotations

from contracts.desired import Plan
from contracts.observed import Observed
from contracts.resolved import Resolved
from managers.networking.policy import network_policy
from managers.networking.services import acme_service, headless_service, public_service


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Want the Services and the policy that guards the pods.

    The policy belongs to the foundation, so that no pod ever runs unguarded.
    """
    return Plan(
        intents=(
            headless_service(resolved),
            public_service(resolved),
            *((acme_service(resolved),) if resolved.tls.mode == "ACME" else ()),
            network_policy(resolved, observed),
        )
    )
