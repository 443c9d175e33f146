"""What is told about logins and recovery keys: rows of the table in test_conditions."""

from runtime.outcome import Done, Outcome
from tests import gen
from tests.contracts.api.pgp import ALICE

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
RECOVERY = {
    "initial": {
        "shares": 1,
        "threshold": 1,
        "recipients": [{"name": "alice", "pgpPublicKey": ALICE}],
    }
}

# sentence: (cluster, world, outcome of the pass, condition, "status reason")
ACCESS_ROWS: dict[str, tuple[gen.Cluster, gen.World, Outcome, str, str]] = {
    "a root token is a way in": (OLD, FINE, Done(), "UserAccessBootstrap", "True RootTokenStored"),
    "a login of the operator alone is none for people": (
        OLD.self_init(login=True),
        FINE,
        Done(),
        "UserAccessBootstrap",
        "False NoUserLogin",
    ),
    "the keys of the operator's login are trusted": (
        OLD.self_init(login=True).having(adminOps={"operatorLogin": {"keys": "k"}}),
        FINE,
        Done(),
        "OperatorLoginReady",
        "True OperatorLoginTrusted",
    ),
    "the keys of the operator's login went stale": (
        OLD.self_init(login=True).having(
            adminOps={"operatorLogin": {"keys": "k", "problem": "denied"}}
        ),
        FINE,
        Done(),
        "OperatorLoginReady",
        "False OperatorLoginOutdated",
    ),
    "OpenBao does not let the operator in": (
        OLD.self_init(login=True).having(
            adminOps={"operatorLogin": {"reason": "OperatorLoginRefused", "problem": "denied"}}
        ),
        FINE,
        Done(),
        "OperatorLoginReady",
        "False OperatorLoginRefused",
    ),
    "the API server gives the operator no token": (
        OLD.self_init(login=True).having(
            adminOps={"operatorLogin": {"reason": "OperatorLoginMissing", "problem": "403"}}
        ),
        FINE,
        Done(),
        "OperatorLoginReady",
        "False OperatorLoginMissing",
    ),
    "a root token is none before the first boot made it": (
        gen.cluster(),
        gen.world(),
        Done(),
        "UserAccessBootstrap",
        "False NotInitialized",
    ),
    "a root token that is gone is none": (
        OLD,
        FINE.without_secrets("x-root-token"),
        Done(),
        "UserAccessBootstrap",
        "Unknown RootTokenMissing",
    ),
    "recovery keys were stored": (
        OLD.self_init(login=True)
        .wanting(recoveryKeys=RECOVERY)
        .having(adminOps={"recoveryKeys": {"stored": True}}),
        FINE,
        Done(),
        "RecoveryKeysReady",
        "True RecoveryKeysStored",
    ),
    "there is no copy of recovery keys": (
        OLD.self_init(login=True)
        .wanting(recoveryKeys=RECOVERY)
        .having(adminOps={"recoveryKeys": {"reason": "RecoveryKeysMissing"}}),
        FINE,
        Done(),
        "RecoveryKeysReady",
        "False RecoveryKeysMissing",
    ),
}
