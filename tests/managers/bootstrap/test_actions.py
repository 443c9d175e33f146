"""managers.bootstrap.actions: a Secret is created, never replaced, and added to the cache."""

import base64

import pytest

from contracts.records.effects import DrawRootToken, DrawUnsealKey
from managers.bootstrap.actions import draw_unseal_key
from managers.cluster.apply.actions import EFFECTS
from managers.cluster.observe.from_objects import SecretReading
from runtime.builtin_kinds import SECRET
from runtime.errors import ServerError
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import FakeApi, Outside, api_error

RESOLVED = gen.resolved(gen.cluster())
KEY = ObjectKey(gen.NAMESPACE, "s")
Drawing = DrawUnsealKey | DrawRootToken
KEY_EFFECT, TOKEN_EFFECT = DrawUnsealKey("s"), DrawRootToken("s")


async def facts_of(outside: Outside) -> SecretReading | None:
    return await outside.secrets.facts(KEY, reader=RESOLVED.owner, max_age=15, content=False)


async def draw_secret(effect: Drawing) -> Object:
    outside = Outside()
    await EFFECTS[type(effect)](outside.context, RESOLVED, effect)
    assert outside.api.take_requests() == ["create Secret s"]
    # The cache has the Secret, so no request is made.
    assert await facts_of(outside) is not None
    assert outside.api.take_requests() == []
    return outside.api.objects[(SECRET, KEY)]


async def test_the_token_has_no_dot_and_enough_bits() -> None:
    live = await draw_secret(TOKEN_EFFECT)
    token = base64.b64decode(live["data"]["token"]).decode()
    prefix, _, random_part = token.partition("-")
    assert prefix == "root"
    assert "." not in token
    assert random_part == random_part.lower()
    # Five bits in each character.
    assert len(random_part) * 5 >= 192


@pytest.mark.parametrize("effect", [KEY_EFFECT, TOKEN_EFFECT])
async def test_generated_secrets_are_immutable_and_owned(effect: Drawing) -> None:
    live = await draw_secret(effect)
    assert live["immutable"] is True
    marks = dict(live["metadata"]["annotations"])
    assert marks.pop("openbao.org/owner-uid") == "uid-x"
    # The id of the key, but no part of the key: 32 raw bytes of the random source.
    assert set(marks.values()) <= {"operator-generated-v1"}
    assert effect is TOKEN_EFFECT or base64.b64decode(live["data"]["key"]) == b"\x07" * 32
    assert live["metadata"]["ownerReferences"] == [gen.cluster().owner().reference()]


@pytest.mark.parametrize("effect", [KEY_EFFECT, TOKEN_EFFECT])
async def test_an_existing_secret_is_kept_and_read_again(effect: Drawing) -> None:
    first = {"kind": "Secret", "metadata": {"name": "s", "namespace": gen.NAMESPACE}, "data": {}}
    outside = Outside(FakeApi())
    # The cache is stale: it has no Secret.
    assert await facts_of(outside) is None
    outside.api.with_objects((SECRET, {"apiVersion": "v1", **first}))
    await EFFECTS[type(effect)](outside.context, RESOLVED, effect)
    assert outside.api.objects[(SECRET, KEY)]["data"] == {}
    outside.api.calls.clear()
    assert await facts_of(outside) is not None
    assert outside.api.take_requests() == ["peek Secret s"]


async def test_an_error_of_the_api_server_ends_the_pass() -> None:
    outside = Outside()
    outside.api.refuse("create Secret s", api_error(500))
    with pytest.raises(ServerError):
        await draw_unseal_key(outside.context, RESOLVED, KEY_EFFECT)
