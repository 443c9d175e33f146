"""spec.service and spec.network: how clients get in, and what the servers may reach.

Uses contracts.api.meta. Part of ClusterSpec. Rules and peers have the shape of
networking.k8s.io/v1, bounded.
"""

import ipaddress
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from contracts.api.meta import Annotations, ApiModel, Labels, SubdomainName, as_set

IP_MAX = 45
CIDR_MAX = 49
WIDE_PREFIX = 8
"""A range with a shorter prefix is wide: more than a 256th of all addresses, in either family."""

IpAddress = Annotated[str, Field(pattern=r"^[0-9A-Fa-f.:]+$", min_length=2, max_length=IP_MAX)]
Cidr = Annotated[
    str, Field(pattern=r"^[0-9A-Fa-f.:]+/[0-9]{1,3}$", min_length=4, max_length=CIDR_MAX)
]
ServiceType = Literal["ClusterIP", "NodePort", "LoadBalancer"]
Port = Annotated[
    int | Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=15)],
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            "maxLength": 15,
            "x-kubernetes-int-or-string": True,
        }
    ),
]
_LabelKey = Annotated[str, Field(min_length=1, max_length=317)]
_LabelValue = Annotated[str, Field(max_length=63)]


def is_ip(text: str) -> bool:
    """Whether the text is an IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_cidr(text: str) -> bool:
    """Whether the text is a range of addresses; bits of a host behind the prefix are allowed."""
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return "/" in text


def is_wide(cidr: str) -> bool:
    """Whether the text is a range of addresses that is too large to say who is in it."""
    return is_cidr(cidr) and ipaddress.ip_interface(cidr).network.prefixlen < WIDE_PREFIX


def cel_of_wide(cidr: str) -> str:
    """CEL for the same; `cidr` is CEL for the text."""
    return f"isCIDR({cidr}) && cidr({cidr}).prefixLength() < {WIDE_PREFIX}"


class ServiceSpec(ApiModel):
    """The Service <name>-public that clients use."""

    type: ServiceType = Field(default="ClusterIP", description="Kind of Service.")
    annotations: Annotations | None = Field(
        default=None,
        description="Annotations of the Service, for instance for a load balancer.",
        examples=[{"service.kubernetes.io/topology-mode": "Auto"}],
    )


class LabelRequirement(ApiModel):
    """One requirement of a label selector."""

    key: _LabelKey = Field(description="Label key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="Comparison.")
    values: tuple[_LabelValue, ...] | None = Field(
        default=None, description="Values for In and NotIn.", max_length=32
    )


class LabelSelector(ApiModel):
    """A selector of pods or namespaces; an empty one selects all."""

    match_labels: Labels | None = Field(default=None, description="Labels with their values.")
    match_expressions: tuple[LabelRequirement, ...] | None = Field(
        default=None, description="Requirements; all must hold.", max_length=16
    )


class IpBlock(ApiModel):
    """A range of addresses."""

    cidr: Cidr = Field(description="The range.", examples=["192.0.2.0/24"])
    except_: tuple[Cidr, ...] | None = Field(
        default=None, alias="except", description="Ranges to leave out.", max_length=16
    )


class NetworkPolicyPeer(ApiModel):
    """Who may talk, or be talked to."""

    pod_selector: LabelSelector | None = Field(default=None, description="Pods of the peer.")
    namespace_selector: LabelSelector | None = Field(
        default=None, description="Their namespaces; left out, the cluster's own."
    )
    ip_block: IpBlock | None = Field(default=None, description="Addresses, instead of selectors.")


class NetworkPolicyPort(ApiModel):
    """A port that may be used."""

    protocol: Literal["TCP", "UDP", "SCTP"] | None = Field(
        default=None, description="Protocol; left out, TCP."
    )
    port: Port | None = Field(
        default=None, description="Port, by number or name; left out, all.", examples=[443]
    )
    end_port: int | None = Field(
        default=None, description="Last port of a range that starts at port.", ge=1, le=65535
    )


class EgressRule(ApiModel):
    """What the servers may reach."""

    to: tuple[NetworkPolicyPeer, ...] | None = Field(
        default=None, description="Destinations; left out, all.", max_length=16
    )
    ports: tuple[NetworkPolicyPort, ...] | None = Field(
        default=None, description="Ports; left out, all.", max_length=16
    )


class IngressRule(ApiModel):
    """Who may reach the servers."""

    from_: tuple[NetworkPolicyPeer, ...] | None = Field(
        default=None, alias="from", description="Sources; left out, all.", max_length=16
    )
    ports: tuple[NetworkPolicyPort, ...] | None = Field(
        default=None, description="Ports; left out, all.", max_length=16
    )


class Network(ApiModel):
    """What the NetworkPolicy of the servers lets through, beside what they cannot live without."""

    api_server_cidr: Cidr | None = Field(
        default=None,
        alias="apiServerCIDR",
        description=(
            "Addresses of the API server, which the servers label their pods through. Left out, "
            "they are discovered."
        ),
        examples=["10.96.0.1/32"],
    )
    api_server_endpoint_ips: tuple[IpAddress, ...] = Field(
        default=(),
        alias="apiServerEndpointIPs",
        description=(
            "Addresses behind the Service of the API server, for network plugins that check after "
            "address translation. Left out, they are discovered."
        ),
        examples=[["192.0.2.1"]],
        max_length=16,
        json_schema_extra=as_set(),
    )
    dns_namespace: str = Field(
        default="kube-system",
        description="Namespace of the DNS pods.",
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        max_length=63,
    )
    dns_endpoint_ips: tuple[IpAddress, ...] = Field(
        default=(),
        alias="dnsEndpointIPs",
        description="Addresses of DNS servers outside of pods, such as a cache on each node.",
        examples=[["169.254.20.10"]],
        max_length=16,
        json_schema_extra=as_set(),
    )
    egress_rules: tuple[EgressRule, ...] = Field(
        default=(),
        description=(
            "More egress, as in a NetworkPolicy. In profile Hardened a range wider than /8 needs "
            "the verb usewideegress, and never includes metadata servers of clouds."
        ),
        max_length=32,
    )
    ingress_rules: tuple[IngressRule, ...] = Field(
        default=(),
        description=(
            "More ingress, as in a NetworkPolicy. In profile Hardened each rule must name sources "
            "and ports, and needs the verb publishnetworking."
        ),
        max_length=32,
    )
    trusted_ingress_peers: tuple[NetworkPolicyPeer, ...] = Field(
        default=(),
        description=(
            "Who may reach the API port 8200, beside the cluster itself, the operator, and, unless "
            "profile is Hardened, the pods of its namespace."
        ),
        max_length=32,
    )


class ServiceAccountSpec(ApiModel):
    """The ServiceAccount of the pods."""

    name: SubdomainName | None = Field(
        default=None,
        description=(
            "Name of the ServiceAccount; left out, <name>-serviceaccount. An existing one is "
            "never changed, any other is made."
        ),
        max_length=200,
    )
    annotations: Annotations | None = Field(
        default=None, description="Annotations of it, for instance for workload identity."
    )
