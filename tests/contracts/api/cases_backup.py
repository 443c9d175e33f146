"""What the rules about spec.backup refuse."""

from typing import Any

from tests.contracts.api.case import Broken, Case, cases_of
from tests.contracts.api.clusters import with_request

_TARGET = {"endpoint": "https://s3.example.com", "bucket": "b"}


def backup(target: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A spec with backups, changed; None removes a field."""
    store = {
        key: value for key, value in {**_TARGET, **(target or {})}.items() if value is not None
    }
    block = {"schedule": "0 3 * * *", "jwtAuthRole": "backup", "target": store, **fields}
    return {"backup": {key: value for key, value in block.items() if value is not None}}


def _endpoint(url: str, rule: str = "backup-endpoint") -> Case:
    return Case(rule, "spec.backup.target.endpoint", backup({"endpoint": url}))


def _place(host: str) -> Case:
    return _endpoint(f"https://{host}", "backup-endpoint-place")


_BROKEN: Broken = {
    ("backup-bucket", "spec.backup.target.bucket"): {
        "a bucket with a parent segment": backup({"bucket": "../b"})
    },
    ("backup-prefix", "spec.backup.target.pathPrefix"): {
        "keys that climb": backup({"pathPrefix": "a/../../other"})
    },
    ("backup-login", "spec.backup.jwtAuthRole"): {
        "a backup that cannot log in": {**backup(jwtAuthRole=None), "selfInit": with_request()}
    },
    ("backup-s3-endpoint", "spec.backup.target.endpoint"): {
        "s3 without an endpoint": backup({"endpoint": None})
    },
    ("backup-gcs", "spec.backup.target.gcs"): {
        "a Google block for another store": backup({"gcs": {"project": "p"}})
    },
    ("backup-azure", "spec.backup.target.azure"): {
        "an Azure block for another store": backup({"azure": {"storageAccount": "a"}})
    },
    ("backup-rolearn", "spec.backup.target.roleArn"): {
        "a role of AWS for another store": backup(
            {"provider": "gcs", "roleArn": "arn:aws:iam::1:role/x"}
        )
    },
    ("backup-pvc", "spec.backup.target.pvc"): {
        "a volume for another store": backup({"pvc": {"claimName": "v"}})
    },
    ("backup-claim", "spec.backup.target.pvc"): {
        "a volume without a claim name": backup({"provider": "pvc", "endpoint": None})
    },
    ("backup-volume", "spec.backup.target"): {
        "a volume with an address": backup({"provider": "pvc", "pvc": {"claimName": "v"}}),
        "a volume with a login": backup(
            {
                "provider": "pvc",
                "endpoint": None,
                "pvc": {"claimName": "v"},
                "credentialsSecretRef": {"name": "s"},
            }
        ),
    },
    ("restore-test-trigger", "spec.backup.restoreTest"): {
        "a restore test without a schedule": backup(restoreTest={}),
        "a restore test with two schedules": backup(
            restoreTest={"schedule": "0 5 * * 0", "everySuccessfulBackups": 2}
        ),
    },
    ("restore-test-tls", "spec.backup.restoreTest.clusterTemplate.tls"): {
        "a restore test with certificates of the user": backup(
            restoreTest={
                "everySuccessfulBackups": 2,
                "clusterTemplate": {"tls": {"mode": "External"}},
            }
        )
    },
    ("hasty-backup.schedule", "spec.backup.schedule"): {
        "a snapshot every minute": backup(schedule="* * * * *")
    },
    ("hasty-backup.restoreTest.schedule", "spec.backup.restoreTest.schedule"): {
        "a test that is due too often": backup(restoreTest={"schedule": "*/14 * * * *"})
    },
}

CASES: dict[str, Case] = {
    **cases_of(_BROKEN),
    "an endpoint of another scheme": _endpoint("ftp://s3.example.com"),
    "an endpoint without a scheme": _endpoint("s3.example.com"),
    "an endpoint without a host": _endpoint("https:///bucket"),
    "an endpoint with a user": _endpoint("https://u:p@s3.example.com"),
    "an endpoint with a query": _endpoint("https://s3.example.com/?a=b"),
    "an endpoint on localhost": _place("localhost:9000"),
    "an endpoint on localhost in capital letters": _place("LOCALHOST"),
    "an endpoint on the loopback": _place("127.0.0.1:9000"),
    "an endpoint on the loopback of IPv6": _place("[::1]:9000"),
    "an IPv4 address inside of an IPv6 one": _place("[::ffff:127.0.0.1]"),
    "the metadata server of the cloud": _place("169.254.169.254"),
    "an endpoint on a link-local address": _place("[fe80::1]"),
    "an address written as one number": _place("2130706433"),
    "an address written in hexadecimal": _place("0x7f.1"),
    "an address with a part in octal": _place("192.0.2.010"),
    "an address of three parts": _place("10.0.1"),
}

# Rules without CEL: only the operator checks them.
_BROKEN_IN_CODE: Broken = {
    ("backup-schedule", "spec.backup.schedule"): {
        "two snapshots within a minute over midnight": backup(schedule="0,59 0,23 * * *"),
        "a snapshot at an invalid minute": backup(schedule="61 3 * * *"),
    },
}

CODE_CASES = cases_of(_BROKEN_IN_CODE)
