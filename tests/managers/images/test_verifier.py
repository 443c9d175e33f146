"""managers.images.verifier: requests to registries, and the cache of verdicts."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import orjson
import pytest
from aiohttp import web

from contracts import image_reference
from contracts.api.cluster.image_verification import ImageVerification
from managers.images.credentials import LOGINS_MAX
from managers.images.policy import VerificationRequest, cache_key
from managers.images.registry import RegistrySession
from managers.images.signatures import verify_image
from managers.images.trust import EMPTY_TRUST_ROOT
from managers.images.verifier import (
    REFUSED_RECHECK,
    TIMEOUT,
    UNREACHABLE_RECHECK,
    VERIFIED_TTL,
    ImageVerifier,
)
from runtime.builtin_kinds import SECRET
from tests.managers.images.bench import bench
from tests.managers.images.recorded import KINDS, base64_of, recording
from tests.managers.images.registry_server import registry_server
from tests.managers.images.signing import Signer


@pytest.mark.parametrize("lists", [True, False])
async def test_a_signed_image_is_pinned_to_its_digest(lists: bool) -> None:
    async with bench(lists_referrers=lists) as here:
        digest = here.signed_image()
        verdict = await here.ask()
        assert verdict.pinned == f"{here.server.address}/team/openbao@{digest}"
        assert verdict.problem == ""


async def test_a_simple_signature_is_accepted_too() -> None:
    async with bench(lists_referrers=False) as here:
        digest = here.server.image("2.4.0")
        repository = f"{here.server.address}/team/openbao"
        strangers = [Signer().older(repository, digest) for _ in range(3)]
        layers = [*strangers, here.signer.older(repository, digest)]
        here.server.signed_older(layers, digest)
        assert (await here.ask()).pinned.endswith(digest)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["bundle", "older"])
async def test_signatures_of_real_cosign_in_a_registry_are_found(kind: str, scheme: str) -> None:
    record = recording(kind)
    hidden = "" if scheme == "older" else ".sig"
    kept = {
        name: text.encode()
        for name, text in record.manifests.items()
        if not (name.endswith(".sig") if hidden else name == record.digest.replace(":", "-"))
    }
    blobs = {name: text.encode() for name, text in record.blobs.items()}
    policy = ImageVerification(enabled=True, public_key=record.public_key, ignore_tlog=True)
    question = VerificationRequest("shop", record.reference, policy, ())
    async with (
        registry_server(manifests=kept, blobs=blobs, lists_referrers=False) as server,
        RegistrySession(server.address, record.repository, None, insecure=True) as registry,
    ):
        found = await verify_image(
            registry, image_reference.parse(record.reference), question, EMPTY_TRUST_ROOT
        )
    assert found == record.digest


async def test_b41_a_running_cluster_sends_no_request_to_the_registry() -> None:
    async with bench() as here:
        here.signed_image()
        first = await here.ask()
        assert 0 < here.server.requests < 8
        for _ in range(50):
            assert await here.verifier.verdict(here.question(), [first.record]) == first
            await here.clock.advance(VERIFIED_TTL)
        restarted = ImageVerifier(here.api, here.clock)
        assert (await restarted.verdict(here.question(), [first.record])).pinned == first.pinned
        assert (here.server.requests, here.api.take_requests()) == (0, [])


async def test_b41_an_unrecorded_verdict_is_cached_for_a_while() -> None:
    async with bench() as here:
        here.signed_image()
        await here.ask()
        assert here.server.requests
        await here.clock.advance(VERIFIED_TTL - 1)
        await here.ask()
        assert here.server.requests == 0
        await here.clock.advance(1)
        await here.ask()
        assert here.server.requests


async def test_b41_a_registry_that_does_not_answer_costs_five_seconds() -> None:
    async with bench() as here:
        here.signed_image()
        here.server.gate = asyncio.Event()
        asking = asyncio.create_task(here.ask())
        await here.server.arrived.acquire()
        await here.clock.advance(TIMEOUT)
        verdict = await asking
        here.server.gate.set()
        assert verdict.problem == "unreachable"
        assert "5 seconds" in verdict.message
        assert verdict.retry_after == UNREACHABLE_RECHECK


async def test_a_moved_tag_does_not_change_a_verified_image() -> None:
    async with bench() as here:
        here.signed_image(content="one")
        first = await here.ask()
        here.signed_image(content="two")
        await here.clock.advance(VERIFIED_TTL * 10)
        assert await here.verifier.verdict(here.question(), [first.record]) == first
        assert (await here.ask()).pinned != first.pinned


async def test_an_unavailable_registry_does_not_change_a_verified_image() -> None:
    async with bench() as here:
        here.signed_image()
        first = await here.ask()
        here.server.fault = lambda request: web.Response(status=503)
        assert await here.verifier.verdict(here.question(), [first.record]) == first
        other = await here.verifier.verdict(here.question("2.5.0"), [first.record])
        assert other.problem == "unreachable"
        assert "HTTP 503" in other.message


PROBLEMS = {
    "unsigned": "has no signature",
    "signed with another key": "does not match the key",
    "absent": "no image with this name and tag",
    "signed for another image": "for another image",
}


@pytest.mark.parametrize(("what", "reason"), PROBLEMS.items())
async def test_an_unverified_image_is_not_pinned(what: str, reason: str) -> None:
    async with bench() as here:
        digest = here.server.image("another tag" if what == "absent" else "2.4.0")
        if what == "signed with another key":
            here.server.signed(Signer(), digest)
        if what == "signed for another image":
            here.server.attach(digest, here.signer.bundle("sha256:" + "e" * 64))
        verdict = await here.ask()
        assert (verdict.pinned, verdict.record, verdict.problem) == ("", "", "unverified")
        assert reason in verdict.message
        assert verdict.retry_after == REFUSED_RECHECK


async def test_a_later_signature_is_found() -> None:
    async with bench() as here:
        digest = here.server.image("2.4.0")
        assert (await here.ask()).problem == "unverified"
        here.server.signed(here.signer, digest)
        assert (await here.ask()).problem == "unverified"
        await here.clock.advance(REFUSED_RECHECK)
        assert (await here.ask()).pinned


async def test_b14_a_verdict_applies_only_to_its_own_key() -> None:
    """All keys in PEM start with the same bytes, and these two differ only after them."""
    async with bench() as here:
        here.signed_image()
        assert (await here.ask()).pinned
        first = await here.ask()
        mine, other = here.question(), Signer().public_key
        shared = 40
        assert mine.policy.public_key is not None
        assert mine.policy.public_key[:shared] == other[:shared]
        question = replace(mine, policy=mine.policy.model_copy(update={"public_key": other}))
        assert (await here.verifier.verdict(question, [first.record])).problem == "unverified"


CHANGES: dict[str, dict[str, object]] = {
    "the key": {"public_key": "x"},
    "the issuer": {"issuer": "x"},
    "the subject": {"subject": "x"},
    "the issuer's pattern": {"issuer_reg_exp": "x"},
    "the subject's pattern": {"subject_reg_exp": "x"},
    "whether a log entry is required": {"ignore_tlog": False},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_b14_the_cache_key_contains_every_field(change: dict[str, object]) -> None:
    async with bench() as here:
        request = here.question()
        other = replace(request, policy=request.policy.model_copy(update=change))
        assert cache_key(request, "") != cache_key(other, "")


async def test_b14_the_cache_key_contains_reference_and_trust_root() -> None:
    async with bench() as here:
        request = here.question()
        assert cache_key(request, "") != cache_key(request, "root")
        assert cache_key(request, "") != cache_key(here.question("2.5.0"), "")
        warned = replace(
            request, policy=request.policy.model_copy(update={"failure_policy": "Warn"})
        )
        assert cache_key(request, "") == cache_key(warned, "")


async def test_a_verdict_is_not_shared_between_namespaces() -> None:
    async with bench(wants="basic") as here:
        here.signed_image()
        here.api.with_objects((SECRET, pull_secret(here.server.address)))
        request = replace(here.question(), pull_secrets=("login",))
        assert (await here.verifier.verdict(request)).pinned
        elsewhere = replace(request, namespace="elsewhere")
        refused = await here.verifier.verdict(elsewhere)
        assert refused.problem == "unverified"
        assert "pull secret" in refused.message


def pull_secret(registry: str) -> dict[str, object]:
    entry = {"auth": base64_of(b"reader:open sesame")}
    config = orjson.dumps({"auths": {registry: entry}})
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "login", "namespace": "shop"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64_of(config)},
    }


@pytest.mark.parametrize("wants", ["basic", "bearer"])
async def test_pull_secrets_are_read_by_name_and_not_cached(wants: str) -> None:
    async with bench(wants=wants) as here:
        here.signed_image()
        here.api.with_objects((SECRET, pull_secret(here.server.address)))
        request = replace(here.question(), pull_secrets=("absent", "login"))
        assert (await here.verifier.verdict(request)).pinned
        assert here.api.take_requests() == ["get Secret absent", "get Secret login"]
        await here.verifier.verdict(request)
        assert here.api.take_requests() == []
        assert "sesame" not in repr(vars(here.verifier))


async def test_a_pull_secret_beyond_a_limit_is_named_before_any_request() -> None:
    async with bench(wants="basic") as here:
        here.signed_image()
        auths = {f"{n}.example.com": {"auth": "dTpw"} for n in range(LOGINS_MAX + 1)}
        live = pull_secret(here.server.address)
        live["data"] = {".dockerconfigjson": base64_of(orjson.dumps({"auths": auths}))}
        here.api.with_objects((SECRET, live))
        verdict = await here.verifier.verdict(replace(here.question(), pull_secrets=("login",)))
        assert verdict.problem == "unverified"
        assert f"Secret shop/login: it has {LOGINS_MAX + 1} logins" in verdict.message
        assert here.server.requests == 0


async def test_a_slow_registry_blocks_one_worker_per_namespace() -> None:
    async with bench() as here:
        here.signed_image()
        here.server.gate = asyncio.Event()
        mine = here.question()
        first = asyncio.create_task(here.verifier.verdict(mine))
        await here.server.arrived.acquire()
        same = await here.verifier.verdict(here.question("2.5.0"))
        second = asyncio.create_task(here.verifier.verdict(replace(mine, namespace="b")))
        await here.server.arrived.acquire()
        third = await here.verifier.verdict(replace(mine, namespace="c"))
        assert [same.problem, third.problem] == ["unreachable", "unreachable"]
        assert same.retry_after < UNREACHABLE_RECHECK
        assert len(here.server.paths) == 2
        here.server.gate.set()
        assert (await first).pinned
        assert (await second).pinned
        assert (await here.verifier.verdict(replace(mine, namespace="c"))).pinned


async def test_the_verdict_cache_is_limited() -> None:
    async with bench() as here:
        for number in range(300):
            junk = here.question(publicKey=f"junk {number}")
            await here.verifier.verdict(junk)
        assert len(here.verifier._verdicts) <= 256


async def test_an_invalid_policy_causes_no_requests() -> None:
    async with bench() as here:
        here.signed_image()
        verdict = await here.verifier.verdict(here.question(publicKey="junk"))
        assert verdict.problem == "unverified"
        assert here.server.requests == 0


async def test_concurrent_requests_share_a_verification() -> None:
    async with bench() as here:
        digest = here.signed_image()
        here.server.image("tools", "unsigned")
        named = (here.question(), None, here.question("tools"))
        verdicts = await here.verifier.verdicts(named, ["", "junk", "a b c"])
        assert [bool(verdict.pinned) for verdict in verdicts.values()] == [True, False]
        assert verdicts[here.question().reference].pinned.endswith(digest)


async def test_an_image_named_by_digest_needs_no_tag() -> None:
    async with bench() as here:
        digest = here.signed_image()
        request = here.question()
        by_digest = replace(request, reference=f"{here.server.address}/team/openbao@{digest}")
        assert (await here.verifier.verdict(by_digest)).pinned == by_digest.reference
        both = replace(request, reference=f"{request.reference}@{digest}")
        assert (await here.verifier.verdict(both)).pinned == by_digest.reference


async def test_a_signature_without_a_log_entry_needs_ignore_tlog() -> None:
    async with bench() as here:
        here.signed_image()
        verdict = await here.verifier.verdict(here.question(ignoreTlog=False))
        assert verdict.problem == "unverified"
        assert "not in a transparency log" in verdict.message
