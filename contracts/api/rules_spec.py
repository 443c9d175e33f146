"""Rules about the name of a cluster, its TLS, storage, seal, account and configuration.

Uses contracts.names and the API models. Collected by contracts.api.rules.
"""

import re
from collections.abc import Iterator
from datetime import timedelta

from contracts import names
from contracts.api.cluster import OpenBaoCluster
from contracts.api.meta import parse_duration
from contracts.api.network import is_ip
from contracts.api.rule import Offence, Rule, either
from contracts.api.seal import KEY_ID, KEY_PATH
from runtime import quantity

Old = OpenBaoCluster | None

ROTATION_MIN = "1h"
# Server certificates live 365 days: a longer period would reissue them on every pass.
ROTATION_MAX = "8736h"
_SHORTEST, _LONGEST = parse_duration(ROTATION_MIN), parse_duration(ROTATION_MAX)
_DNS_LABEL = "[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?"
_DNS_NAME = rf"^(\*\.)?{_DNS_LABEL}(\.{_DNS_LABEL})*$"
_TOO_OLD = r"^v?([01]\.|2\.[0-3]\.)"
_SYSTEM_NAME = f"({'|'.join(names.SYSTEM_SECRET_SUFFIXES)})$"
_RESERVED_NAME = f"({'|'.join(names.RESERVED_SUFFIXES)})$"


def _name(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    name = new.metadata.name
    if len(name) > names.CLUSTER_NAME_MAX or not re.search(names.CLUSTER_NAME_PATTERN, name):
        yield "metadata.name", name


def _reserved_name(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if new.metadata.name.endswith(names.RESERVED_SUFFIXES):
        yield "metadata.name", new.metadata.name


def _tls_enabled(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if not new.spec.tls.enabled:
        yield "spec.tls.enabled", False


def _duration(text: str) -> timedelta | None:
    """The duration; None for one too long to count, which the pattern of the schema lets pass."""
    try:
        return parse_duration(text)
    except ValueError:
        return None


def _rotation_period(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    period = _duration(new.spec.tls.rotation_period)
    if period is None or not _SHORTEST <= period <= _LONGEST:
        yield "spec.tls.rotationPeriod", new.spec.tls.rotation_period


def _extra_sans(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for position, name in enumerate(new.spec.tls.extra_sans):
        if not is_ip(name) and not re.search(_DNS_NAME, name):
            yield f"spec.tls.extraSANs[{position}]", name


def _size_positive(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if quantity.parse(new.spec.storage.size) <= 0:
        yield "spec.storage.size", new.spec.storage.size


def _size_shrinks(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    size = new.spec.storage.size
    if old and quantity.parse(size) < quantity.parse(old.spec.storage.size):
        yield "spec.storage.size", size


def _storage_class(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    wanted = new.spec.storage.storage_class_name
    if old and wanted != old.spec.storage.storage_class_name:
        yield "spec.storage.storageClassName", wanted


def _seal_type(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if old and new.spec.unseal.type != old.spec.unseal.type:
        yield "spec.unseal.type", new.spec.unseal.type


def _static_key(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if old and new.spec.unseal.static_key() != old.spec.unseal.static_key():
        yield "spec.unseal.static", new.spec.unseal.static_key().current_key_id


def _secret_of(cluster: OpenBaoCluster) -> str | None:
    reference = cluster.spec.unseal.credentials_secret_ref
    return reference.name if reference else None


def _static_secret(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    changed = old is not None and _secret_of(new) != _secret_of(old)
    if changed and new.spec.unseal.type == "static":
        yield "spec.unseal.credentialsSecretRef", _secret_of(new)


def _system_secret(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    name = _secret_of(new)
    if name and name.endswith(names.SYSTEM_SECRET_SUFFIXES):
        yield "spec.unseal.credentialsSecretRef.name", name


def _static_seal_version(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if new.spec.unseal.type == "static" and re.search(_TOO_OLD, new.spec.version):
        yield "spec.version", new.spec.version


def _default_account(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    account = new.spec.service_account
    if account and account.name == "default":
        yield "spec.serviceAccount.name", "default"


def _lease_ttls(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    settings = new.spec.configuration
    if settings.default_lease_ttl is None or settings.max_lease_ttl is None:
        return
    least, most = _duration(settings.default_lease_ttl), _duration(settings.max_lease_ttl)
    if least is None or most is None or most < least:
        yield "spec.configuration.maxLeaseTTL", settings.max_lease_ttl


def _seal_of(of: str) -> str:
    return either("unseal.type", "'static'", of)


def _key_of(of: str) -> str:
    return either("unseal.static.currentKey", f"'file://{KEY_PATH}'", of)


def _key_id_of(of: str) -> str:
    return either("unseal.static.currentKeyID", f"'{KEY_ID}'", of)


def _credentials_of(of: str) -> str:
    return either("unseal.credentialsSecretRef.name", "''", of)


_CLASS_OF = {of: either("storageClassName", "''", of) for of in ("self", "oldSelf")}
_IS_STATIC = f"{_seal_of('self')} == 'static'"

SPEC_RULES: tuple[Rule, ...] = (
    Rule(
        id="cluster-name",
        at="",
        field="metadata.name",
        message=(
            "metadata.name must be 1 to 40 lower-case letters, digits and dashes that start with a "
            "letter and end with a letter or digit; choose another name"
        ),
        broken=_name,
        cel=(
            f"self.metadata.name.size() <= {names.CLUSTER_NAME_MAX} && "
            f"self.metadata.name.matches(r'{names.CLUSTER_NAME_PATTERN}')"
        ),
        got="self.metadata.name",
    ),
    Rule(
        id="cluster-name-reserved",
        at="",
        field="metadata.name",
        message=(
            "metadata.name must not end in -acme, -public or -read, which are names of Services of "
            "other clusters; choose another name"
        ),
        broken=_reserved_name,
        cel=f"!self.metadata.name.matches('{_RESERVED_NAME}')",
        got="self.metadata.name",
    ),
    Rule(
        id="tls-enabled",
        at="spec.tls",
        field="spec.tls.enabled",
        message=(
            "must be true: probes, raft joins and the operator speak TLS only, so the cluster "
            "could never start; remove the field"
        ),
        broken=_tls_enabled,
        cel="!has(self.enabled) || self.enabled",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="rotation-period",
        at="spec.tls.rotationPeriod",
        field="spec.tls.rotationPeriod",
        message=(
            f"must be a duration from {ROTATION_MIN} to {ROTATION_MAX}, because a server "
            "certificate lives 365 days; 720h is a good value"
        ),
        broken=_rotation_period,
        cel=(
            f"duration(self) >= duration('{ROTATION_MIN}') && "
            f"duration(self) <= duration('{ROTATION_MAX}')"
        ),
    ),
    Rule(
        id="extra-sans",
        at="spec.tls.extraSANs[]",
        field="spec.tls.extraSANs[]",
        message="must be a DNS name or an IP address; correct the entry",
        broken=_extra_sans,
        cel=f"isIP(self) || self.matches(r'{_DNS_NAME}')",
    ),
    Rule(
        id="storage-size",
        at="spec.storage.size",
        field="spec.storage.size",
        message="must be more than 0; 10Gi is a good value",
        broken=_size_positive,
        cel="quantity(self).isGreaterThan(quantity('0'))",
    ),
    Rule(
        id="storage-size-shrinks",
        at="spec.storage.size",
        field="spec.storage.size",
        message="must not shrink, because volumes cannot; restore the former value or a larger one",
        broken=_size_shrinks,
        cel="quantity(self).compareTo(quantity(oldSelf)) >= 0",
        got="self + ' after ' + oldSelf",
    ),
    Rule(
        id="storage-class-immutable",
        at="spec.storage",
        field="spec.storage.storageClassName",
        message=(
            "cannot be set, changed or removed once the cluster exists; restore the former value "
            "and move the data to a new cluster instead"
        ),
        broken=_storage_class,
        cel=f"{_CLASS_OF['self']} == {_CLASS_OF['oldSelf']}",
        got=f"'\\'' + {_CLASS_OF['self']} + '\\' after \\'' + {_CLASS_OF['oldSelf']} + '\\''",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="seal-immutable",
        at="spec",
        field="spec.unseal.type",
        message=(
            "cannot change once the cluster exists, because the data is sealed with it; restore "
            "the former value"
        ),
        broken=_seal_type,
        cel=f"{_seal_of('self')} == {_seal_of('oldSelf')}",
        got=f"{_seal_of('self')} + ' after ' + {_seal_of('oldSelf')}",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="static-key-immutable",
        at="spec",
        field="spec.unseal.static",
        message=(
            "cannot change once the cluster exists, because the data is sealed with this key; "
            "restore the former values"
        ),
        broken=_static_key,
        cel=(
            f"{_key_of('self')} == {_key_of('oldSelf')} && "
            f"{_key_id_of('self')} == {_key_id_of('oldSelf')}"
        ),
        got=_key_id_of("self"),
        reason="FieldValueForbidden",
    ),
    Rule(
        id="static-secret-immutable",
        at="spec",
        field="spec.unseal.credentialsSecretRef",
        message=(
            "cannot be set, changed or removed for a static seal once the cluster exists; restore "
            "the former value"
        ),
        broken=_static_secret,
        cel=f"!({_IS_STATIC}) || {_credentials_of('self')} == {_credentials_of('oldSelf')}",
        got=_credentials_of("self"),
        reason="FieldValueForbidden",
    ),
    Rule(
        id="system-secret",
        at="spec.unseal.credentialsSecretRef",
        field="spec.unseal.credentialsSecretRef.name",
        message=(
            "must not name a Secret of the operator (-root-token, -tls-ca, -tls-server, "
            "-unseal-key); copy what is needed to a Secret of your own"
        ),
        broken=_system_secret,
        cel=f"!self.name.matches('{_SYSTEM_NAME}')",
        got="self.name",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="static-seal-version",
        at="spec",
        field="spec.version",
        message="must be 2.4.0 or newer, the first version with a static seal; choose a newer one",
        broken=_static_seal_version,
        cel=f"!({_IS_STATIC}) || !self.version.matches(r'{_TOO_OLD}')",
        got="self.version",
    ),
    Rule(
        id="service-account",
        at="spec.serviceAccount",
        field="spec.serviceAccount.name",
        message=(
            "must not be default, because the operator makes this ServiceAccount and gives it "
            "rights; choose another name or remove the field"
        ),
        broken=_default_account,
        cel="!has(self.name) || self.name != 'default'",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="lease-ttls",
        at="spec.configuration",
        field="spec.configuration.maxLeaseTTL",
        message="must not be below defaultLeaseTTL; raise it or lower the other",
        broken=_lease_ttls,
        cel=(
            "!has(self.defaultLeaseTTL) || !has(self.maxLeaseTTL) || "
            "duration(self.maxLeaseTTL) >= duration(self.defaultLeaseTTL)"
        ),
        got="self.maxLeaseTTL",
    ),
)
