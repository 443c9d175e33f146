"""Rules about a snapshot store, for each field of the API with a store.

Uses contracts.api.values.url and the API models. Called by the rules about spec.backup of clusters
and about the source of restores, which place them at the path of their store.
"""

from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.rules.checks import any_of, either, has, it
from contracts.api.rules.combinators import rule
from contracts.api.rules.rule import FORBIDDEN, REQUIRED, RuleOf
from contracts.api.values import url
from contracts.api.values.pattern import Pattern

DOTS = Pattern(r"(^|/)\.+(/|$)")
"""A path with an element of only dots, which would leave its directory."""
_BUCKET = Pattern(r"^[A-Za-z0-9$][A-Za-z0-9._-]*$")
_PREFIX = Pattern(r"^([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*/?)?$")
_PROVIDER = either("provider", "s3")
_REMOTE = ("endpoint", "credentialsSecretRef", "workloadIdentity")


def _only_for(field: str, provider: str) -> RuleOf[BackupTarget]:
    return rule(
        field.lower(),
        "",
        field,
        f"is only for provider {provider}; remove it or change the provider",
        ~has(field) | _PROVIDER.equals(provider),
        got=_PROVIDER,
        reason=FORBIDDEN,
    )


TARGET_RULES: tuple[RuleOf[BackupTarget], ...] = (
    rule(
        "bucket",
        "bucket",
        "",
        "must be letters, digits, dots, dashes and underscores, without two dots in a row; "
        "set only the name of the bucket",
        it().matches(_BUCKET) & ~it().contains(".."),
        got=it(),
    ),
    rule(
        "prefix",
        "pathPrefix",
        "",
        "must have elements of letters, digits, dots, dashes and underscores between slashes, "
        "and no element of only dots; for example production",
        it().matches(_PREFIX) & ~it().matches(DOTS),
        got=it(),
    ),
    rule(
        "s3-endpoint",
        "",
        "endpoint",
        "must be set for provider s3; set the URL of the store",
        _PROVIDER.differs("s3") | has("endpoint"),
        reason=REQUIRED,
    ),
    rule(
        "endpoint",
        "endpoint",
        "",
        "must be a URL of scheme https, http or s3 with a host, and without user, query or "
        "fragment; for example https://s3.example.com",
        it().matches(url.ENDPOINT),
    ),
    rule(
        "endpoint-place",
        "endpoint",
        "",
        "must not be a loopback, link-local or cloud metadata address, or a number in an unusual "
        "notation; set the host of the store",
        it().is_elsewhere(),
        reason=FORBIDDEN,
    ),
    _only_for("gcs", "gcs"),
    _only_for("azure", "azure"),
    _only_for("pvc", "pvc"),
    _only_for("roleArn", "s3"),
    rule(
        "claim",
        "",
        "pvc",
        "must be set for provider pvc; set pvc.claimName to the PersistentVolumeClaim",
        _PROVIDER.differs("pvc") | has("pvc"),
        reason=REQUIRED,
    ),
    rule(
        "volume",
        "",
        "",
        "must not have endpoint, credentialsSecretRef or workloadIdentity for provider pvc, "
        "because a volume needs no login; remove them",
        _PROVIDER.differs("pvc") | ~any_of(map(has, _REMOTE)),
        shows=None,
        reason=FORBIDDEN,
    ),
)
