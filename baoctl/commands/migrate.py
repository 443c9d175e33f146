"""`baoctl migrate`: converts manifests of the public Go operator.

Pure: YAML in, YAML out. The table RULES contains the edits and their reasons. A field that requires
a decision of the user stays unchanged and is reported. Called by baoctl.verbs.migrate.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import semver
import yaml
from pydantic import BaseModel

from baoctl.commands.manifest_fields import unknown_paths
from baoctl.exit_codes import ExitCode, VerbError
from baoctl.yaml_text import TextError, objects_of, read_documents
from contracts import image_reference
from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.group import API_VERSION, CLUSTER_KIND, RESTORE_KIND, TENANT_KIND
from contracts.api.restore import OpenBaoRestore, RestoreSpec
from contracts.api.rules.cluster import violations
from contracts.api.rules.restore import restore_violations
from contracts.api.tenant import OpenBaoTenant, TenantSpec
from contracts.api.violation import InvalidClusterError
from contracts.conditions.message import clean_message
from runtime.limits.object_size import LAST_APPLIED
from runtime.types import Object

NO_UID = "00000000-0000-0000-0000-000000000000"
LOG_FOLDERS: Final = ("/openbao/logs/", "/var/log/openbao/", "/tmp/")  # noqa: S108 - in the pod
CACHE_SIZE: Final = "1Gi"
API_PORTS: Final = (8200, "api")
# Fields that the API server writes: a manifest with them cannot be applied to another cluster.
SERVER_FIELDS: Final = (
    "creationTimestamp",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
Spec = dict[str, Any]
_JOB_IMAGES: Final = ("image", "executorImage")
"""The field of the image of Jobs, and its former name."""
_OWN_IMAGE: Final = "the Jobs of this operator use its own image"


class MigrateError(VerbError):
    """The manifest cannot be read; one line, safe for a terminal."""


@dataclass(frozen=True, slots=True)
class MigrationRule:
    """One edit of the spec of a cluster, and its reason."""

    field: str
    reason: str
    edit: Callable[[Spec], str]
    """Edits the spec in place and returns a description; "" if the rule does not apply."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """One converted document."""

    document: Object
    changes: tuple[str, ...]
    open_decisions: tuple[str, ...]
    """The violations that remain; the user decides how to correct them."""

    @property
    def name(self) -> str:
        """Kind and name, for a message."""
        return f"{self.document.get('kind')} {(self.document.get('metadata') or {}).get('name')}"


def _init_container(spec: Spec) -> str:
    return "removed" if spec.pop("initContainer", None) is not None else ""


def _log_file(spec: Spec) -> str:
    logging = (spec.get("configuration") or {}).get("logging") or {}
    file = logging.get("file")
    if not isinstance(file, str) or file.startswith(LOG_FOLDERS):
        return ""
    audit = (spec.get("auditFileStorage") or {}).get("mountPath")
    if audit and file.startswith(f"{audit}/"):
        return ""
    for setting in ("file", "rotateBytes", "rotateDuration", "rotateMaxFiles"):
        logging.pop(setting, None)
    return f"removed {file}"


def _version(spec: Spec) -> str:
    image, version = spec.get("image"), spec.get("version")
    if not isinstance(image, str) or not isinstance(version, str):
        return ""
    if not image_reference.mismatch(image, version):
        return ""
    tag = image.partition("@")[0].rpartition(":")[2].removeprefix("v")
    if not semver.Version.is_valid(tag):
        return ""
    spec["version"] = tag
    return f"{tag} instead of {version}"


def _acme_cache(spec: Spec) -> str:
    tls = spec.get("tls") or {}
    acme = tls.get("acme")
    if tls.get("mode") != "ACME" or not isinstance(acme, dict) or acme.get("sharedCache"):
        return ""
    if spec.get("replicas", 3) == 1 and not spec.get("readReplicas"):
        return ""
    acme["sharedCache"] = {"mode": "ManagedPVC", "size": CACHE_SIZE}
    return f"a PVC of {CACHE_SIZE}; set storageClassName if the default class is not ReadWriteMany"


def _ingress_rules(spec: Spec) -> str:
    network = spec.get("network") or {}
    rules = network.get("ingressRules")
    if spec.get("profile") != "Hardened" or not isinstance(rules, list) or not rules:
        return ""
    # Only rules that are equivalent to trusted peers: the API port, and named sources.
    if not all(_allows_only_the_api(rule) for rule in rules):
        return ""
    peers = [peer for rule in rules for peer in rule["from"]]
    network["trustedIngressPeers"] = [*(network.get("trustedIngressPeers") or ()), *peers]
    del network["ingressRules"]
    return f"{len(peers)} peers moved to spec.network.trustedIngressPeers"


def _allows_only_the_api(rule: Any) -> bool:
    ports = rule.get("ports") or () if isinstance(rule, dict) else ()
    return bool(
        isinstance(rule, dict)
        and rule.get("from")
        and ports
        and all(port.get("port") in API_PORTS and "endPort" not in port for port in ports)
    )


def _restart(spec: Spec) -> str:
    maintenance = spec.get("maintenance") or {}
    if not maintenance.get("restartAt"):
        return ""
    text = maintenance.pop("restartAt")
    if not maintenance:
        del spec["maintenance"]
    runtime = spec.setdefault("runtime", {})
    runtime.setdefault("restartAt", text)
    return "moved to spec.runtime.restartAt"


def _job_image(block: str) -> Callable[[Spec], str]:
    def edit(spec: Spec) -> str:
        settings = spec.get(block)
        if not isinstance(settings, dict):
            return ""
        return ", ".join(filter(None, (_removed(settings, name) for name in _JOB_IMAGES)))

    return edit


def _removed(settings: Spec, name: str) -> str:
    value = settings.pop(name, None)
    return "" if value is None else f"removed {value}"


RULES: Final[tuple[MigrationRule, ...]] = (
    MigrationRule(
        "spec.initContainer",
        "the servers need no container that renders their configuration",
        _init_container,
    ),
    MigrationRule(
        "spec.maintenance.restartAt", "spec.runtime.restartAt replaces this field", _restart
    ),
    MigrationRule(
        "spec.version",
        "the operator refuses an image whose tag differs from spec.version",
        _version,
    ),
    MigrationRule(
        "spec.configuration.logging.file",
        "no volume is mounted there, so the server would not start; it logs to standard output",
        _log_file,
    ),
    MigrationRule(
        "spec.tls.acme.sharedCache",
        "the ACME provider may validate a name at any server, so the servers share their state",
        _acme_cache,
    ),
    MigrationRule(
        "spec.network.ingressRules",
        "in profile Hardened, ingressRules require an RBAC verb, and trustedIngressPeers do not",
        _ingress_rules,
    ),
    MigrationRule("spec.backup.image", _OWN_IMAGE, _job_image("backup")),
    MigrationRule("spec.upgrade.image", _OWN_IMAGE, _job_image("upgrade")),
)
"""The edits of a cluster, in their order; docs/migrate.md lists them."""
RESTORE_RULES: Final = (
    MigrationRule("spec.image", _OWN_IMAGE, lambda spec: _removed(spec, "image")),
)
"""The edits of an OpenBaoRestore."""


_SPECS: Final[Mapping[str, type[BaseModel]]] = {
    CLUSTER_KIND: ClusterSpec,
    RESTORE_KIND: RestoreSpec,
    TENANT_KIND: TenantSpec,
}
_RULES_OF: Final = {CLUSTER_KIND: RULES, RESTORE_KIND: RESTORE_RULES}


def migrate(document: Object) -> Migrated:
    """Convert a copy of one document; documents of other kinds stay unchanged."""
    edited = copy.deepcopy(document)
    if edited.get("apiVersion") != API_VERSION:
        return Migrated(edited, (), ())
    changes = [*_without_server_fields(edited)]
    if isinstance(edited.get("spec"), dict):
        for rule in _RULES_OF.get(str(edited.get("kind")), ()):
            change = rule.edit(edited["spec"])
            if change:
                changes.append(f"{rule.field}: {change}, because {rule.reason}")
    return Migrated(edited, tuple(changes), tuple(_violations(edited)))


def _without_server_fields(document: Object) -> Iterator[str]:
    metadata = document.get("metadata")
    if document.pop("status", None) is not None:
        yield "status: removed, because the operator writes it"
    if not isinstance(metadata, dict):
        return
    removed = [field for field in SERVER_FIELDS if metadata.pop(field, None) is not None]
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and annotations.pop(LAST_APPLIED, None) is not None:
        removed.append(f"annotations[{LAST_APPLIED}]")
        if not annotations:
            del metadata["annotations"]
    if removed:
        yield f"metadata: removed {', '.join(removed)}, because the API server writes them"


def _violations(document: Object) -> Iterator[str]:
    metadata = {"namespace": "default", "uid": NO_UID, **(document.get("metadata") or {})}
    whole = {**document, "metadata": metadata}
    try:
        match document.get("kind"):
            case kind if kind == CLUSTER_KIND:
                yield from map(str, violations(OpenBaoCluster.from_manifest(whole)))
            case kind if kind == RESTORE_KIND:
                yield from map(str, restore_violations(OpenBaoRestore.from_manifest(whole)))
            case kind if kind == TENANT_KIND:
                OpenBaoTenant.from_manifest(whole)
    except InvalidClusterError as error:
        yield from map(str, error.violations)
    model = _SPECS.get(str(document.get("kind")))
    if model is not None:
        for path in unknown_paths(document.get("spec"), model):
            yield f"{path}: there is no such field; correct or remove it"


def migrate_all(text: str | bytes) -> tuple[Migrated, ...]:
    """Convert all documents of a YAML text, and those of its lists. Raises MigrateError."""
    try:
        items = tuple(objects_of(read_documents(text)))
    except TextError as error:
        raise MigrateError(f"the manifest cannot be read: {error}") from None
    if not any(item.get("apiVersion") == API_VERSION for item in items):
        raise MigrateError(
            f"there is no object of {API_VERSION} in the manifest", ExitCode.NOT_FOUND
        )
    return tuple(migrate(item) for item in items)


def manifest_of(documents: tuple[Migrated, ...]) -> str:
    """Return the documents as YAML, in their order."""
    return yaml.safe_dump_all([document.document for document in documents], sort_keys=False)


def explanation_of(documents: tuple[Migrated, ...]) -> str:
    """Return one line for each change and each open decision."""
    lines = []
    for document in documents:
        lines += [f"{document.name}: changed: {text}" for text in document.changes]
        lines += [f"{document.name}: decide: {text}" for text in document.open_decisions]
        if not document.changes and not document.open_decisions:
            lines.append(f"{document.name}: needs no change")
    return "".join(f"{clean_message(line)}\n" for line in lines)
