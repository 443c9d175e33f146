"""Resolves spec.readReplicas; unset fields fall back to the settings of the voters. Pure."""

from __future__ import annotations

from dataclasses import replace

from contracts.api.cluster.read_replicas import (
    ReadPodTemplate,
    ReadReplicas,
    ReadService,
    ReadStorage,
)
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.hcl.render import ConfigInput, reload_text, render_config, restart_text
from contracts.naming import labels
from contracts.records.observed import Observed
from contracts.records.resolved import PodSettings, ReadPoolSpec
from managers.workload.scale.read_replicas import desired_replicas

# Metadata of the spec cannot override these.
OPERATOR_ANNOTATIONS = (labels.UNSEAL_KEYS,)


def wants_pool(cluster: OpenBaoCluster, observed: Observed) -> bool:
    """Return whether the pool needs a plan: read replicas are requested, or some still exist."""
    pool = observed.read
    return bool(desired_replicas(cluster.spec) or pool.stateful_set or pool.pods)


def read_pool_settings(
    cluster: OpenBaoCluster, config: ConfigInput, pod: PodSettings
) -> ReadPoolSpec:
    """Resolve the spec of the pool; `config` and `pod` are those of the voters."""
    spec = cluster.spec.read_replicas or ReadReplicas()
    template = spec.template or ReadPodTemplate()
    service, storage = spec.service or ReadService(), spec.storage or ReadStorage()
    # Join by the names of the first voters, as a voter does: discovery by label would need the
    # right to list pods.
    joining = replace(config, standby_reads=True, join=replace(config.join, non_voter=True))
    voters = cluster.spec.storage
    return ReadPoolSpec(
        replicas=desired_replicas(cluster.spec),
        config_text=render_config(joining),
        reload_text=reload_text(joining),
        restart_text=restart_text(joining),
        pod=_pod(template, pod),
        storage_size=str(storage.size or voters.size),
        storage_class=storage.storage_class_name or voters.storage_class_name,
        service=service.enabled,
        service_type=service.type,
        service_annotations=service.annotations or {},
    )


def _pod(template: ReadPodTemplate, voters: PodSettings) -> PodSettings:
    more = template.metadata
    return replace(
        voters,
        resources=template.resources.to_object() if template.resources else voters.resources,
        labels={**voters.labels, **labels.users_own((more.labels if more else None) or {})},
        annotations={
            **voters.annotations,
            **labels.users_own((more.annotations if more else None) or {}),
            **{
                key: voters.annotations[key]
                for key in OPERATOR_ANNOTATIONS
                if key in voters.annotations
            },
        },
        scheduling=template.scheduling or voters.scheduling,
    )
