"""Rules about spec.tls.

Uses the API models. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.checks import Predicate, duration, group, has, if_set, is_set, it
from contracts.api.rules.combinators import rule
from contracts.api.rules.rule import FORBIDDEN, REQUIRED, InvalidField, Old, Rule, RuleOf
from contracts.api.values.pattern import Pattern
from contracts.naming import mount_paths, names

ROTATION_MIN = "1h"
# Server certificates are valid for 365 days: with a longer period, every reconcile would reissue
# them.
ROTATION_MAX = "8736h"
OVERLAP_MIN, OVERLAP_MAX = "1s", "720h"
_DNS_LABEL = "[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?"
_DNS_NAME = rf"^(\*\.)?{_DNS_LABEL}(\.{_DNS_LABEL})*$"
_NO_ACME = ~(has("tls") & has("tls.mode") & it("tls.mode").equals("ACME")) | ~has("tls.acme")
_CACHE = "spec.tls.acme.sharedCache"
_SYSTEM_NAME = f"({'|'.join(names.SYSTEM_SECRET_SUFFIXES)})$"
"""Names of Secrets with keys of the operator."""
_IS_DNS_NAME, _IS_SYSTEM = Pattern(_DNS_NAME), Pattern(_SYSTEM_NAME)
_FILE = "[A-Za-z0-9_-][A-Za-z0-9._-]*"


def _within(shortest: str, longest: str) -> Predicate:
    period = it().duration()
    return period.at_least(duration(shortest)) & period.at_most(duration(longest))


def _other_system_secret(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    """Yield references to Secrets that the operator manages for this or another cluster."""
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


def _cache_rule(field: str, mode: str, check: Predicate) -> Rule:
    is_required = check.cel.startswith("has")
    return rule(
        f"acme-cache-{field.lower()}-{mode.lower()}",
        _CACHE,
        field,
        f"must be set with mode {mode}; name the claim"
        if is_required
        else f"must not be set with mode {mode}; remove it",
        it("mode").differs(mode) | check,
        got="" if is_required else it(field),
        reason=REQUIRED if is_required else FORBIDDEN,
    )


def _in_folder(folder: str) -> Predicate:
    return it("configuration.acmeCARoot").matches(Pattern(f"^{folder}/{_FILE}$"), mark="")


def _may_be_external(field: str) -> str:
    path = f"spec.tls.external.{field}.name"
    own = " || ".join(
        f"self.{path} == self.metadata.name + '{suffix}'" for suffix in ("-tls-server", "-tls-ca")
    )
    return f"(!{is_set(path)} || !self.{path}.matches('{_SYSTEM_NAME}') || {own})"


TLS_RULES: tuple[Rule, ...] = (
    rule(
        "tls-enabled",
        "spec.tls",
        "enabled",
        "must be true: probes, raft joins and the operator use only TLS, so the cluster could not "
        "start; remove the field",
        if_set("enabled", it("enabled").is_true()),
        reason=FORBIDDEN,
    ),
    rule(
        "rotation-period",
        "spec.tls.rotationPeriod",
        "",
        f"must be a duration from {ROTATION_MIN} to {ROTATION_MAX}, because a server "
        "certificate is valid for 365 days; for example 720h",
        _within(ROTATION_MIN, ROTATION_MAX),
    ),
    rule(
        "ca-overlap",
        "spec.tls.caOverlap",
        "",
        f"must be a duration from {OVERLAP_MIN} to {OVERLAP_MAX}, in which clients can read the "
        "new certificate authority; for example 24h",
        _within(OVERLAP_MIN, OVERLAP_MAX),
    ),
    rule(
        "extra-sans",
        "spec.tls.extraSANs[]",
        "",
        "must be a DNS name or an IP address; correct the entry",
        it().is_ip() | it().matches(_IS_DNS_NAME),
    ),
    rule(
        "acme-settings",
        "spec.tls",
        "acme",
        "must be set with mode ACME; set at least acme.directoryURL",
        ~has("mode") | it("mode").differs("ACME") | has("acme"),
        reason=REQUIRED,
    ),
    rule(
        "acme-domains",
        "spec.tls.acme",
        "domain",
        "must not be set together with domains; keep only domains",
        ~has("domain") | ~has("domains"),
        got=it("domain"),
        reason=FORBIDDEN,
    ),
    rule(
        "acme-cache-mode",
        "spec.tls",
        "acme.sharedCache",
        "must be set only with mode ACME; remove it or set the mode",
        ~has("acme") | ~has("acme.sharedCache") | group(has("mode") & it("mode").equals("ACME")),
        shows=None,
        reason=FORBIDDEN,
    ),
    rule(
        "acme-cache-replicas",
        "spec",
        "tls.acme.sharedCache",
        "must be set when more than one server requests certificates, because the ACME server "
        "may validate a name at any of them; set a ReadWriteMany volume, or set replicas to 1 "
        "and remove readReplicas",
        _NO_ACME
        | has("tls.acme.sharedCache")
        | group(
            has("replicas")
            & it("replicas").equals(1)
            & group(~has("readReplicas") | it("readReplicas.replicas").equals(0))
        ),
        shows=lambda spec: spec.servers,
        reason=REQUIRED,
    ),
    _cache_rule("existingClaimName", "ExistingPVC", has("existingClaimName")),
    _cache_rule("existingClaimName", "ManagedPVC", ~has("existingClaimName")),
    _cache_rule("size", "ExistingPVC", ~has("size")),
    _cache_rule("storageClassName", "ExistingPVC", ~has("storageClassName")),
    rule(
        "external-mode",
        "spec.tls",
        "external",
        "must be set only with mode External; remove it or set the mode",
        ~has("external") | group(has("mode") & it("mode").equals("External")),
        shows="mode",
        reason=FORBIDDEN,
    ),
    # Servers do not start if no volume of the pod contains the file.
    rule(
        "acme-ca-root",
        "spec",
        "configuration.acmeCARoot",
        f"must be a file directly in {mount_paths.ACME_CA} with tls.acme.caSecretRef, or in "
        f"{mount_paths.SEAL_CREDENTIALS} with unseal.credentialsSecretRef, because no other "
        "directory contains your files; remove it and use tls.acme.caSecretRef",
        _NO_ACME
        | ~is_set("configuration.acmeCARoot")
        | group(has("tls.acme.caSecretRef") & _in_folder(mount_paths.ACME_CA))
        | group(is_set("unseal.credentialsSecretRef") & _in_folder(mount_paths.SEAL_CREDENTIALS)),
        got=it("configuration.acmeCARoot"),
    ),
    rule(
        "acme-system-secret",
        "spec.tls.acme.caSecretRef",
        "name",
        "must not name a Secret of the operator (-root-token, -tls-ca, -tls-server, "
        "-unseal-key); put the certificates into your own Secret",
        ~it("name").matches(_IS_SYSTEM, mark=""),
        got=it("name"),
        reason=FORBIDDEN,
    ),
    RuleOf(
        "external-system-secret",
        "",
        "spec.tls.external",
        "spec.tls.external must not name a Secret of the operator for another purpose or "
        "cluster (-root-token, -tls-ca, -tls-server, -unseal-key, -recovery-shares); put the "
        "certificates into your own Secret",
        _other_system_secret,
        cel=f"{_may_be_external('serverSecretRef')} && {_may_be_external('caSecretRef')}",
        reason=FORBIDDEN,
    ),
)
