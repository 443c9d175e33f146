"""managers.cluster.status.login_conditions: the conditions about logins."""

from typing import Any

import pytest

from contracts.api.cluster.status_login import OperatorLoginStatus, RecoveryKeysStatus
from managers.cluster.status.login_conditions import operator_login, recovery_keys, user_access
from tests import gen
from tests.contracts.api.pgp import ALICE

MOUNT = {"name": "m", "operation": "update", "path": "sys/auth/userpass"}
USER = {"name": "u", "operation": "update", "path": "auth/userpass/users/a"}
SETTINGS = {"name": "s", "operation": "update", "path": "auth/userpass/config"}
MINE = {"name": "r", "operation": "create", "path": "auth/jwt-operator/role/people"}
KV = {"name": "k", "operation": "update", "path": "sys/mounts/kv"}
KEYS = {
    "initial": {
        "shares": 1,
        "threshold": 1,
        "recipients": [{"name": "alice", "pgpPublicKey": ALICE}],
    }
}


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        ((MOUNT, USER), "UserLoginFound"),
        ((KV, MINE), "UserLoginFound"),
        ((MOUNT,), "NoUserLogin"),
        ((USER,), "NoUserLogin"),
        ((MOUNT, SETTINGS), "NoUserLogin"),
        (({**MOUNT, "operation": "read"}, USER), "NoUserLogin"),
        ((MOUNT, {**USER, "path": "auth/userpass2/users/a"}), "NoUserLogin"),
        ((KV,), "NoUserLogin"),
    ],
)
def test_b30_a_cluster_without_user_logins_is_reported(
    requests: tuple[dict[str, Any], ...], reason: str
) -> None:
    update = user_access(gen.cluster().self_init(*requests, login=True).read().spec)
    assert (update.reason, update.status) == (
        reason,
        "True" if reason == "UserLoginFound" else "False",
    )


def test_other_logins_count() -> None:
    kept = gen.cluster(recoveryKeys=KEYS).self_init(KV, login=True)
    assert user_access(kept.read().spec).reason == "RecoveryKeysOnly"


@pytest.mark.parametrize(
    ("known", "initialized", "reason", "status"),
    [
        (None, False, "NotInitialized", "False"),
        (None, True, "Reconciling", "False"),
        (RecoveryKeysStatus(stored=True), True, "RecoveryKeysStored", "True"),
        (
            RecoveryKeysStatus(reason="RecoveryKeysMissing", message="why"),
            True,
            "RecoveryKeysMissing",
            "False",
        ),
    ],
)
def test_the_state_of_recovery_keys_is_reported(
    known: RecoveryKeysStatus | None, initialized: bool, reason: str, status: str
) -> None:
    spec = gen.cluster(recoveryKeys=KEYS).self_init(KV, login=True).read().spec
    update = gen.present(recovery_keys(spec, known, cluster="x", initialized=initialized))
    assert (update.reason, update.status) == (reason, status)


def test_unrequested_recovery_keys_are_not_reported() -> None:
    spec = gen.cluster().read().spec
    assert recovery_keys(spec, None, cluster="x", initialized=True) is None


@pytest.mark.parametrize(
    ("known", "status"),
    [
        (None, "Unknown"),
        (OperatorLoginStatus(keys="k"), "True"),
        (OperatorLoginStatus(keys="k", problem="why"), "False"),
    ],
)
def test_the_login_of_the_operator_is_reported(
    known: OperatorLoginStatus | None, status: str
) -> None:
    spec = gen.cluster().self_init(KV, login=True).read().spec
    bootstrap = operator_login(spec, known, initialized=True)
    assert bootstrap.status == status


def test_an_operator_without_a_login_is_reported() -> None:
    without = gen.cluster().self_init(KV).read().spec
    bootstrap = operator_login(without, None, initialized=True)
    assert bootstrap.reason == "OperatorLoginMissing"


@pytest.mark.parametrize(
    ("known", "initialized", "reason"),
    [
        (None, False, "NotInitialized"),
        (None, True, "Reconciling"),
        (OperatorLoginStatus(reason="RootTokenMissing", problem="why"), True, "RootTokenMissing"),
        (OperatorLoginStatus(root_token_secret="uid/1"), True, "OperatorLoginTrusted"),
    ],
)
def test_the_set_up_with_the_root_token_is_reported(
    known: OperatorLoginStatus | None, *, initialized: bool, reason: str
) -> None:
    bootstrap = operator_login(gen.cluster().read().spec, known, initialized=initialized)
    assert bootstrap.reason == reason
    assert bootstrap.status == ("True" if reason == "OperatorLoginTrusted" else "False")
