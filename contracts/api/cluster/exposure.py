"""spec.ingress and spec.gateway: ways in from outside of the Kubernetes cluster.

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
    """An Ingress in front of the public Service."""

    enabled: bool = Field(
        default=False, description="Make the Ingress. Needs host, and network.trustedIngressPeers."
    )
    class_name: SubdomainName | None = Field(
        default=None,
        description="IngressClass; left out, the default class.",
        examples=["nginx"],
    )
    host: _Host | None = Field(
        default=None,
        description="Host name that clients use. Needed when enabled.",
        examples=["bao.example.com"],
    )
    path: _Path = Field(default="/", description="Path under which OpenBao answers.")
    path_type: Literal["Prefix", "Exact", "ImplementationSpecific"] = Field(
        default="Prefix", description="How the path is compared."
    )
    annotations: Annotations | None = Field(
        default=None,
        description="Annotations of the Ingress, for instance to speak TLS to the servers.",
        examples=[{"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}],
    )
    tls_secret_name: SecretName | None = Field(
        default=None,
        description=(
            "Secret with the certificate that the Ingress shows; left out, <name>-tls-server."
        ),
        examples=["bao-example-com-tls"],
    )
    readiness_mode: Literal["Created", "LoadBalancerPublished"] = Field(
        default="LoadBalancerPublished",
        description="When the Ingress counts as ready: as soon as it is made, or with an address.",
    )


class GatewayReference(ApiModel):
    """The Gateway that the route attaches to."""

    name: SubdomainName | None = Field(
        default=None, description="Name of the Gateway. Needed when enabled.", examples=["public"]
    )
    namespace: SubdomainName | None = Field(
        default=None,
        description="Namespace of the Gateway; left out, the cluster's own.",
        examples=["gateways"],
        max_length=63,
    )


class BackendTls(ApiModel):
    """TLS from the Gateway to the servers."""

    enabled: bool = Field(
        default=True,
        description=(
            "Make a BackendTLSPolicy, so that the Gateway checks the servers. Must be true in "
            "profile Hardened, unless tlsPassthrough is."
        ),
    )
    hostname: _Host | None = Field(
        default=None,
        description="Name to check on the servers; left out, <name>-public.<namespace>.svc.",
        examples=["bao.example.com"],
    )


class Gateway(ApiModel):
    """A route of the Gateway API to the public Service."""

    enabled: bool = Field(
        default=False, description="Make the route. Needs gatewayRef.name and hostname."
    )
    gateway_ref: GatewayReference | None = Field(
        default=None, description="The Gateway that the route attaches to."
    )
    listener_name: Annotated[str, Field(min_length=1, max_length=253)] | None = Field(
        default=None,
        description="Listener of the Gateway; left out, every one that fits.",
        examples=["https"],
    )
    hostname: _Host | None = Field(
        default=None,
        description="Host name that clients use; it is put into the server certificate, too.",
        examples=["bao.example.com"],
    )
    path: _Path = Field(default="/", description="Path under which OpenBao answers.")
    annotations: Annotations | None = Field(
        default=None, description="Annotations of the route.", examples=[{"example.com/team": "a"}]
    )
    tls_passthrough: bool = Field(
        default=False,
        description="Hand TLS through to the servers (TLSRoute) instead of ending it (HTTPRoute).",
    )
    backend_tls: BackendTls | None = Field(
        default=None,
        alias="backendTLS",
        description="TLS from the Gateway to the servers; left out, it is checked.",
    )
