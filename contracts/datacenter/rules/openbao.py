"""Validation of the spec of an OpenBaoCluster inside a service, as that of any cluster.

Uses contracts.api.cluster.spec, contracts.api.rules.cluster and contracts.datacenter.names. Called
by contracts.datacenter.rules.all_rules. It has no CEL, because the schema preserves unknown fields
there.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import API_VERSION, CLUSTER_KIND
from contracts.api.meta import thaw
from contracts.api.rules import cluster as cluster_rules
from contracts.api.violation import InvalidClusterError, Violation, format_value
from contracts.datacenter import names
from contracts.datacenter.service_spec import BootstrapService

UNKNOWN_MESSAGE = "is not a known field; remove it or correct its name"
_ANY = "dc"


def openbao_violations(
    service: BootstrapService, path: str, datacenter: str = ""
) -> tuple[Violation, ...]:
    """Return the violations of `openbao` of a service at `path`; none without that field.

    Without a datacenter, as in a set, the cluster has no name yet, so references to its own pods
    or Secrets are rejected. Unknown fields are rejected, because the API server would reject
    them when the cluster is created.
    """
    if service.openbao is None:
        return ()
    name = names.object_name(datacenter or _ANY, service.name)
    results = _violations(name, thaw(service.openbao))
    # The name of a service has its own rule.
    return tuple(
        Violation(
            _path_in_service(violation.field, path),
            violation.value,
            violation.rule,
            violation.message,
        )
        for violation in results
        if not violation.field.startswith("metadata")
    )


def _violations(name: str, spec: Any) -> tuple[Violation, ...]:
    body = {
        "apiVersion": API_VERSION,
        "kind": CLUSTER_KIND,
        "metadata": {"name": name},
        "spec": spec,
    }
    try:
        cluster = OpenBaoCluster.from_object(body)
    except InvalidClusterError as error:
        return error.violations
    return (*_unknown_fields(body), *cluster_rules.violations(cluster))


def _unknown_fields(body: dict[str, Any]) -> Iterator[Violation]:
    try:
        OpenBaoCluster.model_validate(body, extra="forbid")
    except ValidationError as error:
        for detail in error.errors():
            path = "".join(
                f"[{key}]" if isinstance(key, int) else f".{key}" for key in detail["loc"]
            )
            yield Violation(path[1:], format_value(detail["input"]), "schema", UNKNOWN_MESSAGE)


def _path_in_service(field: str, path: str) -> str:
    return f"{path}.openbao{field.removeprefix('spec')}".lstrip(".")
