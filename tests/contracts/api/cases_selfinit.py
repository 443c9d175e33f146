"""What the rules about spec.selfInit as a whole refuse."""

from tests.contracts.api.case import Broken, cases_of
from tests.contracts.api.clusters import with_request

_AUDIT = {"operation": "update", "path": "sys/audit/file", "data": None}
_FILE = {"type": "file", "fileOptions": {"filePath": "stdout"}}
_OIDC = {"enabled": True}

_BROKEN: Broken = {
    ("self-init-requests", "spec.selfInit.requests"): {
        "self-init without requests": {"selfInit": {"enabled": True}}
    },
    ("oidc-needs-self-init", "spec.selfInit.oidc.enabled"): {
        "a login of the operator without self-init": {"selfInit": {"enabled": False, "oidc": _OIDC}}
    },
    ("oidc-issuer", "spec.selfInit.oidc.issuer"): {
        "an issuer without https": {
            "selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "http://k.example.com"}}
        },
        "an issuer with a user": {
            "selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "https://u@k.example.com"}}
        },
        "an issuer with a query": {
            "selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "https://k.example.com?a"}}
        },
    },
    ("oidc-issuer-place", "spec.selfInit.oidc.issuer"): {
        "a link-local issuer": {
            "selfInit": {**with_request(), "oidc": {**_OIDC, "issuer": "https://169.254.169.254"}}
        },
        "an issuer that is its discovery document": {
            "selfInit": {
                **with_request(),
                "oidc": {
                    **_OIDC,
                    "issuer": "https://k.example.com/.well-known/openid-configuration",
                },
            }
        },
    },
    ("audit-request-needs-flag", "spec.selfInit.requests[0].path"): {
        "a request to sys/audit without the flag": {
            "selfInit": with_request(**_AUDIT, auditDevice=_FILE)
        }
    },
    ("jwt-needs-mount", "spec.selfInit.requests[0].path"): {
        "a role of a JWT login that is not enabled": {
            "selfInit": with_request(path="auth/jwt/role/x")
        }
    },
    ("jwt-operator-needs-oidc", "spec.selfInit.requests[0].path"): {
        "a role of the operator's login without that login": {
            "selfInit": with_request(path="auth/jwt-operator/role/x")
        }
    },
    ("jwt-operator-taken", "spec.selfInit.requests[0].path"): {
        "the operator's login enabled twice": {
            "selfInit": {**with_request(path="sys/auth/jwt-operator"), "oidc": _OIDC}
        }
    },
    ("jwt-operator-login", "spec.selfInit.requests[0].path"): {
        "the keys of the operator's login replaced": {
            "selfInit": {**with_request(path="auth/jwt-operator/config"), "oidc": _OIDC}
        },
        "the operator's role replaced": {
            "selfInit": {
                **with_request(path="auth/jwt-operator/role/openbao-operator"),
                "oidc": _OIDC,
            }
        },
    },
}

CASES = cases_of(_BROKEN)

# Rules without CEL: only the operator checks them.
_BROKEN_IN_CODE: Broken = {
    ("job-roles", "spec.upgrade.jwtAuthRole"): {
        "a backup job in the role of the operator": {"upgrade": {"jwtAuthRole": "openbao-operator"}}
    },
    ("job-roles", "spec.restore.jwtAuthRole"): {
        "two jobs in one role": {
            "upgrade": {"jwtAuthRole": "jobs"},
            "restore": {"jwtAuthRole": "jobs"},
        }
    },
    ("self-init-names", "spec.selfInit.requests[1].name"): {
        "two requests of one name": {
            "selfInit": {"enabled": True, "requests": with_request()["requests"] * 2}
        }
    },
    ("self-init-length", "spec.selfInit.requests"): {
        "more requests than a ConfigMap holds": {
            "selfInit": with_request(data={"a": "x" * (512 * 1024)})
        }
    },
}

CODE_CASES = cases_of(_BROKEN_IN_CODE)
