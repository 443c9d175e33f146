"""The setup of the operator login on a real server that was initialized with a root token only.

After a crash before any write the next process completes the setup, and the root token is used for
no other purpose.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from contracts.api.cluster.job_roles import DEFAULTS, OPERATOR_ROLE
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import AdminOpsStatus
from contracts.api.cluster.status_login import OperatorLoginStatus
from contracts.hcl.render import ConfigInput, render_config, render_self_init
from contracts.records.observed import TokenIssuer
from managers.bao.client import Bao
from managers.bao.login import Logins
from managers.cluster.adminops.login_setup import LoginSetup
from managers.cluster.observe.observer import ClusterObserver
from managers.cluster.resolve.operator_login import operator_login
from managers.context.secret_builder import secret_object
from managers.jwt_auth.decide import trusted_status
from runtime.builtin_kinds import SECRET
from runtime.client.write_guard import allow_writes
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import FakeApi
from tests.integration.account_tokens import ISSUER, Signer
from tests.integration.bao_server import ROOT_TOKEN, BaoServer, serve

CLUSTER = gen.cluster().initialized()
KEY = ObjectKey(gen.NAMESPACE, "x-root-token")
AUDIENCE = gen.INSTALLATION.audience_of(CLUSTER.owner().key)
MOUNT = "sys/auth/jwt-operator"
# The auth method, its configuration, and the policies and roles of three Jobs and of the operator.
WRITES = 10
READ_ONLY = ("GET", "LIST")


class ProcessEnded(BaseException):
    """The simulated process of the operator has crashed."""


class CrashingBao(Bao):
    """A client that crashes before one of its writes; logins do not count."""

    lives = WRITES + 1

    async def _call(self, method: str, address: str, path: str, **request: Any) -> Any:
        if method not in READ_ONLY and not path.endswith("/login"):
            self.lives -= 1
            if not self.lives:
                raise ProcessEnded
        return await super()._call(method, address, path, **request)


class TokenApi(FakeApi):
    """A fake API server that signs tokens."""

    def __init__(self, signer: Signer) -> None:
        super().__init__()
        self.signer = signer

    def _token(self, body: Object) -> Object:
        (audience,) = body["spec"]["audiences"]
        token = self.signer.token(gen.INSTALLATION.subject, aud=[audience])
        return {**super()._token(body), "status": {"token": token}}


class IssuerObserver(ClusterObserver):
    """An observer that only has the token issuer."""

    def __init__(self, issuer: TokenIssuer) -> None:
        self.installation = gen.INSTALLATION
        self._issuer = issuer

    async def token_issuer(self) -> TokenIssuer | None:
        return self._issuer


class Operator:
    """Successive processes of the operator, with one server."""

    def __init__(self, server: BaoServer, authority: str) -> None:
        self.server, self._authority = server, authority
        self.signer = Signer()
        self.issuer = TokenIssuer(ISSUER, (self.signer.public,))
        self.api = TokenApi(self.signer).with_objects(
            (SECRET, secret_object(CLUSTER.owner(), KEY.name, {"token": ROOT_TOKEN.encode()}))
        )

    async def run(
        self, before: OperatorLoginStatus | None = None, *, lives: int = WRITES + 1
    ) -> OperatorLoginStatus:
        """Check the login once, in a new process."""
        self.api.calls.clear()
        setup = LoginSetup(
            IssuerObserver(self.issuer), Logins(self.api, ManualClock(), gen.INSTALLATION)
        )
        port = gen.present(urlsplit(self.server.url).port)
        async with CrashingBao(self._authority, "127.0.0.1", port, guard=allow_writes) as bao:
            bao.lives = lives
            return await setup.check(bao, "127.0.0.1", _with(before), CLUSTER.owner())

    async def forget(self) -> None:
        """Remove the login from OpenBao, as an administrator."""
        await self.server.call("DELETE", MOUNT, token=ROOT_TOKEN)
        for policy in (OPERATOR_ROLE, *DEFAULTS.values()):
            await self.server.call("DELETE", f"sys/policies/acl/{policy}", token=ROOT_TOKEN)

    async def log_in(self, role: str, subject: str) -> str:
        """Log in with a role; "" if it is refused."""
        jwt = self.signer.token(subject, aud=[AUDIENCE])
        code, answer = await self.server.call(
            "POST", "auth/jwt-operator/login", {"role": role, "jwt": jwt}
        )
        return str(answer["auth"]["client_token"]) if code == 200 else ""

    def reads(self) -> list[str]:
        """The reads of the Secret with the token."""
        return [line for line in self.api.take_requests() if line == f"get Secret {KEY.name}"]


def _with(before: OperatorLoginStatus | None) -> OpenBaoCluster:
    cluster = CLUSTER.read()
    status = cluster.status.model_copy(update={"admin_ops": AdminOpsStatus(operator_login=before)})
    return cluster.model_copy(update={"status": status})


@pytest.fixture
async def operator(bao: Path, tmp_path: Path) -> AsyncIterator[Operator]:
    async with _operator(bao, tmp_path) as started:
        yield started


@asynccontextmanager
async def _operator(bao: Path, folder: Path) -> AsyncIterator[Operator]:
    config = ConfigInput("c", "ns", root_token_file="/etc/bao/root-token/token")
    with serve(bao, folder, render_config(config), render_self_init(config)) as server:
        await server.active()
        yield Operator(server, (folder / "tls" / "ca.crt").read_text())


async def capabilities(operator: Operator) -> Mapping[str, Mapping[str, list[str]]]:
    """The capabilities of each role, read with its own token."""
    policies: dict[str, Mapping[str, list[str]]] = {}
    for role in operator_login(
        CLUSTER.read().spec, CLUSTER.owner(), operator.issuer, gen.INSTALLATION
    ).roles:
        token = await operator.log_in(role.name, role.subjects[0])
        assert token, role.name
        _, may = await operator.server.call(
            "POST", "sys/capabilities-self", {"paths": sorted(role.rights)}, token
        )
        policies[role.name] = {path: sorted(may["data"][path]) for path in role.rights}
        assert policies[role.name] == {path: sorted(all_) for path, all_ in role.rights.items()}
    return policies


async def test_the_next_operator_completes_the_login_after_a_crash_at_any_write(
    operator: Operator,
) -> None:
    for lives in range(1, WRITES + 1):
        with pytest.raises(ProcessEnded):
            await operator.run(lives=lives)
        assert operator.reads()
        assert not await operator.log_in(OPERATOR_ROLE, gen.INSTALLATION.subject), (
            "a working login must mean that the setup is complete"
        )
        status = await operator.run()
        assert (status.reason, status.keys) == ("", trusted_status(operator.issuer).keys)
        assert len(operator.reads()) == 1
        assert len(await capabilities(operator)) == 4
        await operator.forget()


async def test_the_token_is_used_again_only_after_its_secret_changes(operator: Operator) -> None:
    first = await operator.run()
    await operator.forget()
    refused = await operator.run(first)
    assert refused.reason == "OperatorLoginRefused"
    assert f"Secret {KEY.name}" in refused.problem
    assert operator.reads() == []
    assert await operator.run(refused) == refused, "an unchanged cluster costs no write"

    secret = operator.api.objects[(SECRET, KEY)]
    secret["metadata"]["resourceVersion"] = "changed"
    restored = await operator.run(refused)
    assert restored.reason == ""
    assert restored.root_token_secret.endswith("/changed")
    assert await capabilities(operator)


async def test_an_existing_auth_method_gets_the_keys_of_the_api_server(
    operator: Operator,
) -> None:
    """An administrator enabled the auth method before, with other keys."""
    server = operator.server
    await server.call("POST", MOUNT, {"type": "jwt"}, ROOT_TOKEN)
    other = Signer()
    settings = {"bound_issuer": ISSUER, "jwt_validation_pubkeys": [other.public]}
    code, _ = await server.call("POST", "auth/jwt-operator/config", settings, ROOT_TOKEN)
    assert code == 204
    status = await operator.run()
    assert status.reason == "", "the operator must replace static keys"
    assert await capabilities(operator)


async def test_an_auth_method_of_another_type_is_reported(operator: Operator) -> None:
    await operator.server.call("POST", MOUNT, {"type": "userpass"}, ROOT_TOKEN)
    status = await operator.run()
    assert status.reason == "OperatorLoginRefused"
    assert "auth/jwt-operator/config" in status.problem
