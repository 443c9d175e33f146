"""config.hcl and the self-init document of a cluster.

Uses the templates beside it. Called by the bootstrap planner; the SHA-256 of the text decides
whether pods are restarted, so the same input always gives the same bytes.

Not in config.hcl, on purpose: node id, API address and cluster address. They differ from pod to pod
and reach the server by env (BAO_RAFT_NODE_ID, BAO_API_ADDR, BAO_CLUSTER_ADDR), which wins over the
file; so one file serves all pods and nothing is rendered inside of them.
"""

from dataclasses import dataclass
from typing import Self

from contracts import names, paths
from contracts.api.cluster import OpenBaoCluster
from contracts.api.seal import KEY_ID, KEY_PATH
from contracts.api.selfinit import Request
from contracts.hcl.environment import environment
from contracts.hcl.self_init import OidcBootstrap, blocks
from contracts.ports import API, CLUSTER

__all__ = ["ConfigInput", "OidcBootstrap", "render_config", "render_self_init"]

# Joiners ask these pods; the first three always exist or are about to, whatever `replicas` is, so
# that a change of it changes no byte of the file and restarts nothing.
JOIN_ORDINALS = (0, 1, 2)
PERFORMANCE_MULTIPLIER = 1


@dataclass(frozen=True, slots=True)
class ConfigInput:
    """Everything that the two documents depend on.

    Lease TTLs are Go durations; `performance_multiplier` None leaves the server's default;
    `seal_key` is the URI of the key file. `oidc` None: the operator has no login of its own.
    `api_audit` lets the API create audit devices. `root_token_file` is where the first pod finds
    the root token to register, None when the user's own requests set up the logins.
    """

    cluster: str
    namespace: str
    ui: bool = True
    log_level: str = "info"
    log_format: str | None = None
    performance_multiplier: int | None = PERFORMANCE_MULTIPLIER
    default_lease_ttl: str | None = None
    max_lease_ttl: str | None = None
    seal_key: str = f"file://{KEY_PATH}"
    seal_key_id: str = KEY_ID
    join_ordinals: tuple[int, ...] = JOIN_ORDINALS
    oidc: OidcBootstrap | None = None
    requests: tuple[Request, ...] = ()
    api_audit: bool = False
    root_token_file: str | None = None

    @classmethod
    def of(cls, cluster: OpenBaoCluster, oidc: OidcBootstrap | None) -> Self:
        """What a spec says; `oidc` comes from observation and is None when the spec wants none."""
        spec = cluster.spec
        settings, key = spec.configuration, spec.unseal.static_key()
        multiplier = settings.raft.performance_multiplier if settings.raft else None
        return cls(
            cluster=cluster.metadata.name,
            namespace=cluster.metadata.namespace,
            ui=settings.ui,
            log_level=settings.log_level,
            log_format=settings.logging.format if settings.logging else None,
            performance_multiplier=PERFORMANCE_MULTIPLIER if multiplier is None else multiplier,
            default_lease_ttl=settings.default_lease_ttl,
            max_lease_ttl=settings.max_lease_ttl,
            seal_key=key.current_key,
            seal_key_id=key.current_key_id,
            oidc=oidc,
            requests=spec.self_init.requests if spec.self_init and spec.self_init.enabled else (),
            api_audit=bool(settings.unsafe_allow_api_audit_creation),
            root_token_file=None if spec.self_initializes else f"{paths.ROOT_TOKEN}/token",
        )


def render_config(config: ConfigInput) -> str:
    """config.hcl; raises UnwritableError (a ValueError) for text that HCL cannot carry."""
    return _render(
        "config.hcl.j2",
        ui=config.ui,
        cluster=config.cluster,
        log_level=config.log_level,
        log_format=config.log_format,
        performance_multiplier=config.performance_multiplier,
        default_lease_ttl=config.default_lease_ttl,
        max_lease_ttl=config.max_lease_ttl,
        seal_key=config.seal_key,
        seal_key_id=config.seal_key_id,
        api_audit=config.api_audit,
        data_path=paths.DATA,
        server_name=names.raft_server_name(config.cluster),
        api_port=API.number,
        cluster_port=CLUSTER.number,
        join_hosts=[
            names.pod_dns(config.cluster, config.namespace, ordinal)
            for ordinal in config.join_ordinals
        ],
        tls={
            "cert": f"{paths.TLS}/tls.crt",
            "key": f"{paths.TLS}/tls.key",
            "ca": f"{paths.TLS}/ca.crt",
        },
    )


def render_self_init(config: ConfigInput) -> str:
    """The self-init document, which only the first pod of a new cluster may ever see; empty when
    there is nothing to do. Raises UnwritableError for text that HCL cannot carry."""
    return _render(
        "self-init.hcl.j2",
        blocks=list(blocks(config.oidc, config.requests, config.root_token_file)),
    )


def _render(template: str, **values: object) -> str:
    return environment().get_template(template).render(values)
