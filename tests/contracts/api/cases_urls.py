"""What the rules about addresses refuse."""

from typing import Any

from tests.contracts.api.case import Case
from tests.contracts.api.clusters import with_request

OCI = {
    "keyID": "k",
    "cryptoEndpoint": "https://kms.example.com",
    "managementEndpoint": "https://kms.example.com",
}
# A name that clouds answer, put together here: no file names a host that somebody could reach.
METADATA = "metadata" + ".google.internal"
AWS = {"region": "r", "kmsKeyID": "k"}


def seal(kind: str, block: dict[str, Any]) -> dict[str, Any]:
    """A spec with a seal."""
    return {"unseal": {"type": kind, kind: block}}


CASES: dict[str, Case] = {
    "an ACME server on the link": Case(
        "url-tls.acme.directoryURL",
        "spec.tls.acme.directoryURL",
        {
            "replicas": 1,
            "tls": {"mode": "ACME", "acme": {"directoryURL": "https://169.254.169.254/dir"}},
        },
    ),
    "a KMS in the pod": Case(
        "url-unseal.awskms.endpoint",
        "spec.unseal.awskms.endpoint",
        seal("awskms", {**AWS, "endpoint": "https://127.1"}),
    ),
    "a vault in the clear": Case(
        "url-unseal.ocikms.cryptoEndpoint",
        "spec.unseal.ocikms.cryptoEndpoint",
        seal("ocikms", {**OCI, "cryptoEndpoint": "http://kms.example.com"}),
    ),
    "a vault with a user": Case(
        "url-unseal.ocikms.managementEndpoint",
        "spec.unseal.ocikms.managementEndpoint",
        seal("ocikms", {**OCI, "managementEndpoint": "https://me@kms.example.com"}),
    ),
    "metrics for the metadata service": Case(
        "url-telemetry.circonusAPIURL",
        "spec.telemetry.circonusAPIURL",
        {"telemetry": {"circonusAPIURL": f"https://{METADATA}/v2"}},
    ),
    "an audit device that posts to the metadata service": Case(
        "url-audit[].httpOptions.uri",
        "spec.audit[0].httpOptions.uri",
        {
            "version": "2.5.0",
            "audit": [
                {"type": "http", "path": "h", "httpOptions": {"uri": "http://[fd00:ec2::254]/"}}
            ],
        },
    ),
    "an audit device of the first boot that posts to the link": Case(
        "url-selfInit.requests[].auditDevice.httpOptions.uri",
        "spec.selfInit.requests[0].auditDevice.httpOptions.uri",
        {
            "configuration": {"unsafeAllowAPIAuditCreation": True},
            "selfInit": with_request(
                path="sys/audit/x",
                data=None,
                auditDevice={"type": "http", "httpOptions": {"uri": "http://2852039166/"}},
            ),
        },
    ),
}
