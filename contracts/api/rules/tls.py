"""Rules about spec.tls.

Uses the API models. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.network import is_ip
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.tls import CacheVolume
from contracts.api.meta import counted_duration, parse_duration
from contracts.api.rules.rule import Broken, Offence, Rule, is_set
from contracts.api.values.pattern import Pattern
from contracts.naming import mount_paths, names

Old = OpenBaoCluster | None

ROTATION_MIN = "1h"
# Server certificates live 365 days: a longer period would reissue them on every pass.
ROTATION_MAX = "8736h"
OVERLAP_MIN, OVERLAP_MAX = "1s", "720h"
_DNS_LABEL = "[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?"
_DNS_NAME = rf"^(\*\.)?{_DNS_LABEL}(\.{_DNS_LABEL})*$"
_IS_ACME = "has(self.tls) && has(self.tls.mode) && self.tls.mode == 'ACME'"
_CACHE = "spec.tls.acme.sharedCache"
_SYSTEM_NAME = f"({'|'.join(names.SYSTEM_SECRET_SUFFIXES)})$"
"""Names of Secrets that hold keys of the operator."""
_IS_DNS_NAME, _IS_SYSTEM = Pattern(_DNS_NAME), Pattern(_SYSTEM_NAME)
_FILE = "[A-Za-z0-9_-][A-Za-z0-9._-]*"
_IS_FILE = Pattern(f"^{_FILE}$")


def _tls_enabled(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if not new.spec.tls.enabled:
        yield "spec.tls.enabled", False


def _within(text: str, shortest: str, longest: str) -> bool:
    period = counted_duration(text)
    return period is not None and parse_duration(shortest) <= period <= parse_duration(longest)


def _rotation_period(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if not _within(new.spec.tls.rotation_period, ROTATION_MIN, ROTATION_MAX):
        yield "spec.tls.rotationPeriod", new.spec.tls.rotation_period


def _overlap(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if not _within(new.spec.tls.ca_overlap, OVERLAP_MIN, OVERLAP_MAX):
        yield "spec.tls.caOverlap", new.spec.tls.ca_overlap


def _extra_sans(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for position, name in enumerate(new.spec.tls.extra_sans):
        if not is_ip(name) and not _IS_DNS_NAME.found_in(name):
            yield f"spec.tls.extraSANs[{position}]", name


def _acme_missing(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if new.spec.tls.mode == "ACME" and new.spec.tls.acme is None:
        yield "spec.tls.acme", None


def _acme_domains(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    acme = new.spec.tls.acme
    if acme is not None and acme.domain is not None and acme.domains is not None:
        yield "spec.tls.acme.domain", acme.domain


def _cache_unused(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    acme = new.spec.tls.acme
    if acme is not None and acme.shared_cache is not None and new.spec.tls.mode != "ACME":
        yield _CACHE, None


def _cache_missing(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    acme = new.spec.tls.acme
    alone = new.spec.servers == 1
    if new.spec.tls.mode == "ACME" and acme is not None and not (acme.shared_cache or alone):
        yield _CACHE, new.spec.servers


def _cache_of(field: str, mode: str, required: bool, attribute: str) -> Broken:
    """Complain when a field is there, or is not, in one mode of the cache."""

    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        acme = new.spec.tls.acme
        cache: CacheVolume | None = acme.shared_cache if acme else None
        if cache is not None and cache.mode == mode:
            value = getattr(cache, attribute)
            if (value is not None) != required:
                yield f"{_CACHE}.{field}", value

    return broken


def _external_unused(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if new.spec.tls.external is not None and new.spec.tls.mode != "External":
        yield "spec.tls.external", new.spec.tls.mode


def _ca_root(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    """A file that no volume of the pod brings would keep the servers from starting."""
    path, acme = new.spec.configuration.acme_ca_root, new.spec.tls.acme
    if path is None or new.spec.tls.mode != "ACME" or acme is None:
        return
    folder, _, name = path.rpartition("/")
    references = {
        mount_paths.ACME_CA: acme.ca_secret_ref,
        mount_paths.SEAL_CREDENTIALS: new.spec.unseal.credentials_secret_ref,
    }
    if references.get(folder) is None or not _IS_FILE.found_in(name):
        yield "spec.configuration.acmeCARoot", path


def _acme_system_secret(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    reference = new.spec.tls.acme.ca_secret_ref if new.spec.tls.acme else None
    if reference is not None and _IS_SYSTEM.found_in(reference.name):
        yield "spec.tls.acme.caSecretRef.name", reference.name


def _other_system_secret(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    """References to Secrets that the operator keeps for this or for another cluster."""
    external = new.spec.tls.external
    if external is None:
        return
    own = {names.tls_server_secret, names.tls_ca_secret}
    try:
        allowed = {build(new.metadata.name) for build in own}
    except ValueError:
        return
    for field, reference in (
        ("serverSecretRef", external.server_secret_ref),
        ("caSecretRef", external.ca_secret_ref),
    ):
        if reference and reference.name not in allowed and _IS_SYSTEM.found_in(reference.name):
            yield f"spec.tls.external.{field}.name", reference.name


def _cache_rule(field: str, mode: str, required: bool, attribute: str) -> Rule:
    must = "must be set" if required else "must not be set"
    then = "name the claim" if required else "remove it"
    has = f"has(self.{field})" if required else f"!has(self.{field})"
    return Rule(
        id=f"acme-cache-{field.lower()}-{mode.lower()}",
        at=_CACHE,
        field=f"{_CACHE}.{field}",
        message=f"{must} with mode {mode}; {then}",
        broken=_cache_of(field, mode, required, attribute),
        cel=f"self.mode != '{mode}' || {has}",
        got="" if required else f"self.{field}",
        reason="FieldValueRequired" if required else "FieldValueForbidden",
    )


def _in_folder(folder: str) -> str:
    return f"self.configuration.acmeCARoot.matches('^{folder}/{_FILE}$')"


def _may_be_external(field: str) -> str:
    path = f"spec.tls.external.{field}.name"
    own = " || ".join(
        f"self.{path} == self.metadata.name + '{suffix}'" for suffix in ("-tls-server", "-tls-ca")
    )
    return f"(!{is_set(path)} || !self.{path}.matches('{_SYSTEM_NAME}') || {own})"


TLS_RULES: tuple[Rule, ...] = (
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
        id="ca-overlap",
        at="spec.tls.caOverlap",
        field="spec.tls.caOverlap",
        message=(
            f"must be a duration from {OVERLAP_MIN} to {OVERLAP_MAX}, the time that clients have "
            "to learn a new authority; 24h is a good value"
        ),
        broken=_overlap,
        cel=(
            f"duration(self) >= duration('{OVERLAP_MIN}') && "
            f"duration(self) <= duration('{OVERLAP_MAX}')"
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
        id="acme-settings",
        at="spec.tls",
        field="spec.tls.acme",
        message="must be set with mode ACME; give at least acme.directoryURL",
        broken=_acme_missing,
        cel="!has(self.mode) || self.mode != 'ACME' || has(self.acme)",
        reason="FieldValueRequired",
    ),
    Rule(
        id="acme-domains",
        at="spec.tls.acme",
        field="spec.tls.acme.domain",
        message="must not be set beside domains; keep domains alone",
        broken=_acme_domains,
        cel="!has(self.domain) || !has(self.domains)",
        got="self.domain",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="acme-cache-mode",
        at="spec.tls",
        field=_CACHE,
        message="must be set with mode ACME only; remove it or set the mode",
        broken=_cache_unused,
        cel=(
            "!has(self.acme) || !has(self.acme.sharedCache) || "
            "(has(self.mode) && self.mode == 'ACME')"
        ),
        reason="FieldValueForbidden",
    ),
    Rule(
        id="acme-cache-replicas",
        at="spec",
        field=_CACHE,
        message=(
            "must be set when more than one server asks for certificates, because the ACME server "
            "may check a name at any of them; give a ReadWriteMany volume, or set replicas to 1 "
            "and have no readReplicas"
        ),
        broken=_cache_missing,
        cel=(
            f"!({_IS_ACME}) || !has(self.tls.acme) || has(self.tls.acme.sharedCache) || "
            "(has(self.replicas) && self.replicas == 1 && "
            "(!has(self.readReplicas) || self.readReplicas.replicas == 0))"
        ),
        reason="FieldValueRequired",
    ),
    _cache_rule("existingClaimName", "ExistingPVC", True, "existing_claim_name"),
    _cache_rule("existingClaimName", "ManagedPVC", False, "existing_claim_name"),
    _cache_rule("size", "ExistingPVC", False, "size"),
    _cache_rule("storageClassName", "ExistingPVC", False, "storage_class_name"),
    Rule(
        id="external-mode",
        at="spec.tls",
        field="spec.tls.external",
        message="must be set with mode External only; remove it or set the mode",
        broken=_external_unused,
        cel="!has(self.external) || (has(self.mode) && self.mode == 'External')",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="acme-ca-root",
        at="spec",
        field="spec.configuration.acmeCARoot",
        message=(
            f"must be a file directly in {mount_paths.ACME_CA} with tls.acme.caSecretRef, or in "
            f"{mount_paths.SEAL_CREDENTIALS} with unseal.credentialsSecretRef, because no other "
            "folder holds files of yours; remove it and use tls.acme.caSecretRef"
        ),
        broken=_ca_root,
        cel=(
            f"!({_IS_ACME}) || !has(self.tls.acme) || !{is_set('configuration.acmeCARoot')} || "
            f"(has(self.tls.acme.caSecretRef) && {_in_folder(mount_paths.ACME_CA)}) || "
            f"({is_set('unseal.credentialsSecretRef')} && "
            f"{_in_folder(mount_paths.SEAL_CREDENTIALS)})"
        ),
        got="self.configuration.acmeCARoot",
    ),
    Rule(
        id="acme-system-secret",
        at="spec.tls.acme.caSecretRef",
        field="spec.tls.acme.caSecretRef.name",
        message=(
            "must not name a Secret of the operator (-root-token, -tls-ca, -tls-server, "
            "-unseal-key); put the certificates into a Secret of your own"
        ),
        broken=_acme_system_secret,
        cel=f"!self.name.matches('{_SYSTEM_NAME}')",
        got="self.name",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="external-system-secret",
        at="",
        field="spec.tls.external",
        message=(
            "spec.tls.external must not name a Secret of the operator for another purpose or "
            "cluster (-root-token, -tls-ca, -tls-server, -unseal-key, -recovery-shares); put the "
            "certificates into a Secret of your own"
        ),
        broken=_other_system_secret,
        cel=f"{_may_be_external('serverSecretRef')} && {_may_be_external('caSecretRef')}",
        reason="FieldValueForbidden",
    ),
)
