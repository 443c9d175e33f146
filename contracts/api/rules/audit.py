"""Rules about spec.audit and spec.auditFileStorage.

Uses the API models, contracts.api.values.pod_paths and contracts.api.rules.server. Collected by
contracts.api.rules.cluster.
"""

from collections.abc import Callable, Iterable, Iterator

from contracts.api.cluster.audit import ACCEPTED_OPTIONS, Audit
from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.rules.checks import Predicate, all_of, group, has, is_set, it
from contracts.api.rules.combinators import invalid_fields, rule
from contracts.api.rules.rule import (
    FORBIDDEN,
    REQUIRED,
    FindInvalidFields,
    InvalidField,
    Old,
    Rule,
    RuleOf,
)
from contracts.api.rules.server import needs
from contracts.api.values.field_path import values_at
from contracts.api.values.pod_paths import (
    is_below,
    is_below_cel,
    is_free_folder,
    is_free_folder_cel,
)

_DEVICES = "spec.audit[]"
_STORAGE = "spec.auditFileStorage"
OWN_OPTIONS = all_of(
    group(~has(f"{kind}Options") | it("type").equals(kind))
    for kind in ("file", "http", "syslog", "socket")
)
"""An audit device has only the options of its type."""
NO_FILE = ("stdout", "discard")
_PATH_RULE = (
    "must be stdout, discard or a file below the mountPath of auditFileStorage, without .. in it, "
    "because elsewhere it could overwrite data or keys; correct the path or add "
    "spec.auditFileStorage"
)


def _missing_options(device: Audit) -> Iterator[InvalidField]:
    free = device.options or {}
    if device.type == "file" and not (device.file_options or free.get("file_path")):
        yield "fileOptions", None
    if device.type == "http" and not (device.http_options or free.get("uri")):
        yield "httpOptions", None


def _unknown_options(device: Audit) -> Iterator[InvalidField]:
    for key, value in (device.options or {}).items():
        plain = isinstance(value, str | bool | int | float)
        if key not in ACCEPTED_OPTIONS[device.type] or not plain:
            yield "options", key


def _device_files(spec: ClusterSpec) -> Iterable[InvalidField]:
    return values_at(spec, "audit[].fileOptions.filePath")


def _option_files(spec: ClusterSpec) -> Iterator[InvalidField]:
    for path, device in values_at(spec, "audit[]"):
        free = (device.options or {}).get("file_path")
        if device.file_options is None and device.type == "file" and free is not None:
            yield f"{path}.options", free


def _request_files(spec: ClusterSpec) -> Iterable[InvalidField]:
    return values_at(spec, "selfInit.requests[].auditDevice.fileOptions.filePath")


def _misplaced(find: Callable[[ClusterSpec], Iterable[InvalidField]]) -> FindInvalidFields:
    """Return a function that finds audit files outside of their volume. They must not be in the
    data volume: a full data volume stops the server, and the server has no permission for a
    directory below its root."""

    def find_invalid_fields(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
        storage = new.spec.audit_file_storage
        for path, file in find(new.spec):
            if file in NO_FILE:
                continue
            if (
                storage is None
                or not isinstance(file, str)
                or not is_below(file, storage.mount_path)
            ):
                yield f"spec.{path}", file

    return find_invalid_fields


def _is_placed(file: str) -> str:
    below = is_below_cel(file, "self.auditFileStorage.mountPath")
    return f"{file} in {list(NO_FILE)} || ({is_set('auditFileStorage.mountPath')} && {below})"


def _prefixes(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    if not new.spec.configuration.allow_audit_log_prefixing:
        for position, device in enumerate(new.spec.audit):
            if (device.options or {}).get("prefix"):
                yield f"spec.audit[{position}].options", "prefix"


def _http_devices(spec: ClusterSpec) -> Iterator[InvalidField]:
    for position, device in enumerate(spec.audit):
        if device.type == "http":
            yield f"spec.audit[{position}].type", "http"


def _storage_rule(field: str, mode: str, check: Predicate) -> Rule:
    is_required = check.cel.startswith("has")
    must, then = ("must be set", "add it") if is_required else ("must not be set", "remove it")
    return rule(
        f"audit-storage-{field.lower()}-{mode.lower()}",
        _STORAGE,
        field,
        f"{must} with mode {mode}; {then} or use the other mode",
        it("mode").differs(mode) | check,
        got="" if is_required else it(field),
        reason=REQUIRED if is_required else FORBIDDEN,
    )


AUDIT_RULES: tuple[Rule, ...] = (
    rule(
        "audit-options-type",
        _DEVICES,
        "",
        "must have only the options of its type; remove the others",
        OWN_OPTIONS,
        got=it("type"),
    ),
    RuleOf(
        "audit-options-missing",
        _DEVICES,
        _DEVICES,
        "must be set, because it has the destination of the device; add it",
        invalid_fields(_DEVICES, _missing_options),
    ),
    RuleOf(
        "audit-options-known",
        _DEVICES,
        f"{_DEVICES}.options",
        "must have only the options of this type of device, as text, number or boolean: "
        + "; ".join(f"{kind}: {', '.join(keys)}" for kind, keys in ACCEPTED_OPTIONS.items())
        + ". Remove the key",
        invalid_fields(_DEVICES, _unknown_options),
    ),
    rule(
        "audit-name",
        f"{_DEVICES}.path",
        "",
        "must not contain two dots or two slashes in a row; choose another name",
        ~it().contains("..") & ~it().contains("//"),
    ),
    RuleOf(
        "audit-file-place",
        "spec",
        "spec.audit",
        _PATH_RULE,
        _misplaced(_device_files),
        cel=(
            "!has(self.audit) || self.audit.all(device, !has(device.fileOptions) || "
            f"{_is_placed('device.fileOptions.filePath')})"
        ),
    ),
    RuleOf(
        "audit-file-place-request",
        "spec",
        "spec.selfInit.requests",
        _PATH_RULE,
        _misplaced(_request_files),
        cel=(
            f"!{is_set('selfInit.requests')} || self.selfInit.requests.all(r, "
            "!has(r.auditDevice) || !has(r.auditDevice.fileOptions) || "
            f"{_is_placed('r.auditDevice.fileOptions.filePath')})"
        ),
    ),
    RuleOf(
        "audit-file-place-options",
        _DEVICES,
        f"{_DEVICES}.options",
        _PATH_RULE,
        _misplaced(_option_files),
    ),
    RuleOf(
        "audit-prefix",
        _DEVICES,
        f"{_DEVICES}.options",
        "must not have prefix unless spec.configuration.allowAuditLogPrefixing is true, because "
        "the server rejects it; remove it or set allowAuditLogPrefixing",
        _prefixes,
    ),
    needs("http-audit", "audit-http-version", f"{_DEVICES}.type", _http_devices),
    rule(
        "audit-mount-place",
        f"{_STORAGE}.mountPath",
        "",
        "must be a separate directory, and not a directory of the system or the server or a parent "
        "of one; for example /openbao/audit",
        Predicate(is_free_folder_cel("self"), lambda folder, _: is_free_folder(folder)),
    ),
    rule(
        "audit-storage-size",
        f"{_STORAGE}.size",
        "",
        "must be more than 0; for example 10Gi",
        it().is_some(),
    ),
    rule(
        "audit-storage-shrinks",
        f"{_STORAGE}.size",
        "",
        "must not shrink, because volumes cannot; restore the previous value or set a larger one",
        it().no_smaller_than(it(of="oldSelf")),
        got="self + ' after ' + oldSelf",
    ),
    _storage_rule("existingClaimName", "ExistingPVC", has("existingClaimName")),
    _storage_rule("existingClaimName", "ManagedPVC", ~has("existingClaimName")),
    _storage_rule("size", "ManagedPVC", has("size")),
    _storage_rule("size", "ExistingPVC", ~has("size")),
    _storage_rule("storageClassName", "ExistingPVC", ~has("storageClassName")),
)
