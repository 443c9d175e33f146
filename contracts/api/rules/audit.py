"""Rules about spec.audit and spec.auditFileStorage.

Uses the API models, contracts.api.values.pod_paths and contracts.server_features. Collected by
contracts.api.rules.cluster.
"""

from collections.abc import Callable, Iterator

from contracts.api.cluster.audit import ACCEPTED_OPTIONS, AuditFileStorage
from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.rules.rule import Broken, Offence, Rule, is_set
from contracts.api.rules.server import needs
from contracts.api.values.pod_paths import (
    is_below,
    is_below_cel,
    is_free_folder,
    is_free_folder_cel,
)
from runtime import quantity

Old = OpenBaoCluster | None

_DEVICES = "spec.audit[]"
_STORAGE = "spec.auditFileStorage"
_KINDS = ("file", "http", "syslog", "socket")
NO_FILE = ("stdout", "discard")
_PATH_RULE = (
    "must be stdout, discard or a file below the mountPath of auditFileStorage, without .. in it, "
    "because elsewhere it could overwrite data or keys; correct the path or add "
    "spec.auditFileStorage"
)


def _foreign_options(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for position, device in enumerate(new.spec.audit):
        configured = [kind for kind, block in device.blocks().items() if block is not None]
        if configured not in ([], [device.type]):
            yield f"spec.audit[{position}]", device.type


def _missing_options(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for position, device in enumerate(new.spec.audit):
        free = device.options or {}
        if device.type == "file" and not (device.file_options or free.get("file_path")):
            yield f"spec.audit[{position}].fileOptions", None
        if device.type == "http" and not (device.http_options or free.get("uri")):
            yield f"spec.audit[{position}].httpOptions", None


def _unknown_options(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for position, device in enumerate(new.spec.audit):
        for key, value in (device.options or {}).items():
            plain = isinstance(value, str | bool | int | float)
            if key not in ACCEPTED_OPTIONS[device.type] or not plain:
                yield f"spec.audit[{position}].options", key


def _device_files(spec: ClusterSpec) -> Iterator[Offence]:
    for position, device in enumerate(spec.audit):
        if device.file_options is not None:
            yield f"spec.audit[{position}].fileOptions.filePath", device.file_options.file_path


def _option_files(spec: ClusterSpec) -> Iterator[Offence]:
    for position, device in enumerate(spec.audit):
        free = (device.options or {}).get("file_path")
        if device.file_options is None and device.type == "file" and free is not None:
            yield f"spec.audit[{position}].options", free


def _request_files(spec: ClusterSpec) -> Iterator[Offence]:
    for position, request in enumerate(spec.self_init.requests if spec.self_init else ()):
        audit = request.audit_device
        if audit is not None and audit.file_options is not None:
            path = f"spec.selfInit.requests[{position}].auditDevice.fileOptions.filePath"
            yield path, audit.file_options.file_path


def _misplaced(find: Callable[[ClusterSpec], Iterator[Offence]]) -> Broken:
    """Keep audit files off everything else. They have no place on the data volume: a full one
    stops the server, and below its root a server without rights could not make a folder."""

    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        storage = new.spec.audit_file_storage
        for path, file in find(new.spec):
            if file in NO_FILE:
                continue
            if (
                storage is None
                or not isinstance(file, str)
                or not is_below(file, storage.mount_path)
            ):
                yield path, file

    return broken


def _climbing_name(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for position, device in enumerate(new.spec.audit):
        if ".." in device.path or "//" in device.path:
            yield f"spec.audit[{position}].path", device.path


def _is_placed(file: str) -> str:
    below = is_below_cel(file, "self.auditFileStorage.mountPath")
    return f"{file} in {list(NO_FILE)} || ({is_set('auditFileStorage.mountPath')} && {below})"


def _prefixes(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if not new.spec.configuration.allow_audit_log_prefixing:
        for position, device in enumerate(new.spec.audit):
            if (device.options or {}).get("prefix"):
                yield f"spec.audit[{position}].options", "prefix"


def _http_devices(spec: ClusterSpec) -> Iterator[Offence]:
    for position, device in enumerate(spec.audit):
        if device.type == "http":
            yield f"spec.audit[{position}].type", "http"


def _mount_path(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    storage = new.spec.audit_file_storage
    if storage is not None and not is_free_folder(storage.mount_path):
        yield f"{_STORAGE}.mountPath", storage.mount_path


def _size(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    size = new.spec.audit_file_storage.size if new.spec.audit_file_storage else None
    if size is not None and quantity.parse(size) <= 0:
        yield f"{_STORAGE}.size", size


def _size_shrinks(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    size = new.spec.audit_file_storage.size if new.spec.audit_file_storage else None
    before = old.spec.audit_file_storage.size if old and old.spec.audit_file_storage else None
    if size and before and quantity.parse(size) < quantity.parse(before):
        yield f"{_STORAGE}.size", size


def _by_mode(mode: str, attribute: str, required: bool, field: str) -> Broken:
    """Complain when a field is there, or is not, in one mode of the storage."""

    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        storage: AuditFileStorage | None = new.spec.audit_file_storage
        if storage is not None and storage.mode == mode:
            value = getattr(storage, attribute)
            if (value is not None) != required:
                yield f"{_STORAGE}.{field}", value

    return broken


def _mode_rule(field: str, attribute: str, mode: str, *, required: bool) -> Rule:
    must, then = ("must be set", "add it") if required else ("must not be set", "remove it")
    return Rule(
        id=f"audit-storage-{field.lower()}-{mode.lower()}",
        at=_STORAGE,
        field=f"{_STORAGE}.{field}",
        message=f"{must} with mode {mode}; {then} or use the other mode",
        broken=_by_mode(mode, attribute, required, field),
        cel=f"self.mode != '{mode}' || {'' if required else '!'}has(self.{field})",
        got="" if required else f"self.{field}",
        reason="FieldValueRequired" if required else "FieldValueForbidden",
    )


AUDIT_RULES: tuple[Rule, ...] = (
    Rule(
        id="audit-options-type",
        at=_DEVICES,
        field=_DEVICES,
        message="must have the options of its own type only; remove the others",
        broken=_foreign_options,
        cel=" && ".join(f"(!has(self.{kind}Options) || self.type == '{kind}')" for kind in _KINDS),
        got="self.type",
    ),
    Rule(
        id="audit-options-missing",
        at=_DEVICES,
        field=_DEVICES,
        message="must be set: without it the device does not know where to write; add it",
        broken=_missing_options,
        cel="",
    ),
    Rule(
        id="audit-options-known",
        at=_DEVICES,
        field=f"{_DEVICES}.options",
        message=(
            "must hold only what a device of this type reads, as text, number or boolean: "
            + "; ".join(f"{kind}: {', '.join(keys)}" for kind, keys in ACCEPTED_OPTIONS.items())
            + ". Remove the key"
        ),
        broken=_unknown_options,
    ),
    Rule(
        id="audit-name",
        at=f"{_DEVICES}.path",
        field=f"{_DEVICES}.path",
        message="must not hold two dots or two slashes in a row; choose a plain name",
        broken=_climbing_name,
        cel="!self.contains('..') && !self.contains('//')",
    ),
    Rule(
        id="audit-file-place",
        at="spec",
        field="spec.audit",
        message=_PATH_RULE,
        broken=_misplaced(_device_files),
        cel=(
            "!has(self.audit) || self.audit.all(device, !has(device.fileOptions) || "
            f"{_is_placed('device.fileOptions.filePath')})"
        ),
    ),
    Rule(
        id="audit-file-place-request",
        at="spec",
        field="spec.selfInit.requests",
        message=_PATH_RULE,
        broken=_misplaced(_request_files),
        cel=(
            f"!{is_set('selfInit.requests')} || self.selfInit.requests.all(r, "
            "!has(r.auditDevice) || !has(r.auditDevice.fileOptions) || "
            f"{_is_placed('r.auditDevice.fileOptions.filePath')})"
        ),
    ),
    Rule(
        id="audit-file-place-options",
        at=_DEVICES,
        field=f"{_DEVICES}.options",
        message=_PATH_RULE,
        broken=_misplaced(_option_files),
    ),
    Rule(
        id="audit-prefix",
        at=_DEVICES,
        field=f"{_DEVICES}.options",
        message=(
            "must not hold prefix unless spec.configuration.allowAuditLogPrefixing is true, "
            "because the server refuses it; remove it or set that"
        ),
        broken=_prefixes,
    ),
    needs("http-audit", "audit-http-version", f"{_DEVICES}.type", _http_devices),
    Rule(
        id="audit-mount-place",
        at=f"{_STORAGE}.mountPath",
        field=f"{_STORAGE}.mountPath",
        message=(
            "must be a folder of its own, not one of the system or of the server and none around "
            "them; /openbao/audit is a good value"
        ),
        broken=_mount_path,
        cel=is_free_folder_cel("self"),
    ),
    Rule(
        id="audit-storage-size",
        at=f"{_STORAGE}.size",
        field=f"{_STORAGE}.size",
        message="must be more than 0; 10Gi is a good value",
        broken=_size,
        cel="quantity(self).isGreaterThan(quantity('0'))",
    ),
    Rule(
        id="audit-storage-shrinks",
        at=f"{_STORAGE}.size",
        field=f"{_STORAGE}.size",
        message="must not shrink, because volumes cannot; restore the former value or a larger one",
        broken=_size_shrinks,
        cel="quantity(self).compareTo(quantity(oldSelf)) >= 0",
        got="self + ' after ' + oldSelf",
    ),
    _mode_rule("existingClaimName", "existing_claim_name", "ExistingPVC", required=True),
    _mode_rule("existingClaimName", "existing_claim_name", "ManagedPVC", required=False),
    _mode_rule("size", "size", "ManagedPVC", required=True),
    _mode_rule("size", "size", "ExistingPVC", required=False),
    _mode_rule("storageClassName", "storage_class_name", "ExistingPVC", required=False),
)
