"""config.hcl and the self-init document of a cluster.

Uses the templates of this package. Called by managers.cluster.resolve and managers; the SHA-256
of the text decides whether pods are restarted, so the same input always gives the same bytes.

Not in config.hcl, on purpose: node id, API address and cluster address. They differ from pod to pod
and reach the server by env (BAO_RAFT_NODE_ID, BAO_API_ADDR, BAO_CLUSTER_ADDR), which wins over the
file; so one file serves all pods and nothing is rendered inside of them.
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
    "render_config",
    "render_self_init",
    "restart_text",
]

# Joiners ask these pods; the first three always exist or are about to, whatever `replicas` is, so
# that a change of it changes no byte of the file and restarts nothing.
JOIN_ORDINALS = (0, 1, 2)
PERFORMANCE_MULTIPLIER = 1
REQUEST_LIMIT = "90s"

RELOADED_SETTINGS = frozenset(
    {"log_level", "introspection_endpoint", "unsafe_allow_api_audit_creation"}
)
"""Root attributes that a running server reads again on SIGHUP (OpenBao 2.4.0, command/server.go);
so it does with the audit stanzas, and from 2.5.0 on with plugin stanzas that are no seal."""


@dataclass(frozen=True, slots=True)
class Join:
    """How a server that has no data finds the others.

    `ordinals`: by the names of these pods, of the voters that `dialled` names by their revision
    ("" for the pool without one). `non_voter`: joins without a vote.
    """

    ordinals: tuple[int, ...] = JOIN_ORDINALS
    dialled: str = ""
    non_voter: bool = False


@dataclass(frozen=True, slots=True)
class ConfigInput:
    """Everything that the two documents depend on.

    `version` is that of the servers ("": one that lacks every optional feature). `standby_reads`: a
    server that does not lead answers reads itself. `generate_root`: sys/generate-root is answered
    without a token. `settings` are the root attributes that a user
    may tune, `listener` those of the listener, `telemetry` the whole stanza (empty: none).
    `performance_multiplier` None leaves the server's default. `join_tls` None: those of a mounted
    certificate. `oidc` None: the operator has no login of its own. `root_token_file` is where the
    first pod finds the root token to register, None when the user's own requests set up the logins.
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
        """What a spec says; `oidc` comes from observation and is None when the spec wants none."""
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
    """config.hcl; raises UnwritableError (a ValueError) for text that HCL cannot carry."""
    return _config(config, config.settings, config.audits, config.plugins)


def restart_text(config: ConfigInput) -> str:
    """config.hcl without what a running server reads again on SIGHUP.

    As long as this text stays the same, a change of config.hcl needs no restart.
    """
    return _config(
        config,
        {key: value for key, value in config.settings.items() if key not in RELOADED_SETTINGS},
        (),
        # A seal is made at the start of the server, and a plugin that is one with it.
        tuple(plugin for plugin in config.plugins if plugin.type == "kms"),
    )


def _config(
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
        storage={
            "path": mount_paths.DATA,
            "performance_multiplier": config.performance_multiplier,
            "retry_join_as_non_voter": True if config.join.non_voter else None,
        },
        joins=_joins(config),
        settings=settings,
        audits=audits,
        plugins=plugins,
        telemetry=config.telemetry,
    )


def _root(config: ConfigInput) -> Mapping[str, object]:
    forwards = not config.standby_reads and offers(config.version, "standby-reads")
    return {
        "ui": config.ui,
        "disable_standby_reads": True if forwards else None,
        "cluster_name": config.cluster,
        # Some servers refuse to start when the folder is not there, so it is named only if mounted.
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
    """What the user demands of TLS holds at every port."""
    return {key: value for key, value in config.listener.items() if key.startswith("tls_")}


def _joins(config: ConfigInput) -> list[Mapping[str, object]]:
    trust = config.join_tls if config.join_tls is not None else join_files(config.cluster)
    voters = ServerPool(config.cluster, config.join.dialled)
    hosts = [voters.pod_dns(config.namespace, ordinal) for ordinal in config.join.ordinals]
    return [{"leader_api_addr": f"https://{host}:{API.number}", **trust} for host in hosts]


def render_self_init(config: ConfigInput) -> str:
    """The self-init document, which only the first pod of a new cluster may ever see; empty when
    there is nothing to do. Raises UnwritableError for text that HCL cannot carry."""
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
