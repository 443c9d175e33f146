"""What the rules about one request of spec.selfInit refuse."""

from tests.contracts.api.case import Broken, cases_of
from tests.contracts.api.clusters import with_request

_AUDIT = {"operation": "update", "path": "sys/audit/file", "data": None}
_API_AUDIT = {"unsafeAllowAPIAuditCreation": True}

_BROKEN: Broken = {
    ("request-name-reserved", "spec.selfInit.requests[0].name"): {
        "the operator's own block name": {"selfInit": with_request(name="operator-bootstrap")},
        "the operator's own block of recovery keys": {
            "selfInit": with_request(name="operator-recovery-keys")
        },
    },
    ("request-path", "spec.selfInit.requests[0].path"): {
        "a path with a parent segment": {"selfInit": with_request(path="kv/../sys/raw")}
    },
    ("request-one-payload", "spec.selfInit.requests[0]"): {
        "two payloads": {"selfInit": with_request(path="sys/mounts/x", secretEngine={"type": "kv"})}
    },
    ("request-payload-place", "spec.selfInit.requests[0].path"): {
        "a payload at a path that does not take it": {
            "selfInit": with_request(data=None, secretEngine={"type": "kv"})
        }
    },
    ("request-payload-missing", "spec.selfInit.requests[0]"): {
        "a mount of nothing": {"selfInit": with_request(path="sys/mounts/x", data=None)}
    },
    ("audit-device-options", "spec.selfInit.requests[0].auditDevice"): {
        "an audit device with the options of another": {
            "configuration": _API_AUDIT,
            "selfInit": with_request(
                **_AUDIT, auditDevice={"type": "syslog", "fileOptions": {"filePath": "stdout"}}
            ),
        },
        "a file audit device without a file": {
            "configuration": _API_AUDIT,
            "selfInit": with_request(**_AUDIT, auditDevice={"type": "file"}),
        },
    },
    ("request-headers-token", "spec.selfInit.requests[0].headers"): {
        "a token in a header": {
            "version": "2.6.0",
            "selfInit": with_request(headers={"X-Vault-Token": ["t"]}),
        }
    },
}

CASES = cases_of(_BROKEN)

# Rules without CEL: only the operator checks them.
_BROKEN_IN_CODE: Broken = {
    ("request-when-version", "spec.selfInit.requests[0].when"): {
        "a condition for a server that knows none": {"selfInit": with_request(when=False)}
    },
    ("request-when", "spec.selfInit.requests[0].when"): {
        "a condition that is a text": {"version": "2.6.0", "selfInit": with_request(when="yes")}
    },
    ("request-when-computed", "spec.selfInit.requests[0].when"): {
        "a condition that reads the environment": {
            "version": "2.6.0",
            "selfInit": with_request(
                when={"eval_source": "env", "eval_type": "bool", "env_var": "A"}
            ),
        }
    },
    ("request-headers-version", "spec.selfInit.requests[0].headers"): {
        "headers for a server that sends none": {
            "selfInit": with_request(headers={"X-Vault-Namespace": ["team"]})
        }
    },
    ("request-unwritable", "spec.selfInit.requests[0]"): {
        "a NUL in data": {"selfInit": with_request(data={"a": "b\x00"})},
        "a lone surrogate in data": {"selfInit": with_request(data={"a": ["\ud800"]})},
        "data that is nested too deeply": {
            "selfInit": with_request(data={"a": [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]})
        },
    },
    ("request-computed", "spec.selfInit.requests[0].data"): {
        "a value read from a file of the pod": {
            "selfInit": with_request(
                data={
                    "a": {
                        "eval_type": "string",
                        "eval_source": "file",
                        "path": "/etc/bao/unseal/key",
                    }
                }
            )
        },
        "a value read from the environment of the pod": {
            "selfInit": with_request(
                data={"a": [{"eval_type": "string", "eval_source": "env", "env_var": "TOKEN"}]}
            )
        },
        "a computed value without a type": {
            "selfInit": with_request(data={"a": {"eval_source": "response"}})
        },
    },
    ("request-folded", "spec.selfInit.requests[0].data"): {
        "an object in an object in a list": {
            "selfInit": with_request(data={"a": [{"b": {"c": 1}}]})
        }
    },
}

CODE_CASES = cases_of(_BROKEN_IN_CODE)
