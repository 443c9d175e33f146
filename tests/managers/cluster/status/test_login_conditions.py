"""managers.cluster.status.login_conditions: the logins of users.

The other conditions about logins have rows in tests/managers/cluster/condition_cases.py.
"""

from typing import Any

import pytest

from managers.cluster.status.login_conditions import user_access
from tests import gen

MOUNT = {"name": "m", "operation": "update", "path": "sys/auth/userpass"}
USER = {"name": "u", "operation": "update", "path": "auth/userpass/users/a"}
SETTINGS = {"name": "s", "operation": "update", "path": "auth/userpass/config"}
MINE = {"name": "r", "operation": "create", "path": "auth/jwt-operator/role/people"}
KV = {"name": "k", "operation": "update", "path": "sys/mounts/kv"}


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
    status = "True" if reason == "UserLoginFound" else "False"
    assert (update.reason, update.status) == (reason, status)
