"""What the rules about addresses refuse."""

from typing import Any

from tests.contracts.api.case import Broken, cases_of
from tests.contracts.api.clusters import with_request

OCI = {
    "keyID": "k",
    "cryptoEndpoint": "https://kms.example.com",
    "managementEndpoint": "https://kms.example.com",
}
# The name of a metadata service, built from parts: no file contains the name of a real host.
METADATA = "metadata" + ".google.internal"
AWS = {"region": "r", "kmsKeyID": "k"}


def seal(kind: str, block: dict[str, Any]) -> dict[str, Any]:
    """A spec with a seal."""
    return {"unseal": {"type": kind, kind: block}}


_BROKEN: Broken = {
    ("url-tls.acme.directoryURL", "spec.tls.acme.directoryURL"): {
        "an ACME server on the link": {
            "replicas": 1,
            "tls": {"mode": "ACME", "acme": {"directoryURL": "https://169.254.169.254/dir"}},
        }
    },
    ("url-unseal.awskms.endpoint", "spec.unseal.awskms.endpoint"): {
        "a KMS in the pod": seal("awskms", {**AWS, "endpoint": "https://127.1"})
    },
    ("url-unseal.ocikms.cryptoEndpoint", "spec.unseal.ocikms.cryptoEndpoint"): {
        "a vault in the clear": seal("ocikms", {**OCI, "cryptoEndpoint": "http://kms.example.com"})
    },
    ("url-unseal.ocikms.managementEndpoint", "spec.unseal.ocikms.managementEndpoint"): {
        "a vault with a user": seal(
            "ocikms", {**OCI, "managementEndpoint": "https://me@kms.example.com"}
        )
    },
    ("url-telemetry.circonusAPIURL", "spec.telemetry.circonusAPIURL"): {
        "metrics for the metadata service": {
            "telemetry": {"circonusAPIURL": f"https://{METADATA}/v2"}
        }
    },
    ("url-audit[].httpOptions.uri", "spec.audit[0].httpOptions.uri"): {
        "an audit device that posts to the metadata service": {
            "version": "2.5.0",
            "audit": [
                {"type": "http", "path": "h", "httpOptions": {"uri": "http://[fd00:ec2::254]/"}}
            ],
        }
    },
    (
        "url-selfInit.requests[].auditDevice.httpOptions.uri",
        "spec.selfInit.requests[0].auditDevice.httpOptions.uri",
    ): {
        "an audit device of the first boot that posts to the link": {
            "configuration": {"unsafeAllowAPIAuditCreation": True},
            "selfInit": with_request(
                path="sys/audit/x",
                data=None,
                auditDevice={"type": "http", "httpOptions": {"uri": "http://2852039166/"}},
            ),
        }
    },
}

CASES = cases_of(_BROKEN)
