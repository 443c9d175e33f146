"""config.hcl and the self-init document of a cluster.

Uses the templates of this package. Called by managers.cluster.resolve, managers.workload and
managers.bootstrap. The SHA-256 of the text decides whether pods restart, so the same input always
gives the same bytes.

config.hcl contains no node id, API address or cluster address, because they differ between pods.
The server gets them from variables (BAO_RAFT_NODE_ID, BAO_API_ADDR, BAO_CLUSTER_ADDR), which
override the file. So all pods share one file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from contracts.api.cluster.configuration import ListenerSpec
from contracts.api.cluster.recovery import InitialRecoveryKeys
from contracts.api.cluster.seal import Unseal
from contracts.api.cluster.self_init import SelfInitRequest
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.hcl.environment import environment
from contracts.hcl.seals import SealStanza, seal_stanza
from contracts.hcl.self_init import AUTOPILOT_QUORUM, FirstBoot, OidcBootstrap, blocks
from contracts.hcl.stanzas import (
    Stanza,
    audit_stanzas,
    listener_settings,
    metrics_listener,
    plugin_stanzas,
    server_settings,
    telemetry_settings,
)
from contracts.hcl.tls import join_attributes, join_files, listener_attributes, listener_files
from contracts.naming import mount_paths
from contracts.naming.ports import API, CLUSTER
from contracts.pools.voter_pool import ServerPool
from contracts.server_features import offers

__all__ = [
    "ConfigInput",
    "Join",
    "OidcBootstrap",
    "reload_text",
    "render_config",
    "render_self_init",
    "restart_text",
]

# A new server joins through these pods. The list does not depend on `replicas`, so that a change of
# `replicas` does not change the file and restarts no server.
JOIN_ORDINALS = (0, 1, 2)
PERFORMANCE_MULTIPLIER = 1
# The default is 10 s. The autopilot promotes servers once in each interval. With a shorter interval
# it reads its settings more often, and each such read may drop a concurrent promotion, demotion or
# join without a vote (OpenBao 2.4.0 to 2.7.2).
AUTOPILOT_RECONCILE_INTERVAL = "3s"
REQUEST_LIMIT = "90s"

RELOADED_SETTINGS = frozenset(
    {"log_level", "introspection_endpoint", "unsafe_allow_api_audit_creation"}
)
"""Root attributes that a running server reloads on SIGHUP (OpenBao 2.4.0, command/server.go). It
also reloads the audit stanzas, and from 2.5.0 on the plugin stanzas except those of seals."""


@dataclass(frozen=True, slots=True)
class Join:
    """The pods through which a server without data joins.

    `ordinals` of the voters of `revision` ("" for the pool without a revision).
    `non_voter`: the server joins without a vote.
    """

    ordinals: tuple[int, ...] = JOIN_ORDINALS
    revision: str = ""
    non_voter: bool = False


@dataclass(frozen=True, slots=True)
class ConfigInput:
    """All inputs of the two documents.

    `version` is that of the servers ("": without optional features). `standby_reads`: standbys
    answer reads themselves. `generate_root`: sys/generate-root needs no token. `settings` are the
    root attributes that a user may set, `listener` those of the listener, `telemetry` the whole
    stanza (empty: none). `performance_multiplier` None: the server's default. `join_tls` None: the
    attributes of a mounted certificate. `oidc` None: the operator has no login. `root_token_file`
    is the file of the root token to register in the first pod, None if the user's requests set up
    the logins.
    """

    cluster: str
    namespace: str
    version: str = ""
    ui: bool = True
    standby_reads: bool = False
    generate_root: bool = False
    settings: Mapping[str, object] = field(default_factory=lambda: {"log_level": "info"})
    listener: Mapping[str, object] = field(default_factory=dict)
    metrics_listener: Mapping[str, object] | None = None
    listener_tls: Mapping[str, object] = field(default_factory=listener_files)
    join_tls: Mapping[str, object] | None = None
    seal: SealStanza = field(default_factory=lambda: seal_stanza(Unseal()))
    performance_multiplier: int | None = PERFORMANCE_MULTIPLIER
    join: Join = field(default_factory=Join)
    audits: tuple[Stanza, ...] = ()
    plugins: tuple[Stanza, ...] = ()
    telemetry: Mapping[str, object] = field(default_factory=dict)
    oidc: OidcBootstrap | None = None
    requests: tuple[SelfInitRequest, ...] = ()
    autopilot: bool = False
    recovery_keys: InitialRecoveryKeys | None = None
    root_token_file: str | None = None

    @classmethod
    def of(cls, cluster: OpenBaoCluster, oidc: OidcBootstrap | None) -> Self:
        """Return the input for a spec; `oidc` is observed, and None if the spec disables it."""
        spec = cluster.spec
        settings = spec.configuration
        listener = settings.listener or ListenerSpec()
        multiplier = settings.raft.performance_multiplier if settings.raft else None
        return cls(
            cluster=cluster.metadata.name,
            namespace=cluster.metadata.namespace,
            version=spec.version,
            ui=settings.ui,
            standby_reads=bool(settings.standby_reads),
            generate_root=bool(listener.unauthenticated_generate_root),
            settings=server_settings(spec),
            listener=listener_settings(settings),
            metrics_listener=metrics_listener(spec.observability),
            listener_tls=listener_attributes(cluster),
            join_tls=join_attributes(cluster),
            seal=seal_stanza(spec.unseal),
            performance_multiplier=PERFORMANCE_MULTIPLIER if multiplier is None else multiplier,
            audits=audit_stanzas(spec.audit),
            plugins=plugin_stanzas(spec.plugins),
            telemetry=telemetry_settings(spec.telemetry, spec.observability),
            oidc=oidc,
            requests=spec.self_init.requests if spec.self_init and spec.self_init.enabled else (),
            autopilot=spec.replicas >= AUTOPILOT_QUORUM,
            recovery_keys=spec.recovery_keys.initial if spec.recovery_keys else None,
            root_token_file=None if spec.self_initializes else f"{mount_paths.ROOT_TOKEN}/token",
        )


def render_config(config: ConfigInput) -> str:
    """Return config.hcl; raises UnwritableError (a ValueError) for text that HCL cannot hold."""
    storage = {
        **_storage(config),
        "autopilot_reconcile_interval": AUTOPILOT_RECONCILE_INTERVAL,
    }
    return _config(storage, config, config.settings, config.audits, config.plugins)


def reload_text(config: ConfigInput) -> str:
    """Return config.hcl without the interval of the autopilot.

    A server uses a new interval after its next restart; until then the former one is good enough. A
    change of config.hcl that does not change this text is neither reloaded nor a reason to restart.
    """
    return _config(_storage(config), config, config.settings, config.audits, config.plugins)


def restart_text(config: ConfigInput) -> str:
    """Return `reload_text` without the settings that a running server reloads on SIGHUP.

    A change of config.hcl that does not change this text needs no restart.
    """
    return _config(
        _storage(config),
        config,
        {key: value for key, value in config.settings.items() if key not in RELOADED_SETTINGS},
        (),
        # The server configures its seal, and the plugin of the seal, only when it starts.
        tuple(plugin for plugin in config.plugins if plugin.type == "kms"),
    )


def _config(
    storage: Mapping[str, object],
    config: ConfigInput,
    settings: Mapping[str, object],
    audits: tuple[Stanza, ...],
    plugins: tuple[Stanza, ...],
) -> str:
    return _render(
        "config.hcl.j2",
        root=_root(config),
        listeners=_listeners(config),
        seal=config.seal,
        storage=storage,
        joins=_joins(config),
        settings=settings,
        audits=audits,
        plugins=plugins,
        telemetry=config.telemetry,
    )


def _storage(config: ConfigInput) -> Mapping[str, object]:
    return {
        "path": mount_paths.DATA,
        "performance_multiplier": config.performance_multiplier,
        "retry_join_as_non_voter": True if config.join.non_voter else None,
    }


def _root(config: ConfigInput) -> Mapping[str, object]:
    forwards = not config.standby_reads and offers(config.version, "standby-reads")
    return {
        "ui": config.ui,
        "disable_standby_reads": True if forwards else None,
        "cluster_name": config.cluster,
        # Some servers do not start without this folder, so it is set only if the folder is mounted.
        "plugin_directory": mount_paths.PLUGINS if config.plugins else None,
    }


def _listeners(config: ConfigInput) -> list[Mapping[str, object]]:
    api: dict[str, object] = {
        "address": f"[::]:{API.number}",
        "cluster_address": f"[::]:{CLUSTER.number}",
        "max_request_duration": REQUEST_LIMIT,
        **config.listener,
        **config.listener_tls,
    }
    if config.generate_root and offers(config.version, "generate-root-switch"):
        api["disable_unauthed_generate_root_endpoints"] = False
    if config.metrics_listener is None:
        return [api]
    return [
        {**api, "telemetry": {"disallow_metrics": True}},
        {**config.metrics_listener, **_tls_window(config), **config.listener_tls},
    ]


def _tls_window(config: ConfigInput) -> Mapping[str, object]:
    """Return the TLS settings of the user, which apply to every listener."""
    return {key: value for key, value in config.listener.items() if key.startswith("tls_")}


def _joins(config: ConfigInput) -> list[Mapping[str, object]]:
    trust = config.join_tls if config.join_tls is not None else join_files(config.cluster)
    voters = ServerPool(config.cluster, config.join.revision)
    hosts = [voters.pod_dns(config.namespace, ordinal) for ordinal in config.join.ordinals]
    return [{"leader_api_addr": f"https://{host}:{API.number}", **trust} for host in hosts]


def render_self_init(config: ConfigInput) -> str:
    """Return the self-init document, which only the first pod of a new cluster may mount.

    Empty without requests. Raises UnwritableError for text that HCL cannot represent.
    """
    return _render(
        "self-init.hcl.j2",
        blocks=list(
            blocks(
                FirstBoot(
                    oidc=config.oidc,
                    requests=config.requests,
                    autopilot=config.autopilot,
                    recovery_keys=config.recovery_keys,
                    root_token_file=config.root_token_file,
                    lists_as_null=offers(config.version, "self-init-lists-as-null"),
                )
            )
        ),
    )


def _render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(values)
