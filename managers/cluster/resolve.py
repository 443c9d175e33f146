"""The resolve step: what was meant. Every default, merge and choice is made here, once. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

import semver

from contracts import names
from contracts.api.cluster import ClusterSpec, OpenBaoCluster
from contracts.api.meta import ApiModel, parse_duration
from contracts.api.network import is_ip
from contracts.api.not_served import essential_unserved_fields
from contracts.api.rules import violations
from contracts.hcl.render import ConfigInput, OidcBootstrap, render_config
from contracts.observed import Observed, PodFacts
from contracts.resolved import NetworkWishes, PodWishes, Resolved
from managers.access.installation import Installation
from runtime.memo import remembered
from runtime.outcome import Blocked
from runtime.ownership import Owner

LOOPBACK = ("127.0.0.1", "::1")


def resolve(
    cluster: OpenBaoCluster, owner: Owner, observed: Observed, installation: Installation
) -> Resolved | Blocked:
    """Turn a spec and what is observed into what is meant, or say why nothing may be done."""
    refusal = _refusal(cluster, observed)
    if refusal is not None:
        return refusal
    login = _operator_login(cluster.spec, observed, installation)
    return _meant(cluster, owner, installation, login, is_initialized(cluster, observed))


@remembered
def _meant(
    cluster: OpenBaoCluster,
    owner: Owner,
    installation: Installation,
    login: OidcBootstrap | None,
    initialized: bool,
) -> Resolved:
    spec = cluster.spec
    config = ConfigInput.of(cluster, login)
    supplied = spec.unseal.credentials_secret_ref
    account = spec.service_account
    # In the form in which a certificate gives them back, or it would never carry what is asked.
    addresses = (str(ipaddress.ip_address(san)) for san in spec.tls.extra_sans if is_ip(san))
    more_names = (san for san in spec.tls.extra_sans if not is_ip(san))
    return Resolved(
        owner=owner,
        version=spec.version.removeprefix("v"),
        replicas=spec.replicas,
        initialized=initialized,
        members=_members(cluster),
        self_init=spec.self_initializes,
        wants_operator_login=spec.wants_operator_login,
        config=config,
        config_text=render_config(config),
        unseal_secret=supplied.name if supplied else names.unseal_key_secret(owner.name),
        unseal_supplied=supplied is not None,
        pod=_pod(spec, installation),
        service_account=names.service_account(owner.name, account.name if account else None),
        service_account_annotations=(account.annotations if account else None) or {},
        service_type=spec.service.type if spec.service else "ClusterIP",
        service_annotations=(spec.service.annotations if spec.service else None) or {},
        network=_network(spec, installation),
        storage_size=spec.storage.size,
        storage_class=spec.storage.storage_class_name,
        # The raft name first: it becomes the common name.
        certificate_names=tuple(
            dict.fromkeys(
                (
                    names.raft_server_name(owner.name),
                    *names.server_dns_names(owner.name, owner.namespace),
                    *more_names,
                )
            )
        ),
        certificate_addresses=tuple(dict.fromkeys((*LOOPBACK, *addresses))),
        rotate_before=parse_duration(spec.tls.rotation_period),
    )


def _refusal(cluster: OpenBaoCluster, observed: Observed) -> Blocked | None:
    """Judge by the rules of the API, by what this release can do, and by what already runs."""
    objection = _objection(cluster)
    if objection is not None:
        return objection
    running = cluster.status.current_version
    wanted = cluster.spec.version.removeprefix("v")
    if running and _is_older(wanted, running):
        return Blocked(
            "DowngradeBlocked",
            f"spec.version: {wanted} is older than {running}, which runs: OpenBao cannot read "
            f"newer data. Set it to {running} or newer",
        )
    failed = _failed_first_boot(cluster, observed)
    if failed is not None:
        code = failed.last_exit.code if failed.last_exit else -1
        claim = names.data_claim(cluster.metadata.name, failed.ordinal)
        return Blocked(
            "SelfInitFailed",
            f"{failed.name} ended with code {code} before it was initialised, so its requests may "
            f"be incomplete: read `kubectl logs {failed.name} --previous`, correct the cause, then "
            f"delete PersistentVolumeClaim {claim} and the pod to start again; no data is lost yet",
        )
    return None


@remembered
def _objection(cluster: OpenBaoCluster) -> Blocked | None:
    broken = violations(cluster)
    if broken:
        return Blocked("InvalidSpec", "; ".join(map(str, broken)))
    unserved = essential_unserved_fields(cluster.spec)
    if unserved:
        return Blocked("FieldsNotServed", "; ".join(unserved))
    return None


def _is_older(wanted: str, running: str) -> bool:
    try:
        return semver.Version.parse(wanted) < semver.Version.parse(running)
    except ValueError:
        return False


def is_initialized(cluster: OpenBaoCluster, observed: Observed) -> bool:
    """Tell whether data exists. Once true it stays true, whatever becomes of the pods.

    A server runs the requests of the first boot before it opens its port (OpenBao 2.4.0,
    command/server.go), so the first one that is ready has run them all. The template that no
    longer carries the first boot is the second witness: a status may be lost.
    """
    stateful_set = observed.stateful_set
    return (
        cluster.status.initialized
        or any(pod.ready for pod in observed.pods)
        or (stateful_set is not None and not stateful_set.first_boot)
    )


def _members(cluster: OpenBaoCluster) -> int | None:
    raft = cluster.status.admin_ops.raft if cluster.status.admin_ops else None
    return None if raft is None else raft.voters + raft.non_voters


def _failed_first_boot(cluster: OpenBaoCluster, observed: Observed) -> PodFacts | None:
    """Find a first server that was started again before it was known to be initialised.

    The second start finds the storage initialised and skips the requests that are left
    (OpenBao 2.4.0), so being ready no longer proves that all of them ran.
    """
    stateful_set = observed.stateful_set
    if cluster.status.initialized or stateful_set is None or not stateful_set.first_boot:
        return None
    return next(
        (pod for pod in observed.pods if pod.ready and pod.restarts and pod.last_exit is not None),
        None,
    )


def _operator_login(
    spec: ClusterSpec, observed: Observed, installation: Installation
) -> OidcBootstrap | None:
    oidc = spec.self_init.oidc if spec.self_init else None
    if oidc is None or not spec.wants_operator_login or observed.token_issuer is None:
        return None
    return OidcBootstrap(
        audience=oidc.audience,
        issuer=oidc.issuer or observed.token_issuer.issuer,
        public_keys=observed.token_issuer.public_keys,
        subject=installation.subject,
    )


def _pod(spec: ClusterSpec, installation: Installation) -> PodWishes:
    metadata = spec.pod_metadata
    restart = spec.runtime.restart_at if spec.runtime else None
    older = spec.maintenance.restart_at if spec.maintenance else None
    return PodWishes(
        image=spec.image or f"{installation.image_repository}:{spec.version.removeprefix('v')}",
        pull_secrets=tuple(secret.name for secret in spec.image_pull_secrets),
        resources=spec.resources.to_object() if spec.resources else {},
        labels=(metadata.labels if metadata else None) or {},
        annotations=(metadata.annotations if metadata else None) or {},
        restart_at=restart or older or "",
    )


def _network(spec: ClusterSpec, installation: Installation) -> NetworkWishes:
    network = spec.network
    return NetworkWishes(
        operator_namespace=installation.namespace,
        dns_namespace=network.dns_namespace,
        dns_endpoints=network.dns_endpoint_ips,
        api_server_cidrs=(network.api_server_cidr,) if network.api_server_cidr else (),
        api_server_endpoints=network.api_server_endpoint_ips,
        trusted_peers=_objects(network.trusted_ingress_peers),
        ingress_rules=_objects(network.ingress_rules),
        egress_rules=_objects(network.egress_rules),
    )


def _objects(parts: tuple[ApiModel, ...]) -> tuple[Mapping[str, Any], ...]:
    return tuple(part.to_object() for part in parts)
