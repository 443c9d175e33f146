"""T14: a server of a tenant gets the login token of the operator, which no other cluster accepts.

The API server, the permission of the operator to request tokens, and the servers of OpenBao are
real. The server of the tenant is simulated, as by a user who may edit the namespace of a cluster:
the Secret with the CA of its servers, and their pods.
"""

import base64
import dataclasses
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio

from contracts.api.cluster.job_roles import OPERATOR_ROLE
from contracts.hcl.render import ConfigInput, render_config, render_self_init
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from managers.bao.login import Logins, NoToken
from managers.cluster.resolve.operator_login import operator_login
from managers.context.installation import Installation
from managers.context.reads.api_server import ApiServer
from managers.context.service_account_token import LIFETIME_SECONDS
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import SERVICE_ACCOUNT
from runtime.client.client import Client
from runtime.client.credentials import KubeconfigCredentials, from_kubeconfig
from runtime.clock import SystemClock
from runtime.metrics.metrics import Metrics
from runtime.types import Object
from tests import gen
from tests.integration.account_tokens import Signer
from tests.integration.bao_server import BaoServer, serve
from tests.managers.bao.servers import ADDRESS, serving

HERE = Installation(
    namespace="openbao-operator-system",
    service_account="openbao-operator-controller",
    image_repository="unused",
    secret_recheck=15.0,
)
DEPLOY = REPOSITORY / "deploy"
# More than the clock skew that OpenBao tolerates, a minute.
AGO = 300
GRANTED = (200, {"auth": {"client_token": "of-the-tenant", "lease_duration": 3600}})
RED, BLUE = gen.cluster("red").self_init(login=True), gen.cluster("blue").self_init(login=True)


@pytest_asyncio.fixture
async def operator(
    control_plane: Rig, credentials: KubeconfigCredentials, client: Client, tmp_path: Path
) -> AsyncIterator[Client]:
    """A client with the ServiceAccount and the shipped RBAC of the operator."""
    for name in ("base/namespace", "base/service_account", "rbac/own-namespace/rbac"):
        file = str(DEPLOY / f"{name}.yaml")
        control_plane.kubectl("-n", HERE.namespace, "apply", "-f", file)
    issued = await client.create(
        SERVICE_ACCOUNT,
        _token_request(HERE.service_account),
        field_manager="itest",
        subresource="token",
    )
    config = orjson.loads(control_plane.kubeconfig.read_bytes())
    config["users"][0]["user"] = {"token": issued["status"]["token"]}
    kubeconfig = tmp_path / "operator.kubeconfig"
    kubeconfig.write_bytes(orjson.dumps(config))
    clock = SystemClock()
    own = await from_kubeconfig(str(kubeconfig), None, clock)
    operator_client = Client(own, user_agent="itest-operator", clock=clock, metrics=Metrics())
    try:
        yield operator_client
    finally:
        await operator_client.close()


def _token_request(account: str) -> Object:
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": account, "namespace": HERE.namespace},
        "spec": {},
    }


@contextmanager
def running_server(bao: Path, folder: Path, config: ConfigInput) -> Iterator[BaoServer]:
    """Run a server that initializes itself."""
    folder.mkdir()
    with serve(bao, folder, render_config(config), render_self_init(config)) as server:
        yield server


async def config_of(cluster: gen.Cluster, client: Client, *more_keys: str) -> ConfigInput:
    """Return the configuration that the operator renders for the first boot of a cluster."""
    issuer = gen.present(await ApiServer(client, SystemClock(), None).token_issuer())
    issuer = dataclasses.replace(issuer, public_keys=(*issuer.public_keys, *more_keys))
    owner = cluster.owner()
    oidc = operator_login(cluster.read().spec, owner, issuer, HERE)
    return ConfigInput(owner.name, owner.namespace, oidc=oidc)


async def capture_login(operator: Client, victim: Owner, folder: Path) -> str:
    """Let the tenant of a cluster capture the token with which the operator logs in."""
    login = Logins(operator, SystemClock(), HERE).of(victim)
    routes = {"auth/jwt-operator/login": GRANTED}
    async with serving(folder, routes) as tenants, tenants.client() as session:
        # The tenant has the CA of its own servers, so the operator trusts the simulated server.
        assert await login.token(session, ADDRESS) == "of-the-tenant"
    (request,) = tenants.requests
    assert request.path == "/v1/auth/jwt-operator/login"
    token: str = request.body["jwt"]
    return token


async def replay_login(server: BaoServer, jwt: str) -> tuple[int, str]:
    body = {"role": OPERATOR_ROLE, "jwt": jwt}
    status, answer = await server.call("POST", "auth/jwt-operator/login", body)
    return status, str(answer.get("errors"))


def claims(jwt: str) -> dict[str, Any]:
    body = jwt.split(".")[1]
    read: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return read


async def test_attack_t14_a_captured_login_opens_no_other_cluster(
    bao: Path, client: Client, operator: Client, tmp_path: Path
) -> None:
    jwt = await capture_login(operator, RED.owner(), tmp_path)
    token_claims = claims(jwt)
    assert token_claims["aud"] == [f"openbao-internal/{gen.NAMESPACE}/red"]
    assert token_claims["sub"] == HERE.subject
    assert token_claims["exp"] - token_claims["iat"] == LIFETIME_SECONDS

    red, blue = await config_of(RED, client), await config_of(BLUE, client)
    with (
        running_server(bao, tmp_path / "red", red) as its,
        running_server(bao, tmp_path / "blue", blue) as other,
    ):
        await its.active()
        await other.active()
        status, words = await replay_login(other, jwt)
        assert status == 400
        assert "audience" in words, "refused for an unexpected reason"
        # The token is valid otherwise, and the other cluster accepts a token for itself.
        assert (await replay_login(its, jwt))[0] == 200
        own = await capture_login(operator, BLUE.owner(), tmp_path)
        assert (await replay_login(other, own))[0] == 200


async def test_attack_t14_a_captured_login_expires(
    bao: Path, client: Client, tmp_path: Path
) -> None:
    """Instead of waiting for ten minutes, another trusted key signs an expired token."""
    signer = Signer()
    config = await config_of(RED, client, signer.public)
    assert config.oidc is not None
    now = int(SystemClock().now().timestamp())

    def token(age: int) -> str:
        times = {"iat": now - age, "nbf": now - age, "exp": now - age + LIFETIME_SECONDS}
        audience = [f"openbao-internal/{gen.NAMESPACE}/red"]
        issuer = config.oidc.issuer if config.oidc else ""
        return signer.token(HERE.subject, iss=issuer, aud=audience, **times)

    with running_server(bao, tmp_path / "red", config) as server:
        await server.active()
        assert (await replay_login(server, token(0)))[0] == 200
        status, words = await replay_login(server, token(LIFETIME_SECONDS + AGO))
        assert status == 400
        assert "expired" in words


async def test_attack_t14_the_operator_may_request_tokens_only_for_its_account(
    operator: Client, client: Client, tmp_path: Path
) -> None:
    """A compromised operator cannot become another account."""
    body: Object = {"metadata": {"name": "other", "namespace": HERE.namespace}}
    await client.create(
        SERVICE_ACCOUNT,
        {"apiVersion": "v1", "kind": "ServiceAccount", **body},
        field_manager="itest",
    )
    taken = dataclasses.replace(HERE, service_account="other")
    login = Logins(operator, SystemClock(), taken).of(RED.owner())
    async with serving(tmp_path, {}) as nobody, nobody.client() as session:
        with pytest.raises(NoToken, match="403 Forbidden"):
            await login.token(session, ADDRESS)
