"""Rules about the files of containers: volumes, configuration files, Secrets.

Uses contracts.datacenter.rules.service and runtime.quantity. Collected by
contracts.datacenter.rules.all_rules.
"""

import posixpath
from collections.abc import Iterator

from contracts.api.rules.reserved_names import SYSTEM_NAME, SYSTEM_SECRET_MESSAGE
from contracts.api.rules.rule import InvalidField
from contracts.api.values.field_path import value_at, values_at
from contracts.datacenter.container_files import Volume
from contracts.datacenter.rules.service import FORBIDDEN, REQUIRED, Find, ServiceRule
from contracts.datacenter.service_spec import BootstrapService, ServiceContainer
from contracts.naming import names
from runtime import quantity

_VOLUMES = "services[].volumes[]"
_FILES = "services[].configFiles[]"
_SECRETS = "services[].secrets[]"
# Not one pattern: the CEL cost of a pattern is the length of the path times that of the pattern.
_FORBIDDEN_SEGMENTS = ("//", "/..")
SECRET_REFERENCES = ("services[].env[].secret", _SECRETS, "imagePullSecrets[]")
"""Every reference of a service to a Secret; a test compares it with the model."""


def _path_rule(at: str, field: str, what: str) -> ServiceRule:
    is_file = what == "file"

    def find(service: BootstrapService) -> Iterator[InvalidField]:
        for path, value in values_at(service, at):
            text = value_at(value, field)
            if any(segment in text for segment in _FORBIDDEN_SEGMENTS) or (
                is_file and text.endswith("/")
            ):
                yield f"{path}.{field}", text

    return ServiceRule(
        id=f"path-{at.split('.')[-1].removesuffix('[]')}",
        at=at,
        field=f"{at}.{field}",
        message=(
            f"must be the path of a {what} without empty segments and without segments that begin "
            "with two dots; write the resolved path"
        ),
        find=find,
        cel=" && ".join(
            (
                *(f"!self.{field}.contains('{segment}')" for segment in _FORBIDDEN_SEGMENTS),
                *((f"!self.{field}.endsWith('/')",) if is_file else ()),
            )
        ),
    )


def _duplicate_paths(service: BootstrapService) -> Iterator[InvalidField]:
    for path, container in values_at(service, "services[]"):
        seen: set[str] = set()
        for field, text in _mount_paths(container):
            directory = posixpath.normpath(text)
            if directory in seen:
                yield f"{path}.{field}", text
            seen.add(directory)


def _mount_paths(container: ServiceContainer) -> Iterator[tuple[str, str]]:
    for path in ("volumes[].mountPath", "secrets[].mountPath", "configFiles[].path"):
        yield from values_at(container, path)


def _size_missing(service: BootstrapService) -> Iterator[InvalidField]:
    for path, volume in values_at(service, _VOLUMES):
        if volume.kind == "Persistent" and volume.size is None:
            yield f"{path}.size", None


def _size_not_positive(service: BootstrapService) -> Iterator[InvalidField]:
    for path, volume in values_at(service, _VOLUMES):
        if volume.size is not None and quantity.parse(volume.size) <= 0:
            yield f"{path}.size", volume.size


def _storage_class(service: BootstrapService) -> Iterator[InvalidField]:
    for path, volume in values_at(service, _VOLUMES):
        if volume.storage_class_name is not None and volume.kind != "Persistent":
            yield f"{path}.storageClassName", volume.storage_class_name


def _host_path(service: BootstrapService) -> Iterator[InvalidField]:
    for path, volume in values_at(service, _VOLUMES):
        if (volume.kind == "HostPath") != (volume.host_path is not None):
            yield f"{path}.hostPath", volume.host_path


def _host_size(service: BootstrapService) -> Iterator[InvalidField]:
    for path, volume in values_at(service, _VOLUMES):
        if volume.kind == "HostPath" and volume.size is not None:
            yield f"{path}.size", volume.size


def _inconsistent_volumes(service: BootstrapService) -> Iterator[InvalidField]:
    first: dict[str, Volume] = {}
    for path, volume in values_at(service, _VOLUMES):
        if _source_of(first.setdefault(volume.name, volume)) != _source_of(volume):
            yield path, volume.name


def _source_of(volume: Volume) -> tuple[object, ...]:
    size = None if volume.size is None else quantity.parse(volume.size)
    return volume.kind, size, volume.storage_class_name, volume.host_path


def _system_secret(path: str) -> Find:
    def find(service: BootstrapService) -> Iterator[InvalidField]:
        for location, reference in values_at(service, path):
            if reference is not None and SYSTEM_NAME.found_in(reference.name):
                yield f"{location}.name", reference.name

    return find


# Not a pattern: a service may have many variables, and CEL cost includes the pattern length.
_NO_SYSTEM_NAME = " && ".join(
    f"!self.name.endsWith('{suffix}')" for suffix in names.SYSTEM_SECRET_SUFFIXES
)


def _secret_rule(path: str) -> ServiceRule:
    return ServiceRule(
        id=f"secret-{path.replace('[]', '').removeprefix('services.')}",
        at=path,
        field=f"{path}.name",
        message=SYSTEM_SECRET_MESSAGE,
        find=_system_secret(path),
        cel=_NO_SYSTEM_NAME,
        got="self.name",
        reason=FORBIDDEN,
    )


FILE_RULES: tuple[ServiceRule, ...] = (
    _path_rule(_VOLUMES, "mountPath", "directory"),
    _path_rule(_SECRETS, "mountPath", "directory"),
    _path_rule(_FILES, "path", "file"),
    ServiceRule(
        id="paths",
        at="services[]",
        field="services[]",
        message=(
            "must use each path once in the volumes, secrets and configFiles of a container; "
            "choose another path"
        ),
        find=_duplicate_paths,
    ),
    ServiceRule(
        id="volume-size",
        at=_VOLUMES,
        field=f"{_VOLUMES}.size",
        message="must be set for kind Persistent, such as 10Gi",
        find=_size_missing,
        cel="self.kind != 'Persistent' || has(self.size)",
        reason=REQUIRED,
    ),
    ServiceRule(
        id="volume-room",
        at=_VOLUMES,
        field=f"{_VOLUMES}.size",
        message="must be greater than 0, such as 10Gi",
        find=_size_not_positive,
        cel="!has(self.size) || quantity(self.size).isGreaterThan(quantity('0'))",
        got="self.size",
    ),
    ServiceRule(
        id="volume-class",
        at=_VOLUMES,
        field=f"{_VOLUMES}.storageClassName",
        message="is only for kind Persistent; remove it or set that kind",
        find=_storage_class,
        cel="!has(self.storageClassName) || self.kind == 'Persistent'",
        reason=FORBIDDEN,
    ),
    ServiceRule(
        id="volume-host-path",
        at=_VOLUMES,
        field=f"{_VOLUMES}.hostPath",
        message="must be set for kind HostPath, and for no other; set it or remove it",
        find=_host_path,
        cel="(self.kind == 'HostPath') == has(self.hostPath)",
        got="self.kind",
    ),
    ServiceRule(
        id="volume-host-size",
        at=_VOLUMES,
        field=f"{_VOLUMES}.size",
        message="is not allowed for kind HostPath, which has no size limit; remove it",
        find=_host_size,
        cel="self.kind != 'HostPath' || !has(self.size)",
        reason=FORBIDDEN,
    ),
    ServiceRule(
        id="volumes-agree",
        field="services",
        message=(
            "must have the same kind, size, storageClassName and hostPath for a volume in all "
            "containers that share it; make them the same or rename one"
        ),
        find=_inconsistent_volumes,
    ),
    *map(_secret_rule, SECRET_REFERENCES),
)
