"""What the rules about the name of a cluster and its ServiceAccount refuse."""

from tests.contracts.api.case import Case
from tests.contracts.api.clusters import with_request

_OIDC = {**with_request(), "oidc": {"enabled": True}}

CASES: dict[str, Case] = {
    "a name that starts with a digit": Case("cluster-name", "metadata.name", name="1c"),
    "a name with a dot": Case("cluster-name", "metadata.name", name="c.d"),
    "a name of 41 characters": Case("cluster-name", "metadata.name", name="c" * 41),
    "the name of another cluster's Service": Case(
        "cluster-name-reserved", "metadata.name", name="c-public"
    ),
    "the name of a green pool": Case(
        "cluster-name-of-a-pool", "metadata.name", name="c-0123456789abcdef"
    ),
    "the ServiceAccount default": Case(
        "service-account", "spec.serviceAccount.name", {"serviceAccount": {"name": "default"}}
    ),
    "the ServiceAccount of jobs": Case(
        "service-account-of-jobs",
        "spec.serviceAccount.name",
        {"serviceAccount": {"name": "c-backup-serviceaccount"}},
    ),
    "tokens for this cluster alone, without a login that asks for them": Case(
        "target-token-login", "spec.controllerJWTMode", {"controllerJWTMode": "Target"}
    ),
    "tokens that are shared again": Case(
        "target-token-stays",
        "spec.controllerJWTMode",
        {"selfInit": _OIDC},
        before={"selfInit": _OIDC, "controllerJWTMode": "Target"},
    ),
}
