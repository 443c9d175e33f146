"""What the rules about spec.backup refuse."""

from typing import Any

from tests.contracts.api.case import Case
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


CASES: dict[str, Case] = {
    "a bucket that climbs": Case(
        "backup-bucket", "spec.backup.target.bucket", backup({"bucket": "../b"})
    ),
    "keys that climb": Case(
        "backup-prefix", "spec.backup.target.pathPrefix", backup({"pathPrefix": "a/../../other"})
    ),
    "a backup that cannot log in": Case(
        "backup-login",
        "spec.backup.jwtAuthRole",
        {**backup(jwtAuthRole=None), "selfInit": with_request()},
    ),
    "s3 without an endpoint": Case(
        "backup-s3-endpoint", "spec.backup.target.endpoint", backup({"endpoint": None})
    ),
    "an endpoint of another scheme": _endpoint("ftp://s3.example.com"),
    "an endpoint without a scheme": _endpoint("s3.example.com"),
    "an endpoint without a host": _endpoint("https:///bucket"),
    "an endpoint with a user": _endpoint("https://u:p@s3.example.com"),
    "an endpoint with a query": _endpoint("https://s3.example.com/?a=b"),
    "an endpoint on the machine itself": _place("localhost:9000"),
    "an endpoint that says localhost loudly": _place("LOCALHOST"),
    "an endpoint on the loopback": _place("127.0.0.1:9000"),
    "an endpoint on the loopback of IPv6": _place("[::1]:9000"),
    "an IPv4 address inside of an IPv6 one": _place("[::ffff:127.0.0.1]"),
    "the metadata server of the cloud": _place("169.254.169.254"),
    "an endpoint on the link": _place("[fe80::1]"),
    "an address written as one number": _place("2130706433"),
    "an address written in hexadecimal": _place("0x7f.1"),
    "an address with a part in octal": _place("192.0.2.010"),
    "an address of three parts": _place("10.0.1"),
    "a Google block for another store": Case(
        "backup-gcs", "spec.backup.target.gcs", backup({"gcs": {"project": "p"}})
    ),
    "an Azure block for another store": Case(
        "backup-azure", "spec.backup.target.azure", backup({"azure": {"storageAccount": "a"}})
    ),
    "a role of AWS for another store": Case(
        "backup-rolearn",
        "spec.backup.target.roleArn",
        backup({"provider": "gcs", "roleArn": "arn:aws:iam::1:role/x"}),
    ),
    "a volume for another store": Case(
        "backup-pvc", "spec.backup.target.pvc", backup({"pvc": {"claimName": "v"}})
    ),
    "a volume that nobody names": Case(
        "backup-claim", "spec.backup.target.pvc", backup({"provider": "pvc", "endpoint": None})
    ),
    "a volume with an address": Case(
        "backup-volume",
        "spec.backup.target",
        backup({"provider": "pvc", "pvc": {"claimName": "v"}}),
    ),
    "a volume that somebody logs in to": Case(
        "backup-volume",
        "spec.backup.target",
        backup(
            {
                "provider": "pvc",
                "endpoint": None,
                "pvc": {"claimName": "v"},
                "credentialsSecretRef": {"name": "s"},
            }
        ),
    ),
    "a restore test that never runs": Case(
        "restore-test-trigger", "spec.backup.restoreTest", backup(restoreTest={})
    ),
    "a restore test with two clocks": Case(
        "restore-test-trigger",
        "spec.backup.restoreTest",
        backup(restoreTest={"schedule": "0 5 * * 0", "everySuccessfulBackups": 2}),
    ),
    "a restore test with certificates of the user": Case(
        "restore-test-tls",
        "spec.backup.restoreTest.clusterTemplate.tls",
        backup(
            restoreTest={
                "everySuccessfulBackups": 2,
                "clusterTemplate": {"tls": {"mode": "External"}},
            }
        ),
    ),
    "a snapshot every minute": Case(
        "hasty-backup.schedule", "spec.backup.schedule", backup(schedule="* * * * *")
    ),
    "a test that is due too often": Case(
        "hasty-backup.restoreTest.schedule",
        "spec.backup.restoreTest.schedule",
        backup(restoreTest={"schedule": "*/14 * * * *"}),
    ),
}

# What CEL cannot say: the operator alone checks it.
CODE_CASES: dict[str, Case] = {
    "two snapshots in a minute of each other over midnight": Case(
        "backup-schedule", "spec.backup.schedule", backup(schedule="0,59 0,23 * * *")
    ),
    "a snapshot at a minute that is none": Case(
        "backup-schedule", "spec.backup.schedule", backup(schedule="61 3 * * *")
    ),
}
