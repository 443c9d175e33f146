"""Every name that an object of a cluster can have, for modes without the verb list.

Pure; uses contracts.naming.names and contracts.pools.voter_pool. Servers and their volumes have one
name per ordinal: the operator reads them in order, and BEYOND more after the last existing ordinal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from contracts.naming import names
from contracts.optional_kinds import BACKEND_TLS_POLICY, HTTP_ROUTE, SERVICE_MONITOR, TLS_ROUTE
from contracts.pools.voter_pool import ServerPool
from runtime.builtin_kinds import (
    CONFIG_MAP,
    INGRESS,
    NETWORK_POLICY,
    POD_DISRUPTION_BUDGET,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
)
from runtime.cache.optional_kind import OptionalKind
from runtime.types import Resource

BEYOND = 2
"""Number of ordinals to read after the last existing one: a volume in between may be missing."""

ORDINALS_MAX = 64
"""Limit of the ordinals of one pool, independent of objects and status. It exceeds the replicas of
any spec, to observe the servers of a StatefulSet that a user scaled."""

RUN_JOBS: tuple[names.Job, ...] = ("backup", "restore", "upgrade")
"""Jobs that have their own ServiceAccount."""

ACCOUNT_MAX = names.SERVICE_ACCOUNT_NAME_MAX

OPTIONAL_NAMES: Mapping[OptionalKind, Callable[[str], str]] = {
    BACKEND_TLS_POLICY: names.backend_tls_policy,
    HTTP_ROUTE: names.http_route,
    SERVICE_MONITOR: names.service_monitor,
    TLS_ROUTE: names.tls_route,
}

COMMON_CLAIMS = (names.audit_claim, names.acme_cache_claim)
"""Volumes that several servers mount."""


def owned_names(
    cluster: str, pools: Iterable[ServerPool], accounts: Iterable[str]
) -> Mapping[Resource, tuple[str, ...]]:
    """Return the names of all objects that a plan may create and a prune may remove.

    Without StatefulSets. `pools`: possible pools of voters. `accounts`: present and former
    ServiceAccounts of its pods, besides the default one.
    """
    users = [account for account in accounts if account and len(account) <= ACCOUNT_MAX]
    all_accounts = tuple(dict.fromkeys((names.service_account(cluster), *users)))
    return {
        CONFIG_MAP: (
            *(pool.config_map for pool in pools),
            names.read_config_map(cluster),
            names.gateway_ca_config_map(cluster),
            names.self_init_config_map(cluster),
        ),
        INGRESS: (names.ingress(cluster),),
        NETWORK_POLICY: (names.network_policy(cluster), names.jobs_network_policy(cluster)),
        POD_DISRUPTION_BUDGET: (names.pod_disruption_budget(cluster),),
        ROLE: tuple(map(names.role, all_accounts)),
        ROLE_BINDING: tuple(map(names.role_binding, all_accounts)),
        SERVICE: (
            names.headless_service(cluster),
            names.public_service(cluster),
            names.active_service(cluster),
            names.read_service(cluster),
            names.metrics_service(cluster),
            names.acme_service(cluster),
        ),
        SERVICE_ACCOUNT: (
            *all_accounts,
            *(names.job_service_account(cluster, job) for job in RUN_JOBS),
        ),
    }
