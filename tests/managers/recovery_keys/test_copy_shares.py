"""managers.recovery_keys: shares are copied to their Secret once, and nothing is overwritten."""

import base64
from typing import Any

import pytest

from contracts.api.cluster.status_login import RecoveryKeysStatus
from contracts.api.group import CLUSTERS
from managers.bao.client import BaoError, Denied
from managers.bao.login import StoredToken
from managers.bao.models import RecoveryShares
from managers.context.secret_builder import secret_object
from managers.recovery_keys.actions import copy_shares
from managers.recovery_keys.decide import needs_shares
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import SECRET
from tests import gen
from tests.contracts.api.pgp import ALICE, ALICE_FINGERPRINT
from tests.gen.api import FakeApi, Outside, api_error
from tests.managers.membership.servers import Servers

SECRET_NAME = "x-recovery-shares"
SHARE, OTHER = b"\xc1share", b"\xc1other"
RECIPIENT = {"name": "alice", "pgpPublicKey": ALICE}


def _cluster(*recipients: dict[str, Any]) -> gen.Cluster:
    initial = {
        "shares": len(recipients),
        "threshold": len(recipients),
        "recipients": list(recipients),
    }
    return gen.cluster(recoveryKeys={"initial": initial}).self_init(login=True)


CLUSTER = _cluster(RECIPIENT)


class ShareServer(Servers):
    """A server with a copy of the shares."""

    def __init__(self, **shares: list[bytes]) -> None:
        super().__init__()
        self.copy: RecoveryShares | None = RecoveryShares(
            nonce="n1",
            keys_base64={
                mark: tuple(base64.b64encode(share).decode() for share in values)
                for mark, values in shares.items()
            },
        )

    async def recovery_shares(self, address: str, token: str) -> RecoveryShares | None:
        self.requests.append("shares")
        if self.error is not None:
            raise self.error
        return self.copy


async def _run(
    keeper: ShareServer, api: FakeApi, cluster: gen.Cluster = CLUSTER, *, login: bool = True
) -> RecoveryKeysStatus:
    token = StoredToken("t") if login else None
    spec = cluster.read().spec
    return await copy_shares(Outside(api).context, keeper, "10.0.0.1", token, spec, cluster.owner())


def _keeper() -> ShareServer:
    return ShareServer(**{ALICE_FINGERPRINT: [SHARE]})


def _data(api: FakeApi) -> dict[str, bytes]:
    (secret,) = api.of(SECRET)
    return {key: base64.b64decode(value) for key, value in secret["data"].items()}


async def test_each_recipient_finds_the_share_under_its_name() -> None:
    api = FakeApi().with_objects((CLUSTERS, CLUSTER.object()))
    status = await _run(_keeper(), api)
    assert (status.stored, status.nonce) == (True, "n1")
    assert _data(api) == {"alice": SHARE}
    (secret,) = api.of(SECRET)
    assert secret["immutable"]
    assert secret["metadata"]["name"] == SECRET_NAME


async def test_two_shares_for_one_key_go_to_two_recipients() -> None:
    api = FakeApi()
    two = _cluster(RECIPIENT, {**RECIPIENT, "name": "deputy"})
    await _run(ShareServer(**{ALICE_FINGERPRINT: [SHARE, OTHER]}), api, two)
    assert _data(api) == {"alice": SHARE, "deputy": OTHER}


async def test_a_share_without_a_recipient_is_not_lost() -> None:
    api = FakeApi()
    await _run(ShareServer(ab12=[SHARE, OTHER]), api)
    assert _data(api) == {"ab12": SHARE, "ab12.1": OTHER}


class TestCrash:
    """The operator crashes at one of its two steps, and the next one completes them."""

    async def test_a_lost_response_is_requested_again(self) -> None:
        api, keeper = FakeApi(), _keeper()
        keeper.error = BaoError("no answer")
        with pytest.raises(BaoError):
            await _run(keeper, api)
        assert api.of(SECRET) == []
        keeper.error = None
        assert (await _run(keeper, api)).stored

    async def test_a_secret_that_was_written_before_the_status_is_accepted(self) -> None:
        api, keeper = FakeApi(), _keeper()
        await _run(keeper, api)
        before = api.of(SECRET)
        assert (await _run(keeper, api)).stored
        assert api.of(SECRET) == before

    async def test_a_secret_that_could_not_be_written_is_written_later(self) -> None:
        api, keeper = FakeApi(), _keeper()
        api.refuse(f"create Secret {SECRET_NAME}", api_error(500))
        with pytest.raises(Exception, match="told to say 500"):
            await _run(keeper, api)
        assert (await _run(keeper, api)).stored


@pytest.mark.parametrize(
    ("owner", "content", "message"),
    [
        (CLUSTER.owner(), b"precious", "holds other shares"),
        (gen.cluster("y").owner(), b"precious", "belongs to OpenBaoCluster y"),
        (gen.cluster("y").owner(), SHARE, "belongs to OpenBaoCluster y"),
    ],
    ids=["our own", "foreign", "foreign with the same content"],
)
async def test_an_existing_secret_is_never_overwritten(
    owner: Owner, content: bytes, message: str
) -> None:
    api = FakeApi().with_objects((SECRET, secret_object(owner, SECRET_NAME, {"alice": content})))
    status = await _run(_keeper(), api)
    assert (status.stored, status.reason) == (False, "ForeignObject")
    assert SECRET_NAME in status.message
    assert message in status.message
    assert _data(api) == {"alice": content}


async def test_a_missing_copy_is_reported_and_no_keys_are_created() -> None:
    keeper = _keeper()
    keeper.copy = None
    status = await _run(keeper, FakeApi())
    assert status.reason == "RecoveryKeysMissing"
    assert "rotate-keys" in status.message
    assert keeper.requests == ["shares"]


async def test_missing_rights_are_reported_with_the_command_for_a_user() -> None:
    keeper = _keeper()
    keeper.error = Denied("sys/rotate/recovery/backup answered 403: permission denied", 403)
    status = await _run(keeper, FakeApi())
    assert status.reason == "OperatorLoginRefused"
    assert "policy openbao-operator" in status.message
    without = await _run(_keeper(), FakeApi(), login=False)
    assert without.reason == "OperatorLoginMissing"


@pytest.mark.parametrize(
    ("cluster", "status", "wanted"),
    [
        (gen.cluster(), None, False),
        (CLUSTER, None, True),
        (CLUSTER, RecoveryKeysStatus(reason="RecoveryKeysMissing"), True),
        (CLUSTER, RecoveryKeysStatus(stored=True), False),
    ],
)
def test_a_stored_secret_is_managed_by_the_user(
    cluster: gen.Cluster, status: RecoveryKeysStatus | None, wanted: bool
) -> None:
    """Also when the Secret is deleted, as its condition requests."""
    assert needs_shares(cluster.read().spec, status) is wanted


def test_no_share_is_printed() -> None:
    assert "share" not in repr(_keeper().copy)
