"""Rules about one shared service as a whole: the required and forbidden fields of each kind.

Uses contracts.datacenter.service_spec and the patterns of contracts.api. Collected by
contracts.datacenter.rules.all_rules, which applies them to every service.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from contracts.api.rules.rule import CelReason, InvalidField
from contracts.api.values.field_path import value_at, values_at
from contracts.api.values.pattern import Pattern
from contracts.datacenter.names import OPENBAO_READY
from contracts.datacenter.service_spec import OBJECTS_KIND, BootstrapService
from contracts.naming import names

Find = Callable[[BootstrapService], Iterator[InvalidField]]
"""Returns the invalid fields of one service; fields are relative to it."""

FORBIDDEN: CelReason = "FieldValueForbidden"
REQUIRED: CelReason = "FieldValueRequired"
_VAULT = "OpenBaoCluster"
_WITHOUT_PODS = (_VAULT, OBJECTS_KIND)
_KINDS_WITH_REPLICAS = ("Deployment", "StatefulSet")


@dataclass(frozen=True, slots=True)
class ServiceRule:
    """A rule about a service; `at` and `field` are relative to it, "" for the service itself.

    `cel` may check less than `find`, because of its cost; empty without a CEL rule.
    """

    id: str
    field: str
    message: str
    find: Find
    cel: str = ""
    at: str = ""
    got: str = ""
    reason: CelReason = "FieldValueInvalid"


def _main(service: BootstrapService) -> Iterator[InvalidField]:
    mains = [container.name for container in service.services if container.role == "Main"]
    if service.kind not in _WITHOUT_PODS and len(mains) != 1:
        yield "services", ", ".join(mains) or None


def _containers(service: BootstrapService) -> Iterator[InvalidField]:
    if service.kind in _WITHOUT_PODS and service.services:
        yield "services", ", ".join(container.name for container in service.services)


def _openbao_missing(service: BootstrapService) -> Iterator[InvalidField]:
    if service.kind == _VAULT and service.openbao is None:
        yield "openbao", None


def _openbao_of_other_kind(service: BootstrapService) -> Iterator[InvalidField]:
    if service.kind != _VAULT and service.openbao is not None:
        yield "openbao", service.kind


def _replicas(service: BootstrapService) -> Iterator[InvalidField]:
    if service.replicas is not None and service.kind not in _KINDS_WITH_REPLICAS:
        yield "replicas", service.replicas


def _persistent(service: BootstrapService) -> Iterator[InvalidField]:
    for path, volume in values_at(service, "services[].volumes[]"):
        if volume.kind == "Persistent" and service.kind != "StatefulSet":
            yield f"{path}.kind", volume.kind


def _host_paths(service: BootstrapService) -> Iterator[InvalidField]:
    for path, volume in values_at(service, "services[].volumes[]"):
        if volume.kind == "HostPath" and service.kind != "DaemonSet":
            yield f"{path}.kind", volume.kind


def _self_dependency(service: BootstrapService) -> Iterator[InvalidField]:
    own = (service.name, OPENBAO_READY) if service.kind == _VAULT else (service.name,)
    for position, name in enumerate(service.depends_on):
        if name in own:
            yield f"dependsOn[{position}]", name


_RESERVED_NAME = Pattern(f"({'|'.join(names.RESERVED_SUFFIXES)}|{names.REVISION_SUFFIX[:-1]})$")


def _cluster_name(service: BootstrapService) -> Iterator[InvalidField]:
    if service.kind == _VAULT and _RESERVED_NAME.found_in(f"-{service.name}"):
        yield "name", service.name


def _account(service: BootstrapService) -> Iterator[InvalidField]:
    name = service.service_account_name
    if name is not None and name.endswith(names.JOB_ACCOUNT_SUFFIXES):
        yield "serviceAccountName", name


_IS_VAULT = f"self.kind == '{_VAULT}'"
_NO_VAULT = f"self.kind != '{_VAULT}'"
_HAS_PODS = f"!(self.kind in {list(_WITHOUT_PODS)!r})"
_NO_JOBS = " && ".join(
    f"!self.serviceAccountName.endsWith('{suffix}')" for suffix in names.JOB_ACCOUNT_SUFFIXES
)
_POD_FIELDS = (
    "annotations",
    "nodeSelector",
    "tolerations",
    "runAsUser",
    "serviceAccountName",
    "imagePullSecrets",
)
"""Fields about pods, which are part of `openbao` and `objects` for kinds without pods."""


def _pod_field_rule(field: str) -> ServiceRule:
    def find(service: BootstrapService) -> Iterator[InvalidField]:
        if service.kind in _WITHOUT_PODS and value_at(service, field):
            yield field, service.kind

    scalar = field in ("runAsUser", "serviceAccountName")
    empty = "" if scalar else f" || size(self.{field}) == 0"
    return ServiceRule(
        id=f"openbao-{field}",
        field=field,
        message=(
            "is not allowed for kinds OpenBaoCluster and Objects, which configure their pods "
            "themselves; set it in openbao or objects instead"
        ),
        find=find,
        cel=f"{_HAS_PODS} || !has(self.{field}){empty}",
        reason=FORBIDDEN,
    )


SERVICE_RULES: tuple[ServiceRule, ...] = (
    ServiceRule(
        id="main",
        field="services",
        message=(
            "must have exactly one container of role Main, which is the default role; set role "
            "Sidecar or Init for the others"
        ),
        find=_main,
        cel=(
            f"!({_HAS_PODS}) || "
            "(has(self.services) && self.services.exists_one(p, p.role == 'Main'))"
        ),
    ),
    ServiceRule(
        id="openbao-containers",
        field="services",
        message="must be empty for kinds OpenBaoCluster and Objects; remove it",
        find=_containers,
        cel=f"{_HAS_PODS} || !has(self.services) || size(self.services) == 0",
        reason=FORBIDDEN,
    ),
    ServiceRule(
        id="openbao-required",
        field="openbao",
        message="must be set for kind OpenBaoCluster; add the spec of the cluster",
        find=_openbao_missing,
        cel=f"{_NO_VAULT} || has(self.openbao)",
        reason=REQUIRED,
    ),
    ServiceRule(
        id="openbao-stray",
        field="openbao",
        message="is only for kind OpenBaoCluster; remove it or set that kind",
        find=_openbao_of_other_kind,
        cel=f"{_IS_VAULT} || !has(self.openbao)",
        got="self.kind",
        reason=FORBIDDEN,
    ),
    *map(_pod_field_rule, _POD_FIELDS),
    ServiceRule(
        id="openbao-name",
        field="name",
        message=(
            f"must not end like one of {', '.join(names.RESERVED_SUFFIXES)} or in 16 hexadecimal "
            "digits for kind OpenBaoCluster, because its other objects have such names; choose "
            "another name"
        ),
        find=_cluster_name,
        cel=f"{_NO_VAULT} || !{_RESERVED_NAME.cel('(' + repr('-') + ' + self.name)')}",
        got="self.name",
    ),
    ServiceRule(
        id="replicas",
        field="replicas",
        message=(
            "is only for kinds Deployment and StatefulSet; remove it (an OpenBaoCluster has "
            "openbao.replicas, a DaemonSet one pod per node)"
        ),
        find=_replicas,
        cel=f"!has(self.replicas) || self.kind in {list(_KINDS_WITH_REPLICAS)}",
        reason=FORBIDDEN,
    ),
    ServiceRule(
        id="persistent",
        field="services",
        message=(
            "may have volumes of kind Persistent for kind StatefulSet only, because only its pods "
            "have stable names; use EmptyDir, or kind StatefulSet"
        ),
        find=_persistent,
        cel=(
            "self.kind == 'StatefulSet' || !has(self.services) || "
            "self.services.all(p, !has(p.volumes) || p.volumes.all(v, v.kind != 'Persistent'))"
        ),
        reason=FORBIDDEN,
    ),
    ServiceRule(
        id="host-path",
        field="services",
        message=(
            "may have volumes of kind HostPath for kind DaemonSet only, because only its pods are "
            "bound to a node; use EmptyDir, or kind DaemonSet"
        ),
        find=_host_paths,
        cel=(
            "self.kind == 'DaemonSet' || !has(self.services) || "
            "self.services.all(p, !has(p.volumes) || p.volumes.all(v, v.kind != 'HostPath'))"
        ),
        reason=FORBIDDEN,
    ),
    ServiceRule(
        id="depends-on-itself",
        field="dependsOn",
        message=(
            "must not name the service itself, nor openbao:ready for kind OpenBaoCluster, because "
            "it would wait forever; remove that name"
        ),
        find=_self_dependency,
        cel=(
            "!has(self.dependsOn) || (!(self.name in self.dependsOn) && "
            f"({_NO_VAULT} || !('{OPENBAO_READY}' in self.dependsOn)))"
        ),
    ),
    ServiceRule(
        id="account",
        field="serviceAccountName",
        message=(
            "must not be the ServiceAccount of a Job of the operator "
            f"({', '.join(names.JOB_ACCOUNT_SUFFIXES)}), whose pods may log in to OpenBao; "
            "create another one"
        ),
        find=_account,
        cel=f"!has(self.serviceAccountName) || ({_NO_JOBS})",
        got="self.serviceAccountName",
        reason=FORBIDDEN,
    ),
)
