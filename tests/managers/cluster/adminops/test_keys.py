"""Which server is queried about keys, and that a complete task costs nothing."""

from collections.abc import Mapping
from typing import Any

import pytest

from contracts.api.cluster.status import AdminOpsStatus
from contracts.api.cluster.status_login import OperatorLoginStatus, RecoveryKeysStatus
from contracts.records.observed import TokenIssuer
from managers.bao.client import BaoError
from managers.bao.login import StoredToken
from managers.cluster.adminops.keys import KeyTasks
from managers.cluster.observe.observer import ClusterObserver
from managers.jwt_auth.decide import trusted_status
from tests import gen
from tests.gen.api import FakeApi, Outside
from tests.managers.membership.servers import Servers

ISSUER = TokenIssuer("https://issuer.example.com", ("PEM",))
WISHING = gen.cluster().self_init(login=True)


class ServersWithLogin(Servers):
    """Servers that record the reads of their login settings."""

    async def login_settings(self, address: str, token: str) -> Mapping[str, Any]:
        self.requests.append(f"settings {address}")
        if self.error is not None:
            raise self.error
        return {"bound_issuer": ISSUER.issuer, "jwt_validation_pubkeys": list(ISSUER.public_keys)}


class Knowing(ClusterObserver):
    """An observer that only knows the issuer."""

    def __init__(self) -> None:
        self.requests = 0

    async def token_issuer(self) -> TokenIssuer | None:
        self.requests += 1
        return ISSUER


def _login(outside: Outside, cluster: gen.Cluster) -> StoredToken | None:
    has = outside.logins.for_cluster(cluster.read(), cluster.owner()) is not None
    return StoredToken("t") if has else None


async def _look(
    servers: ServersWithLogin,
    cluster: gen.Cluster,
    *pods: gen.Pod,
    status: AdminOpsStatus | None = None,
) -> dict[str, Any]:
    outside = Outside(FakeApi())
    duties = KeyTasks(outside.context, Knowing(), outside.logins)
    read = cluster.read()
    read = read.model_copy(update={"status": read.status.model_copy(update={"admin_ops": status})})
    return await duties.run(
        servers, [pod.facts() for pod in pods], _login(outside, cluster), read, cluster.owner()
    )


async def test_b32_the_leader_is_queried_whatever_its_name() -> None:
    servers = ServersWithLogin()
    second, third = gen.pod(1).ready(), gen.pod(2).ready(leading=True)
    status = await _look(servers, WISHING, second, third)
    assert servers.requests == [f"settings {third.facts().ip}"]
    assert status["operator_login"] == trusted_status(ISSUER)


async def test_a_complete_task_sends_no_request() -> None:
    servers = ServersWithLogin()
    status = AdminOpsStatus(operator_login=trusted_status(ISSUER))
    after = await _look(servers, WISHING, gen.pod().ready(leading=True), status=status)
    assert servers.requests == []
    assert after["operator_login"] == trusted_status(ISSUER)


@pytest.mark.parametrize("leading", [True, False])
async def test_the_status_is_kept_while_no_server_responds(leading: bool) -> None:
    servers = ServersWithLogin()
    servers.error = BaoError("no answer")
    before = AdminOpsStatus(
        operator_login=OperatorLoginStatus(keys="older"),
        recovery_keys=RecoveryKeysStatus(stored=True),
    )
    status = await _look(servers, WISHING, gen.pod().ready(leading=leading), status=before)
    assert status["operator_login"] == before.operator_login
    assert status["recovery_keys"] == before.recovery_keys


async def test_without_an_operator_login_no_keys_are_compared() -> None:
    servers = ServersWithLogin()
    status = await _look(servers, gen.cluster().self_init(), gen.pod().ready(leading=True))
    assert (servers.requests, status["operator_login"]) == ([], None)
