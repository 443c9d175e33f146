"""What the rules about versions of a running cluster refuse."""

from tests.contracts.api.case import Case
from tests.contracts.api.cases_server import LISTENER, listener

_POST_QUANTUM = {"tlsKeyExchangePreferences": ["X25519MLKEM768", "SecP256r1MLKEM768"]}
_EITHER = {"tlsKeyExchangePreferences": ["X25519MLKEM768", "X25519"]}

CASES: dict[str, Case] = {
    "an older version than the one that runs": Case(
        "version-downgrade",
        "spec.version",
        {"version": "2.4.4"},
        before={"version": "2.5.0"},
        status={"currentVersion": "2.5.0"},
    ),
    "an older version in another spelling": Case(
        "version-downgrade",
        "spec.version",
        {"version": "v2.9.10"},
        before={"version": "v2.10.9"},
        status={"currentVersion": "2.10.9"},
    ),
    "a downgrade during an upgrade": Case(
        "version-downgrade",
        "spec.version",
        {"version": "2.4.1"},
        before={"version": "2.5.0"},
        status={
            "currentVersion": "2.4.0",
            "upgrade": {"targetVersion": "2.5.0", "fromVersion": "2.4.0"},
        },
    ),
    "a downgrade after a leader stepped down": Case(
        "version-downgrade",
        "spec.version",
        {"version": "2.4.0"},
        before={"version": "2.5.0"},
        status={
            "currentVersion": "2.4.0",
            "upgrade": {
                "targetVersion": "2.5.0",
                "fromVersion": "2.4.0",
                "lastStepDownTime": "2030-01-01T00:00:00Z",
            },
        },
    ),
    "a key exchange that old TLS lacks": Case(
        "key-exchange-tls13",
        f"{LISTENER}.tlsMinVersion",
        {"version": "2.7.0", **listener(**_POST_QUANTUM)},
    ),
    "a key exchange together with the upgrade that adds it": Case(
        "key-exchange-running",
        f"{LISTENER}.tlsKeyExchangePreferences",
        {"version": "2.7.0", **listener(**_EITHER)},
        before={"version": "2.6.4"},
        status={"currentVersion": "2.6.4"},
    ),
}
