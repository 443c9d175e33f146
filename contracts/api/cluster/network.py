"""spec.service and spec.network: the public Service, and the NetworkPolicy of the servers.

Uses contracts.api.meta. Part of ClusterSpec. Rules and peers have the format of
networking.k8s.io/v1, with bounds.
"""

import ipaddress
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from contracts.api.meta import Annotations, ApiModel, Labels, SubdomainName, as_set
from contracts.ip_address import is_cidr

IP_MAX = 45
CIDR_MAX = 49
WIDE_PREFIX = 8
"""A range with a shorter prefix is wide: more than 1/256 of all addresses, in both families."""

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


def is_wide(cidr: str) -> bool:
    """Return whether the text is a CIDR with a prefix shorter than WIDE_PREFIX."""
    return is_cidr(cidr) and ipaddress.ip_interface(cidr).network.prefixlen < WIDE_PREFIX


def cel_of_wide(cidr: str) -> str:
    """Return CEL for `is_wide`; `cidr` is CEL for the text."""
    return f"isCIDR({cidr}) && cidr({cidr}).prefixLength() < {WIDE_PREFIX}"


class ServiceSpec(ApiModel):
    """Service <name>-public, which clients use."""

    type: ServiceType = Field(default="ClusterIP", description="Type of the Service.")
    annotations: Annotations | None = Field(
        default=None,
        description="Annotations of the Service, for example for a load balancer.",
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
        default=None, alias="except", description="Ranges to exclude.", max_length=16
    )


class NetworkPolicyPeer(ApiModel):
    """Peer of a NetworkPolicy rule."""

    pod_selector: LabelSelector | None = Field(default=None, description="Pods of the peer.")
    namespace_selector: LabelSelector | None = Field(
        default=None, description="Their namespaces; if not set, that of the cluster."
    )
    ip_block: IpBlock | None = Field(default=None, description="Addresses, instead of selectors.")


class NetworkPolicyPort(ApiModel):
    """Port of a NetworkPolicy rule."""

    protocol: Literal["TCP", "UDP", "SCTP"] | None = Field(
        default=None, description="Protocol; if not set, TCP."
    )
    port: Port | None = Field(
        default=None, description="Port, by number or name; if not set, all.", examples=[443]
    )
    end_port: int | None = Field(
        default=None, description="Last port of a range that starts at port.", ge=1, le=65535
    )


class EgressRule(ApiModel):
    """Allowed traffic from the servers."""

    to: tuple[NetworkPolicyPeer, ...] | None = Field(
        default=None, description="Destinations; if not set, all.", max_length=16
    )
    ports: tuple[NetworkPolicyPort, ...] | None = Field(
        default=None, description="Ports; if not set, all.", max_length=16
    )


class IngressRule(ApiModel):
    """Allowed traffic to the servers."""

    from_: tuple[NetworkPolicyPeer, ...] | None = Field(
        default=None, alias="from", description="Sources; if not set, all.", max_length=16
    )
    ports: tuple[NetworkPolicyPort, ...] | None = Field(
        default=None, description="Ports; if not set, all.", max_length=16
    )


class Network(ApiModel):
    """Settings of the servers' NetworkPolicy, in addition to the traffic that they need."""

    api_server_cidr: Cidr | None = Field(
        default=None,
        alias="apiServerCIDR",
        description=(
            "Addresses of the API server, which the servers use to label their pods. If not set, "
            "they are discovered."
        ),
        examples=["10.96.0.1/32"],
    )
    api_server_endpoint_ips: tuple[IpAddress, ...] = Field(
        default=(),
        alias="apiServerEndpointIPs",
        description=(
            "Addresses of the endpoints of the API server, for network plugins that filter after "
            "address translation. If not set, they are discovered."
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
            "Additional egress, as in a NetworkPolicy. In profile Hardened a range wider than /8 "
            "needs the verb usewideegress, and never includes cloud metadata services."
        ),
        max_length=32,
    )
    ingress_rules: tuple[IngressRule, ...] = Field(
        default=(),
        description=(
            "Additional ingress, as in a NetworkPolicy. In profile Hardened each rule must have "
            "sources and ports, and needs the verb publishnetworking."
        ),
        max_length=32,
    )
    trusted_ingress_peers: tuple[NetworkPolicyPeer, ...] = Field(
        default=(),
        description=(
            "Additional peers of the API port 8200. The cluster, the operator and, unless profile "
            "is Hardened, the pods of its namespace are always allowed."
        ),
        max_length=32,
    )


class ServiceAccountSpec(ApiModel):
    """ServiceAccount of the pods."""

    name: SubdomainName | None = Field(
        default=None,
        description=(
            "Name of the ServiceAccount; if not set, <name>-serviceaccount. If it does not exist, "
            "the operator creates it; an existing one is never changed."
        ),
        max_length=200,
    )
    annotations: Annotations | None = Field(
        default=None,
        description="Annotations of the ServiceAccount, for example for workload identity.",
    )
