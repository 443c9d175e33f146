"""Rows of test_conditions about logins and recovery keys."""

from tests import gen
from tests.contracts.api.pgp import ALICE
from tests.managers.cluster.passes import Row

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
RECOVERY = {
    "initial": {
        "shares": 1,
        "threshold": 1,
        "recipients": [{"name": "alice", "pgpPublicKey": ALICE}],
    }
}

ACCESS_ROWS = {
    "a root token is a way in": Row(OLD, FINE, "UserAccessBootstrap=True RootTokenStored"),
    "a login of the operator alone is none for people": Row(
        OLD.self_init(login=True), FINE, "UserAccessBootstrap=False NoUserLogin"
    ),
    "the keys of the operator's login are trusted": Row(
        OLD.self_init(login=True).with_status(adminOps={"operatorLogin": {"keys": "k"}}),
        FINE,
        "OperatorLoginReady=True OperatorLoginTrusted",
    ),
    "the keys of the operator's login went stale": Row(
        OLD.self_init(login=True).with_status(
            adminOps={"operatorLogin": {"keys": "k", "problem": "denied"}}
        ),
        FINE,
        "OperatorLoginReady=False OperatorLoginOutdated",
    ),
    "OpenBao does not let the operator in": Row(
        OLD.self_init(login=True).with_status(
            adminOps={"operatorLogin": {"reason": "OperatorLoginRefused", "problem": "denied"}}
        ),
        FINE,
        "OperatorLoginReady=False OperatorLoginRefused",
    ),
    "the API server gives the operator no token": Row(
        OLD.self_init(login=True).with_status(
            adminOps={"operatorLogin": {"reason": "OperatorLoginMissing", "problem": "403"}}
        ),
        FINE,
        "OperatorLoginReady=False OperatorLoginMissing",
    ),
    "a root token is none before the first boot made it": Row(
        gen.cluster(), gen.world(), "UserAccessBootstrap=False NotInitialized"
    ),
    "a root token that is gone is none": Row(
        OLD, FINE.without_secrets("x-root-token"), "UserAccessBootstrap=Unknown RootTokenMissing"
    ),
    "recovery keys were stored": Row(
        OLD.self_init(login=True)
        .with_spec(recoveryKeys=RECOVERY)
        .with_status(adminOps={"recoveryKeys": {"stored": True}}),
        FINE,
        "RecoveryKeysReady=True RecoveryKeysStored",
    ),
    "there is no copy of recovery keys": Row(
        OLD.self_init(login=True)
        .with_spec(recoveryKeys=RECOVERY)
        .with_status(adminOps={"recoveryKeys": {"reason": "RecoveryKeysMissing"}}),
        FINE,
        "RecoveryKeysReady=False RecoveryKeysMissing",
    ),
}
