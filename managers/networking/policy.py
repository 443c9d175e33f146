"""The NetworkPolicies of the servers and of Jobs: they deny all flows that the table omits."""

from __future__ import annotations

from contracts.builders.metadata import cluster_object
from contracts.naming import labels, names
from contracts.records.environment import ApiEndpoints
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.networking.flows import FlowContext, job_selector, rules
from runtime.apply.intent import Intent
from runtime.builtin_kinds import NETWORK_POLICY
from runtime.memo import memoize


def network_policy(resolved: Resolved, observed: Observed) -> Intent:
    """Build the policy of the servers: allowed ingress and egress."""
    return _servers(resolved, observed.api_server_hosts, observed.api_endpoints)


def jobs_network_policy(resolved: Resolved, observed: Observed) -> Intent:
    """Build the policy of Jobs: no ingress, and egress to the servers and the API server.

    The policy exists before any Job. Jobs get the egress rules that the user sets for the servers,
    because these rules may also allow access to the snapshot store.
    """
    return _jobs(resolved, observed.api_server_hosts, observed.api_endpoints)


@memoize
def _servers(resolved: Resolved, hosts: tuple[str, ...], endpoints: ApiEndpoints) -> Intent:
    context = FlowContext(resolved, hosts, endpoints)
    settings = resolved.network
    return cluster_object(
        resolved,
        NETWORK_POLICY,
        names.network_policy(resolved.name),
        {
            "spec": {
                "podSelector": {"matchLabels": labels.servers(resolved.name)},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [*rules(context, "servers", "in"), *map(dict, settings.ingress_rules)],
                "egress": [*rules(context, "servers", "out"), *map(dict, settings.egress_rules)],
            }
        },
    )


@memoize
def _jobs(resolved: Resolved, hosts: tuple[str, ...], endpoints: ApiEndpoints) -> Intent:
    context = FlowContext(resolved, hosts, endpoints)
    return cluster_object(
        resolved,
        NETWORK_POLICY,
        names.jobs_network_policy(resolved.name),
        {
            "spec": {
                "podSelector": job_selector(resolved.name),
                # The type Ingress without a rule denies all ingress. The API server does not store
                # an empty list of rules, so every apply would write it again.
                "policyTypes": ["Ingress", "Egress"],
                "egress": [
                    *rules(context, "jobs", "out"),
                    *map(dict, resolved.network.egress_rules),
                ],
            }
        },
    )
