"""Recovery keys on real servers: created by the first boot, delivered by the operator."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from contracts.api.cluster.job_roles import OPERATOR_ROLE
from contracts.api.cluster.recovery import InitialRecoveryKeys
from contracts.hcl.render import ConfigInput, OidcBootstrap, render_config, render_self_init
from contracts.hcl.roles import operator_role
from contracts.hcl.seals import SealStanza
from contracts.server_features import offers
from e2e.rig import images
from e2e.rig.paths import Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import OPENBAO, OPENBAO_OLDEST
from managers.bao.client import Bao
from managers.bao.login import StoredToken
from managers.recovery_keys.actions import copy_shares
from runtime.builtin_kinds import SECRET
from runtime.client.write_guard import allow_writes
from tests import gen
from tests.gen.api import FakeApi, Outside
from tests.integration.account_tokens import AUDIENCE, ISSUER, OPERATOR, Signer
from tests.integration.bao_server import ROOT_TOKEN, BaoServer, serve
from tests.integration.people import Person

THRESHOLD = 2
TOKEN_FILE = "/etc/bao/root-token/token"
ROTATION = "sys/rotate/recovery"


@dataclass(frozen=True)
class ServerBinary:
    """A server: its version and its binary."""

    version: str
    binary: Path

    def config(self, name: str, **more: Any) -> ConfigInput:
        """The input of its configuration; its listener allows generate-root."""
        return ConfigInput(name, "ns", version=self.version, generate_root=True, **more)


@pytest.fixture(scope="module", params=[OPENBAO_OLDEST, OPENBAO])
def bao(request: pytest.FixtureRequest) -> ServerBinary:
    """The oldest server, and the newest, which generates root tokens only if enabled."""
    binary = images.openbao_binary(Cache(cache_root()), request.param, to_stderr())
    return ServerBinary(request.param, binary)


@pytest.fixture
def people(tmp_path: Path) -> Iterator[tuple[Person, ...]]:
    """Three users with a key each."""
    folder = tmp_path / "people"
    folder.mkdir()
    keys = tuple(Person.with_new_key(name, folder) for name in ("alice", "bob", "carol"))
    yield keys
    for person in keys:
        person.leave()


def _spec(people: tuple[Person, ...]) -> dict[str, Any]:
    recipients = [
        {"name": holder.name, "fingerprint": holder.fingerprint, "pgpPublicKey": holder.public_key}
        for holder in people
    ]
    return {"shares": len(people), "threshold": THRESHOLD, "recipients": recipients}


@contextmanager
def _key_service(bao: ServerBinary, folder: Path) -> Iterator[BaoServer]:
    """Another OpenBao server, which has the key of the seal."""
    folder.mkdir()
    config = bao.config("kms", root_token_file=TOKEN_FILE)
    with serve(bao.binary, folder, render_config(config), render_self_init(config)) as server:
        yield server


def _config(bao: ServerBinary, kms: BaoServer, signer: Signer, spec: dict[str, Any]) -> ConfigInput:
    seal = SealStanza(
        "transit",
        {
            "address": kms.url,
            "token": ROOT_TOKEN,
            "mount_path": "transit/",
            "key_name": "unseal",
            "tls_ca_cert": str(kms.log.parent / "tls" / "ca.crt"),
        },
    )
    roles = (operator_role((OPERATOR,), hands_over=True),)
    return bao.config(
        "c",
        seal=seal,
        oidc=OidcBootstrap(AUDIENCE, ISSUER, (signer.public,), roles),
        recovery_keys=InitialRecoveryKeys.model_validate(spec),
    )


async def _operator(server: BaoServer, signer: Signer) -> str:
    body = {"role": OPERATOR_ROLE, "jwt": signer.token()}
    _, answer = await server.call("POST", "auth/jwt-operator/login", body)
    token: str = answer["auth"]["client_token"]
    return token


async def _hand_over(server: BaoServer, token: str, spec: dict[str, Any]) -> dict[str, bytes]:
    """Run the handover of the operator on this server; return the content of the Secret."""
    api = FakeApi()
    cluster = gen.cluster("c", recoveryKeys={"initial": spec}).self_init(login=True)
    authority = (server.log.parent / "tls" / "ca.crt").read_text()
    port = int(server.url.rpartition(":")[2])
    async with Bao(authority, "127.0.0.1", port, guard=allow_writes) as bao:
        status = await copy_shares(
            Outside(api).context,
            bao,
            "127.0.0.1",
            StoredToken(token),
            cluster.read().spec,
            cluster.owner(),
        )
    assert status.stored, status
    (secret,) = api.of(SECRET)
    return {name: base64.b64decode(value) for name, value in secret["data"].items()}


async def test_b45_shares_reach_their_recipients_and_generate_a_root_token(
    bao: ServerBinary, tmp_path: Path, people: tuple[Person, ...]
) -> None:
    signer, spec = Signer(), _spec(people)
    with _key_service(bao, tmp_path / "kms") as kms:
        await kms.active()
        await kms.call("POST", "sys/mounts/transit", {"type": "transit"}, ROOT_TOKEN)
        await kms.call("POST", "transit/keys/unseal", {}, ROOT_TOKEN)
        config, folder = _config(bao, kms, signer, spec), tmp_path / "bao"
        folder.mkdir()
        with serve(bao.binary, folder, render_config(config), render_self_init(config)) as server:
            await server.active()
            token = await _operator(server, signer)
            handed = await _hand_over(server, token, spec)
            assert set(handed) == {"alice", "bob", "carol"}
            shares = [person.open(handed[person.name]) for person in people]
            assert len(set(shares)) == len(people)
            for share in shares:
                assert share not in server.log.read_text()
            # The operator may only read the encrypted shares.
            start = {"secret_shares": 1, "secret_threshold": 1}
            assert (await server.call("POST", f"{ROTATION}/init", start, token))[0] == 403
            await _make_root(server, shares[:THRESHOLD])


async def _make_root(server: BaoServer, shares: list[str]) -> None:
    """Generate a root token with these shares, which shows that they are the recovery key.

    There is no other root token after the first boot.
    """
    status, attempt = await server.call("POST", "sys/generate-root/attempt", {})
    assert status == 200, attempt
    answer: Any = attempt
    for share in shares:
        assert not answer["complete"]
        body = {"key": share, "nonce": attempt["nonce"]}
        status, answer = await server.call("POST", "sys/generate-root/update", body)
        assert status == 200, answer
    assert answer["complete"]
    root = _decode(answer["encoded_token"], attempt["otp"])
    _, me = await server.call("GET", "auth/token/lookup-self", token=root)
    assert me["data"]["policies"] == ["root"]


def _decode(encoded: str, otp: str) -> str:
    raw = base64.b64decode(encoded + "=" * (-len(encoded) % 4))
    return bytes(a ^ b for a, b in zip(raw, otp.encode(), strict=True)).decode()


async def test_shares_generate_a_root_token_only_if_the_listener_allows_it(
    bao: ServerBinary, tmp_path: Path
) -> None:
    """The purpose of the field, and the first version that needs it."""
    config = replace(bao.config("c", root_token_file=TOKEN_FILE), generate_root=False)
    with serve(bao.binary, tmp_path, render_config(config), render_self_init(config)) as server:
        await server.active()
        status, answer = await server.call("POST", "sys/generate-root/attempt", {})
    if offers(bao.version, "generate-root-switch"):
        assert (status, answer["errors"]) == (405, ["unsupported operation"])
    else:
        assert status == 200, answer
