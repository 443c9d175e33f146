"""spec.ingress and spec.gateway: access from outside of the Kubernetes cluster.

Uses contracts.api.meta. Part of ClusterSpec. The objects are built by managers.networking.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import Annotations, ApiModel, SecretName, SubdomainName

_Host = Annotated[
    str,
    Field(
        pattern=r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        min_length=1,
        max_length=253,
    ),
]
_Path = Annotated[str, Field(pattern=r"^/[^\s]*$", min_length=1, max_length=1024)]


class Ingress(ApiModel):
    """Ingress for the public Service."""

    enabled: bool = Field(
        default=False,
        description="Create the Ingress. Needs host, and network.trustedIngressPeers.",
    )
    class_name: SubdomainName | None = Field(
        default=None,
        description="IngressClass; if not set, the default class.",
        examples=["nginx"],
    )
    host: _Host | None = Field(
        default=None,
        description="Host name that clients use. Required if enabled.",
        examples=["bao.example.com"],
    )
    path: _Path = Field(default="/", description="Path of OpenBao.")
    path_type: Literal["Prefix", "Exact", "ImplementationSpecific"] = Field(
        default="Prefix", description="Type of the path comparison."
    )
    annotations: Annotations | None = Field(
        default=None,
        description="Annotations of the Ingress, for example for TLS to the servers.",
        examples=[{"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}],
    )
    tls_secret_name: SecretName | None = Field(
        default=None,
        description="Secret with the certificate of the Ingress; if not set, <name>-tls-server.",
        examples=["bao-example-com-tls"],
    )
    readiness_mode: Literal["Created", "LoadBalancerPublished"] = Field(
        default="LoadBalancerPublished",
        description="When the Ingress is ready: when it is created, or when it has an address.",
    )


class GatewayReference(ApiModel):
    """Gateway to which the route attaches."""

    name: SubdomainName | None = Field(
        default=None, description="Name of the Gateway. Required if enabled.", examples=["public"]
    )
    namespace: SubdomainName | None = Field(
        default=None,
        description="Namespace of the Gateway; if not set, that of the cluster.",
        examples=["gateways"],
        max_length=63,
    )


class BackendTls(ApiModel):
    """TLS from the Gateway to the servers."""

    enabled: bool = Field(
        default=True,
        description=(
            "Create a BackendTLSPolicy, so that the Gateway verifies the servers. Must be true in "
            "profile Hardened, unless tlsPassthrough is true."
        ),
    )
    hostname: _Host | None = Field(
        default=None,
        description="Server name to verify; if not set, <name>-public.<namespace>.svc.",
        examples=["bao.example.com"],
    )


class Gateway(ApiModel):
    """Route of the Gateway API to the public Service."""

    enabled: bool = Field(
        default=False, description="Create the route. Needs gatewayRef.name and hostname."
    )
    gateway_ref: GatewayReference | None = Field(
        default=None, description="Gateway to which the route attaches."
    )
    listener_name: Annotated[str, Field(min_length=1, max_length=253)] | None = Field(
        default=None,
        description="Listener of the Gateway; if not set, all matching listeners.",
        examples=["https"],
    )
    hostname: _Host | None = Field(
        default=None,
        description="Host name that clients use; the server certificate includes it.",
        examples=["bao.example.com"],
    )
    path: _Path = Field(default="/", description="Path of OpenBao.")
    annotations: Annotations | None = Field(
        default=None, description="Annotations of the route.", examples=[{"example.com/team": "a"}]
    )
    tls_passthrough: bool = Field(
        default=False,
        description="Pass TLS through to the servers (TLSRoute) instead of terminating it "
        "(HTTPRoute).",
    )
    backend_tls: BackendTls | None = Field(
        default=None,
        alias="backendTLS",
        description="TLS from the Gateway to the servers; if not set, it is verified.",
    )
