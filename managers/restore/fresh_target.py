"""Builds the cluster that a restore creates from its template: one server. Pure.

It has the profile Development, because the snapshot replaces its data, and initializes itself with
a login for the job, so that no root token exists. A retained cluster survives the deletion of the
restore: it has no owner, and an annotation stores its origin.
"""

from __future__ import annotations

from typing import Any, Final

from contracts.api.cluster.cluster_template import ClusterTemplate
from contracts.api.group import CLUSTERS
from contracts.api.meta import thaw
from contracts.api.restore import RestoreSpec
from contracts.naming import labels
from managers.restore.inputs import ExpectedSnapshot, RestoreFailure
from runtime.types import Object, ObjectKey

# Self-init requires at least one request. Only the job logs in, and oidc creates its role, so this
# request is a placeholder. The snapshot replaces all of this data.
PLACEHOLDER: Final[dict[str, Any]] = {
    "name": "until-restored",
    "operation": "update",
    "path": "sys/policies/acl/until-restored",
    "policy": {"policy": 'path "sys/health" { capabilities = ["read"] }'},
}
DEFAULT_STORAGE: Final = {"size": "10Gi"}
COPIED: Final = ("image", "imagePullSecrets", "unseal", "serviceAccount", "plugins", "resources")
"""Fields of the template that are copied unchanged to the cluster spec."""


def fresh_cluster(
    key: ObjectKey, uid: str, spec: RestoreSpec, expected: ExpectedSnapshot
) -> Object | RestoreFailure:
    """Build the cluster, or return what is missing. `key` and `uid` are those of the restore."""
    template = spec.cluster_template
    version = (template.version if template else None) or expected.version
    if template is None or not version:
        return RestoreFailure(
            "InvalidSpec",
            "spec.clusterTemplate.version: the OpenBao version of the snapshot is unknown; set the "
            "version",
        )
    disposable = spec.target_lifecycle == "Disposable"
    return {
        "apiVersion": CLUSTERS.api_version,
        "kind": CLUSTERS.kind,
        "metadata": {
            "name": spec.cluster,
            "namespace": key.namespace,
            "labels": {labels.MANAGED_BY: labels.OPERATOR},
            "annotations": {labels.RESTORE_ORIGIN: uid},
        },
        "spec": {
            **_spec(template),
            "version": version,
            "deletionPolicy": "DeleteAll" if disposable else "Retain",
        },
    }


def _spec(template: ClusterTemplate) -> dict[str, Any]:
    fields = template.to_object()
    spec: dict[str, Any] = {
        "profile": "Development",
        "replicas": 1,
        "storage": fields.get("storage") or dict(DEFAULT_STORAGE),
        "tls": fields.get("tls") or {"enabled": True, "mode": "OperatorManaged"},
        "selfInit": {"enabled": True, "oidc": {"enabled": True}, "requests": [PLACEHOLDER]},
    }
    for field in COPIED:
        if fields.get(field):
            spec[field] = thaw(fields[field])
    if fields.get("podMetadata"):
        spec["podMetadata"] = thaw(fields["podMetadata"])
    return spec
