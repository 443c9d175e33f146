"""Condition APIServerNetworkReady: network access of the servers to the API server. Pure.

A server needs this access only to report on its pod whether it is the leader and whether it is
sealed. Called by `managers.cluster.status.conditions`.
"""

from __future__ import annotations

import ipaddress

from contracts.api.cluster.spec import ClusterSpec
from contracts.conditions.condition import ConditionUpdate
from contracts.ip_address import is_cidr
from contracts.records.observed import Observed

KIND = "APIServerNetworkReady"
INVALID = "APIServerNetworkConfigurationInvalid"
RECOMMENDED = "APIServerEndpointIPsRecommended"


def api_server_network(spec: ClusterSpec, observed: Observed) -> ConditionUpdate | None:
    """Return whether the policies allow the servers to reach the API server.

    None when all addresses were discovered and the spec sets none.
    """
    network = spec.network
    invalid = _invalid(network.api_server_cidr, observed)
    if invalid:
        return ConditionUpdate(KIND, "False", INVALID, invalid)
    endpoint_ips = network.api_server_endpoint_ips or observed.api_endpoints.addresses
    if not endpoint_ips:
        message = (
            "The operator cannot read the endpoints of the API server's Service. A network plugin "
            "that evaluates policies after address translation then blocks the servers: if yours "
            "does, set spec.network.apiServerEndpointIPs"
        )
        return ConditionUpdate(KIND, "Unknown", RECOMMENDED, message)
    missing = _missing(network.api_server_endpoint_ips, observed.api_endpoints.addresses)
    if missing:
        message = (
            f"spec.network.apiServerEndpointIPs omits {', '.join(missing)}, endpoints of the API "
            "server: add them, or remove the field, and the operator discovers the endpoints"
        )
        return ConditionUpdate(KIND, "Unknown", RECOMMENDED, message)
    if not network.api_server_cidr and not network.api_server_endpoint_ips:
        return None
    return ConditionUpdate(
        KIND, "True", KIND, "The NetworkPolicies allow the servers to connect to the API server"
    )


def _invalid(cidr: str | None, observed: Observed) -> str:
    hosts = observed.api_server_hosts
    if cidr is None:
        if hosts:
            return ""
        return (
            "The address of the API server is not known, so no server can report whether it is the "
            "leader: set spec.network.apiServerCIDR"
        )
    outside = [host for host in hosts if not _within(host, cidr)]
    if not outside or len(outside) < len(hosts):
        return ""
    return (
        f"spec.network.apiServerCIDR: {cidr} does not contain {', '.join(outside)}, which pods "
        "use as address of the API server; correct or remove it"
    )


def _within(host: str, cidr: str) -> bool:
    # The validation rules reject an invalid CIDR, but the status of such a spec is computed too.
    return is_cidr(cidr) and ipaddress.ip_address(host) in ipaddress.ip_network(cidr, strict=False)


def _missing(configured: tuple[str, ...], discovered: tuple[str, ...]) -> list[str]:
    if not configured:
        return []
    return [address for address in discovered if address not in configured]
