"""What the rules about one request of spec.selfInit refuse."""

from tests.contracts.api.case import Case
from tests.contracts.api.clusters import with_request

_AUDIT = {"operation": "update", "path": "sys/audit/file", "data": None}
_API_AUDIT = {"unsafeAllowAPIAuditCreation": True}

CASES: dict[str, Case] = {
    "the operator's own block name": Case(
        "request-name-reserved",
        "spec.selfInit.requests[0].name",
        {"selfInit": with_request(name="operator-bootstrap")},
    ),
    "the operator's own block of recovery keys": Case(
        "request-name-reserved",
        "spec.selfInit.requests[0].name",
        {"selfInit": with_request(name="operator-recovery-keys")},
    ),
    "a path that climbs": Case(
        "request-path",
        "spec.selfInit.requests[0].path",
        {"selfInit": with_request(path="kv/../sys/raw")},
    ),
    "two payloads": Case(
        "request-one-payload",
        "spec.selfInit.requests[0]",
        {"selfInit": with_request(path="sys/mounts/x", secretEngine={"type": "kv"})},
    ),
    "a payload at a path that does not take it": Case(
        "request-payload-place",
        "spec.selfInit.requests[0].path",
        {"selfInit": with_request(data=None, secretEngine={"type": "kv"})},
    ),
    "a mount of nothing": Case(
        "request-payload-missing",
        "spec.selfInit.requests[0]",
        {"selfInit": with_request(path="sys/mounts/x", data=None)},
    ),
    "an audit device with the options of another": Case(
        "audit-device-options",
        "spec.selfInit.requests[0].auditDevice",
        {
            "configuration": _API_AUDIT,
            "selfInit": with_request(
                **_AUDIT, auditDevice={"type": "syslog", "fileOptions": {"filePath": "stdout"}}
            ),
        },
    ),
    "a file audit device without a file": Case(
        "audit-device-options",
        "spec.selfInit.requests[0].auditDevice",
        {
            "configuration": _API_AUDIT,
            "selfInit": with_request(**_AUDIT, auditDevice={"type": "file"}),
        },
    ),
    "a token in a header": Case(
        "request-headers-token",
        "spec.selfInit.requests[0].headers",
        {"version": "2.6.0", "selfInit": with_request(headers={"X-Vault-Token": ["t"]})},
    ),
}

# What CEL cannot say: the operator alone checks it.
CODE_CASES: dict[str, Case] = {
    "a condition for a server that knows none": Case(
        "request-when-version",
        "spec.selfInit.requests[0].when",
        {"selfInit": with_request(when=False)},
    ),
    "a condition that is a text": Case(
        "request-when",
        "spec.selfInit.requests[0].when",
        {"version": "2.6.0", "selfInit": with_request(when="yes")},
    ),
    "a condition that reads the environment": Case(
        "request-when-computed",
        "spec.selfInit.requests[0].when",
        {
            "version": "2.6.0",
            "selfInit": with_request(
                when={"eval_source": "env", "eval_type": "bool", "env_var": "A"}
            ),
        },
    ),
    "headers for a server that sends none": Case(
        "request-headers-version",
        "spec.selfInit.requests[0].headers",
        {"selfInit": with_request(headers={"X-Vault-Namespace": ["team"]})},
    ),
    "a NUL in data": Case(
        "request-unwritable",
        "spec.selfInit.requests[0]",
        {"selfInit": with_request(data={"a": "b\x00"})},
    ),
    "half a character in data": Case(
        "request-unwritable",
        "spec.selfInit.requests[0]",
        {"selfInit": with_request(data={"a": ["\ud800"]})},
    ),
    "data that is nested without end": Case(
        "request-unwritable",
        "spec.selfInit.requests[0]",
        {"selfInit": with_request(data={"a": [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]})},
    ),
    "a value read from a file of the pod": Case(
        "request-computed",
        "spec.selfInit.requests[0].data",
        {
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
    ),
    "a value read from the environment of the pod": Case(
        "request-computed",
        "spec.selfInit.requests[0].data",
        {
            "selfInit": with_request(
                data={"a": [{"eval_type": "string", "eval_source": "env", "env_var": "TOKEN"}]}
            )
        },
    ),
    "a computed value without a type": Case(
        "request-computed",
        "spec.selfInit.requests[0].data",
        {"selfInit": with_request(data={"a": {"eval_source": "response"}})},
    ),
    "an object in an object in a list": Case(
        "request-folded",
        "spec.selfInit.requests[0].data",
        {"selfInit": with_request(data={"a": [{"b": {"c": 1}}]})},
    ),
}
