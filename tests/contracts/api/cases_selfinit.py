"""What the rules about spec.selfInit as a whole refuse."""

from tests.contracts.api.case import Case
from tests.contracts.api.clusters import with_request

_AUDIT = {"operation": "update", "path": "sys/audit/file", "data": None}
_FILE = {"type": "file", "fileOptions": {"filePath": "stdout"}}
_OIDC = {"enabled": True}

CASES: dict[str, Case] = {
    "self-init without requests": Case(
        "self-init-requests", "spec.selfInit.requests", {"selfInit": {"enabled": True}}
    ),
    "a login of the operator without self-init": Case(
        "oidc-needs-self-init",
        "spec.selfInit.oidc.enabled",
        {"selfInit": {"enabled": False, "oidc": _OIDC}},
    ),
    "an issuer without https": Case(
        "oidc-issuer",
        "spec.selfInit.oidc.issuer",
        {"selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "http://k.example.com"}}},
    ),
    "an issuer with a user": Case(
        "oidc-issuer",
        "spec.selfInit.oidc.issuer",
        {"selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "https://u@k.example.com"}}},
    ),
    "an issuer with a query": Case(
        "oidc-issuer",
        "spec.selfInit.oidc.issuer",
        {"selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "https://k.example.com?a"}}},
    ),
    "a link-local issuer": Case(
        "oidc-issuer-place",
        "spec.selfInit.oidc.issuer",
        {"selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "https://169.254.169.254"}}},
    ),
    "an issuer that is its discovery document": Case(
        "oidc-issuer-place",
        "spec.selfInit.oidc.issuer",
        {
            "selfInit": {
                **with_request(),
                "oidc": {
                    **_OIDC,
                    "issuer": "https://k.example.com/.well-known/openid-configuration",
                },
            }
        },
    ),
    "a request to sys/audit without the flag": Case(
        "audit-request-needs-flag",
        "spec.selfInit.requests[0].path",
        {"selfInit": with_request(**_AUDIT, auditDevice=_FILE)},
    ),
    "a role of a JWT login that nobody enables": Case(
        "jwt-needs-mount",
        "spec.selfInit.requests[0].path",
        {"selfInit": with_request(path="auth/jwt/role/x")},
    ),
    "a role of the operator's login without that login": Case(
        "jwt-operator-needs-oidc",
        "spec.selfInit.requests[0].path",
        {"selfInit": with_request(path="auth/jwt-operator/role/x")},
    ),
    "the operator's login enabled twice": Case(
        "jwt-operator-taken",
        "spec.selfInit.requests[0].path",
        {"selfInit": {**with_request(path="sys/auth/jwt-operator"), "oidc": _OIDC}},
    ),
    "the keys of the operator's login replaced": Case(
        "jwt-operator-login",
        "spec.selfInit.requests[0].path",
        {"selfInit": {**with_request(path="auth/jwt-operator/config"), "oidc": _OIDC}},
    ),
    "the operator's role replaced": Case(
        "jwt-operator-login",
        "spec.selfInit.requests[0].path",
        {
            "selfInit": {
                **with_request(path="auth/jwt-operator/role/openbao-operator"),
                "oidc": _OIDC,
            }
        },
    ),
}

# What CEL cannot say: the operator alone checks it.
CODE_CASES: dict[str, Case] = {
    "a backup job in the role of the operator": Case(
        "job-roles", "spec.upgrade.jwtAuthRole", {"upgrade": {"jwtAuthRole": "openbao-operator"}}
    ),
    "two jobs in one role": Case(
        "job-roles",
        "spec.restore.jwtAuthRole",
        {"upgrade": {"jwtAuthRole": "jobs"}, "restore": {"jwtAuthRole": "jobs"}},
    ),
    "two requests of one name": Case(
        "self-init-names",
        "spec.selfInit.requests[1].name",
        {"selfInit": {"enabled": True, "requests": with_request()["requests"] * 2}},
    ),
    "more requests than a ConfigMap holds": Case(
        "self-init-length",
        "spec.selfInit.requests",
        {"selfInit": with_request(data={"a": "x" * (512 * 1024)})},
    ),
}
