"""The resolve step: every default, merge and choice is made here, once. Pure."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.meta import ApiModel
from contracts.api.values.duration import parse_duration
from contracts.builders.pod_part import PodPart
from contracts.hcl.render import (
    ConfigInput,
    Join,
    OidcBootstrap,
    reload_text,
    render_config,
    restart_text,
)
from contracts.hcl.stanzas import metrics_port
from contracts.hcl_quote import UnwritableError
from contracts.ip_address import is_ip
from contracts.naming import labels, names
from contracts.pools.voter_pool import serving_pool
from contracts.records.exposure import ExposureSpec
from contracts.records.observed import Observed
from contracts.records.resolved import (
    ImageChoice,
    NetworkSettings,
    PodSettings,
    Resolved,
    SealSettings,
)
from contracts.spec_refusal import spec_refusal
from managers.bootstrap.first_boot import self_init_failed
from managers.bootstrap.seal.pod_part import seal_part
from managers.bootstrap.seal.rotation import pod_annotations
from managers.bootstrap.seal.spec import seal_settings, stanza_of
from managers.bootstrap.server_pod_part import audit_volume, server_part
from managers.certs.pod_part import tls_part, tls_settings
from managers.cluster.plan.adoption import adoption_refusal, requested_restart
from managers.cluster.resolve.operator_login import first_boot_login, wrong_audience
from managers.cluster.resolve.restore_uid import restore_uid
from managers.context.installation import Installation
from managers.identity.account import job_accounts, powerful_account, reuses_account
from managers.images.plan import images_of, version_mismatch
from managers.networking.egress import egress_rules
from managers.networking.exposure_spec import exposure_spec, store_ports
from managers.operation_lock.holders import restore_in_progress
from managers.workload.read_pool_spec import read_pool_settings, wants_pool
from runtime.apply.ownership import Owner
from runtime.memo import memoize
from runtime.outcome import Blocked

LOOPBACK = ("127.0.0.1", "::1")


def resolve(
    cluster: OpenBaoCluster, owner: Owner, observed: Observed, installation: Installation
) -> Resolved | Blocked:
    """Turn a spec and the observed facts into a Resolved, or return what blocks the cluster."""
    refusal = _refusal(cluster, owner, observed, installation)
    if refusal is not None:
        return refusal
    login = first_boot_login(cluster.spec, owner, observed.token_issuer, installation)
    images = images_of(cluster.spec, installation, observed)
    initialized = is_initialized(cluster, observed)
    overrides = Overrides(
        login,
        images,
        seal_settings(cluster, observed),
        initialized,
        reuses_account=reuses_account(observed.account),
        fixed_ids=installation.platform != "openshift",
        read_pool=wants_pool(cluster, observed),
        restore_uid=restore_uid(cluster.status, observed.stateful_set, observed.pods),
    )
    try:
        resolved = _resolve(cluster, owner, installation, overrides)
    except UnwritableError as error:
        # The schema allows every character, but config.hcl does not.
        return Blocked("InvalidSpec", f"a string of the spec cannot be in config.hcl: {error}")
    uid, generation = sys.intern(owner.uid), cluster.metadata.generation
    # Only results that a reconcile uses are kept for the next one.
    _texts(uid, generation, resolved.config)
    return _former_if_equal(uid, generation, resolved)


# A change of the status gives a new cluster object, but mostly the same results. The UID as the
# first argument is the same object in each reconcile, and the other arguments are compared by
# value. They include the generation of the spec, in which users may replace 1 by true: Python
# considers these equal.


@memoize
def _former_if_equal(_uid: str, _generation: int, resolved: Resolved) -> Resolved:
    """Return the Resolved of the last reconcile if it is equal: plans are memoized by identity."""
    return resolved


@memoize
def _texts(_uid: str, _generation: int, config: ConfigInput) -> tuple[str, str, str]:
    """Render config.hcl, the text whose changes are reloaded, and the one for restarts."""
    return (
        render_config(config),
        reload_text(replace(config, join=Join())),
        restart_text(config),
    )


@dataclass(frozen=True, slots=True)
class Overrides:
    """Decisions that need more than the spec."""

    login: OidcBootstrap | None
    images: ImageChoice
    unseal: SealSettings
    initialized: bool
    reuses_account: bool
    fixed_ids: bool
    read_pool: bool
    """The spec requests read replicas, or some still exist."""
    restore_uid: str
    """UID of the last restore after which servers have to be created."""


@memoize
def _resolve(
    cluster: OpenBaoCluster, owner: Owner, installation: Installation, overrides: Overrides
) -> Resolved:
    spec, unseal, images = cluster.spec, overrides.unseal, overrides.images
    revision = serving_pool(cluster).revision
    config = replace(
        ConfigInput.of(cluster, overrides.login),
        seal=stanza_of(unseal),
        join=Join(revision=revision),
    )
    tls, audit = tls_settings(cluster), audit_volume(owner.name, spec.audit_file_storage)
    account, exposure = spec.service_account, exposure_spec(cluster)
    seal = seal_part(owner.name, unseal.spec, unseal.ring)
    pod = _pod(spec, overrides, (seal, tls_part(tls), server_part(spec, audit)))
    uid, generation = sys.intern(owner.uid), cluster.metadata.generation
    config_text, for_reload, for_restart = _texts(uid, generation, config)
    resolved = Resolved(
        owner=owner,
        version=spec.version.removeprefix("v"),
        replicas=spec.replicas,
        initialized=overrides.initialized,
        members=_members(cluster),
        voters=_voters(cluster),
        keeps_volumes=cluster.spec.deletion_policy == "Retain",
        self_init=spec.self_initializes,
        wants_operator_login=spec.wants_operator_login,
        has_operator_login=cluster.has_operator_login,
        config=config,
        config_text=config_text,
        reload_text=for_reload,
        restart_text=for_restart,
        unseal=unseal,
        pod=pod,
        service_account=names.service_account(owner.name, account.name if account else None),
        service_account_annotations=(account.annotations if account else None) or {},
        job_accounts=job_accounts(cluster),
        reuses_account=overrides.reuses_account,
        service_type=spec.service.type if spec.service else "ClusterIP",
        service_annotations=(spec.service.annotations if spec.service else None) or {},
        network=_network(spec, installation),
        storage_size=spec.storage.size,
        storage_class=spec.storage.storage_class_name,
        certificate_names=_certificate_names(spec, owner, exposure),
        certificate_addresses=_certificate_addresses(spec),
        rotate_before=parse_duration(spec.tls.rotation_period),
        tls=tls,
        exposure=exposure,
        audit_volume=audit,
        images=images,
        read=read_pool_settings(cluster, config, pod) if overrides.read_pool else None,
        hibernate=spec.hibernate,
        fenced=spec.fenced_pods,
        maintenance=spec.in_maintenance,
        restoring=restore_in_progress(cluster.status),
        restore_uid=overrides.restore_uid,
        revision=revision,
    )
    return _former_if_equal(uid, generation, resolved)


def _certificate_names(spec: ClusterSpec, owner: Owner, exposure: ExposureSpec) -> tuple[str, ...]:
    """Name the servers. The raft name comes first: it becomes the common name."""
    dns_names = (
        names.raft_server_name(owner.name),
        *names.server_dns_names(owner.name, owner.namespace),
        *exposure.hostnames,
        *(san for san in spec.tls.extra_sans if not is_ip(san)),
    )
    return tuple(dict.fromkeys(dns_names))


def _certificate_addresses(spec: ClusterSpec) -> tuple[str, ...]:
    # In the canonical form of certificates, so that a comparison succeeds.
    addresses = (str(ipaddress.ip_address(san)) for san in spec.tls.extra_sans if is_ip(san))
    return tuple(dict.fromkeys((*LOOPBACK, *addresses)))


def _refusal(
    cluster: OpenBaoCluster, owner: Owner, observed: Observed, installation: Installation
) -> Blocked | None:
    """Check the rules of the API, the features of this release, and the running servers."""
    error = spec_refusal(cluster)
    if error is not None:
        return error
    mismatch = version_mismatch(cluster.spec) or powerful_account(cluster, installation)
    if mismatch is not None:
        return mismatch
    lost = _lost_pool(cluster, observed) or adoption_refusal(cluster, observed)
    if lost is not None:
        return lost
    if not is_initialized(cluster, observed):
        audience_error = wrong_audience(cluster.spec, owner, installation)
        if audience_error is not None:
            return audience_error
    return self_init_failed(cluster, observed)


def _lost_pool(cluster: OpenBaoCluster, observed: Observed) -> Blocked | None:
    """Refuse to create servers while an unknown pool may have the data.

    After a blue/green upgrade only the status names the serving pool, and the status may be lost.
    """
    # If another StatefulSet of this cluster exists, volumes alone prove nothing: with
    # spec.deletionPolicy Retain the volumes of an abandoned pool are kept, with its old data.
    is_named = cluster.status.blue_green is not None and bool(
        observed.pods or (observed.claims and not observed.existing_pools)
    )
    if not observed.unknown_pools or observed.stateful_set is not None or is_named:
        return None
    return Blocked(
        "PrerequisitesMissing",
        f"StatefulSet {serving_pool(cluster).stateful_set} does not exist, but there are servers "
        f"or volumes of {', '.join(observed.unknown_pools)}: status.blueGreen.blueRevision "
        "does not name the serving pool. Set it: `kubectl patch openbaocluster "
        f"{cluster.metadata.name} --subresource=status --type=merge -p "
        '\'{"status":{"blueGreen":{"phase":"Idle","blueRevision":"<the suffix after the name of '
        "the cluster>\"}}}'`; or delete the servers and volumes that you do not need",
    )


def is_initialized(cluster: OpenBaoCluster, observed: Observed) -> bool:
    """Report whether data exists. Once true it stays true, whatever happens to the pods.

    A server runs the requests of the first boot before it opens its port (OpenBao 2.4.0,
    command/server.go), so the first one that is ready has run them all. A template without the
    self-init is further evidence: a status may be lost.
    """
    stateful_set = observed.stateful_set
    return (
        cluster.status.initialized
        or any(pod.ready for pod in observed.pods)
        or (
            stateful_set is not None
            and stateful_set.foreign is None
            and not stateful_set.first_boot
        )
    )


def _members(cluster: OpenBaoCluster) -> int | None:
    raft = cluster.status.admin_ops.raft if cluster.status.admin_ops else None
    return None if raft is None else raft.voters + raft.non_voters


def _voters(cluster: OpenBaoCluster) -> int | None:
    raft = cluster.status.admin_ops.raft if cluster.status.admin_ops else None
    return None if raft is None else raft.voters


def _pod(spec: ClusterSpec, overrides: Overrides, parts: tuple[PodPart, ...]) -> PodSettings:
    metadata = spec.pod_metadata
    return PodSettings(
        image=overrides.images.server,
        pull_secrets=tuple(secret.name for secret in spec.image_pull_secrets),
        resources=spec.resources.to_object() if spec.resources else {},
        labels=labels.users_own((metadata.labels if metadata else None) or {}),
        annotations={
            **labels.users_own((metadata.annotations if metadata else None) or {}),
            **pod_annotations(overrides.unseal.ring),
        },
        restart_at=requested_restart(spec),
        security=_security(spec),
        parts=parts,
        scheduling=spec.scheduling,
        fixed_ids=overrides.fixed_ids,
        operator_image=overrides.images.operator_image,
    )


def _security(spec: ClusterSpec) -> Mapping[str, Any]:
    hardening, addresses = spec.workload_hardening, spec.security_context
    confined = hardening is not None and hardening.app_armor_enabled
    return {
        **({"appArmorProfile": {"type": "RuntimeDefault"}} if confined else {}),
        **(addresses.to_object() if addresses else {}),
    }


def _network(spec: ClusterSpec, installation: Installation) -> NetworkSettings:
    network = spec.network
    return NetworkSettings(
        operator_namespace=installation.namespace,
        dns_namespace=network.dns_namespace,
        dns_endpoints=network.dns_endpoint_ips,
        api_server_cidrs=(network.api_server_cidr,) if network.api_server_cidr else (),
        api_server_endpoints=network.api_server_endpoint_ips,
        trusted_peers=_objects(network.trusted_ingress_peers),
        ingress_rules=_objects(network.ingress_rules),
        egress_rules=egress_rules(spec),
        metrics_port=metrics_port(spec.observability),
        store_ports=store_ports(spec),
        open_to_namespace=spec.profile != "Hardened",
    )


def _objects(parts: tuple[ApiModel, ...]) -> tuple[Mapping[str, Any], ...]:
    return tuple(part.to_object() for part in parts)
