"""managers.images.plan and policy: the image reference of the pods, and what blocks them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts.api.cluster.spec import ClusterSpec
from contracts.naming import labels
from contracts.records.observed import ImageVerdict, Observed
from contracts.records.resolved import ImageChoice
from managers.images.plan import images_of, version_mismatch
from managers.images.policy import (
    cache_key,
    operator_image_request,
    read_verdict,
    record,
    server_image,
    server_image_request,
)
from runtime.outcome import Blocked, Done, Wait
from runtime.testing.clock import EPOCH
from tests import gen
from tests.contracts.api.cases_images import IDENTITY, KEY

HERE = replace(gen.INSTALLATION, image_repository="r.example.com/bao", operator_image="r/op:1")
IMAGE = "r.example.com/bao:2.4.0"
DIGEST = "sha256:" + "d" * 64
PINNED = f"r.example.com/bao@{DIGEST}"
HELPER_PINNED = f"r/op@{DIGEST}"
POLICY = {"enabled": True, "publicKey": KEY}


def spec(**fields: Any) -> ClusterSpec:
    return ClusterSpec.model_validate({"version": "2.4.0", "storage": {"size": "1Gi"}, **fields})


def choose(verdict: ImageVerdict | None, **fields: Any) -> ImageChoice:
    images = {} if verdict is None else {verdict.reference: verdict}
    expected = {"imageVerification": POLICY, **fields}
    return images_of(spec(**expected), HERE, Observed(now=EPOCH, images=images))


PROVEN = ImageVerdict(IMAGE, pinned=PINNED, record=f"key {PINNED}")
UNVERIFIED = ImageVerdict(IMAGE, problem="unverified", message="no signature", retry_after=60.0)
DOWN = ImageVerdict(IMAGE, problem="unreachable", message="down", retry_after=15.0)
WARN = {"imageVerification": {**POLICY, "failurePolicy": "Warn"}}


def test_b34_exactly_the_verified_image_is_written() -> None:
    choice = choose(PROVEN)
    assert choice.server == PINNED
    assert choice.outcome == Done()
    assert dict(choice.records) == {labels.IMAGE_VERIFICATION: f"key {PINNED}"}


@pytest.mark.parametrize(
    ("version", "helper"), [("2.4.0", "r/op:1"), ("2.5.0", ""), ("2.5.4", ""), ("2.5.5", "r/op:1")]
)
def test_servers_that_a_reload_signal_may_crash_get_no_operator_image(
    version: str, helper: str
) -> None:
    assert choose(None, version=version).operator_image == helper


DEFAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "the default repository": ({}, "r.example.com/bao:2.4.0"),
    "without the v of the version": ({"version": "v2.4.0"}, "r.example.com/bao:2.4.0"),
    "build metadata as a tag can hold it": (
        {"version": "2.4.0+one"},
        "r.example.com/bao:2.4.0_one",
    ),
    "the image of the spec": ({"image": "x/y:2.4.0"}, "x/y:2.4.0"),
    "the image of the spec without a tag gets the version": ({"image": "x/y"}, "x/y:2.4.0"),
    "a registry's port is no tag": ({"image": "r:5000/y"}, "r:5000/y:2.4.0"),
    "a digest needs no tag": ({"image": f"x/y@{DIGEST}"}, f"x/y@{DIGEST}"),
}


@pytest.mark.parametrize(("fields", "image"), DEFAULTS.values(), ids=DEFAULTS.keys())
def test_b34_the_default_image_is_verified_as_it_is_written(
    fields: dict[str, Any], image: str
) -> None:
    cluster_spec = spec(imageVerification=POLICY, **fields)
    assert server_image(cluster_spec, HERE.image_repository) == image
    assert (
        gen.present(server_image_request(cluster_spec, "shop", HERE.image_repository)).reference
        == image
    )
    without = images_of(spec(**fields), HERE, Observed(now=EPOCH))
    assert without.server == image


@pytest.mark.parametrize("fields", [fields for fields, _ in DEFAULTS.values()])
def test_b44_no_reference_is_mutable(fields: dict[str, Any]) -> None:
    reference = server_image(spec(**fields), HERE.image_repository)
    assert not reference.endswith("latest")
    assert "2.4.0" in reference or "@sha256:" in reference


HELD: dict[str, tuple[ImageVerdict | None, type, str]] = {
    "not verified": (UNVERIFIED, Blocked, "ImageVerificationFailed"),
    "registry unavailable": (DOWN, Wait, "ImageRegistryUnavailable"),
    "no verdict yet": (None, Wait, "ImageRegistryUnavailable"),
}


@pytest.mark.parametrize(("verdict", "kind", "reason"), HELD.values(), ids=HELD.keys())
def test_policy_block_blocks_the_pods(
    verdict: ImageVerdict | None, kind: type, reason: str
) -> None:
    choice = choose(verdict)
    assert isinstance(choice.outcome, kind)
    assert isinstance(choice.outcome, Blocked | Wait)
    assert (choice.outcome.reason, choice.records) == (reason, ())


@pytest.mark.parametrize("verdict", [UNVERIFIED, DOWN, None])
def test_policy_warn_uses_the_tag_and_records_nothing(verdict: ImageVerdict | None) -> None:
    choice = choose(verdict, **WARN)
    assert (choice.server, choice.records) == (IMAGE, ())
    assert isinstance(choice.outcome, Done)


def test_policy_warn_pins_a_verified_image() -> None:
    assert choose(PROVEN, **WARN).server == PINNED


@pytest.mark.parametrize("policy", [None, {**POLICY, "enabled": False}])
def test_without_a_policy_nothing_is_verified_and_the_tag_is_used(policy: Any) -> None:
    cluster_spec = spec(imageVerification=policy)
    assert server_image_request(cluster_spec, "shop", HERE.image_repository) is None
    choice = choose(PROVEN, imageVerification=policy)
    assert (choice.server, choice.outcome, choice.records) == (IMAGE, Done(), ())


def test_an_identity_is_requested_like_a_key() -> None:
    keyless = {"enabled": True, **IDENTITY}
    cluster_spec = spec(imageVerification=keyless, operatorImageVerification=keyless)
    questions = (
        server_image_request(cluster_spec, "shop", HERE.image_repository),
        operator_image_request(cluster_spec, "shop", HERE.operator_image),
    )
    assert [request and request.policy.subject for request in questions] == [
        IDENTITY["subject"]
    ] * 2
    images = images_of(cluster_spec, HERE, Observed(now=EPOCH))
    assert not isinstance(images.outcome, Done)
    assert images.operator_image == ""


def helper(verdict: ImageVerdict | None, **policy: Any) -> ImageChoice:
    images = {} if verdict is None else {verdict.reference: verdict}
    cluster_spec = spec(operatorImageVerification={**POLICY, **policy})
    return images_of(cluster_spec, HERE, Observed(now=EPOCH, images=images))


def test_the_operator_image_has_its_own_policy() -> None:
    proven = ImageVerdict("r/op:1", pinned=HELPER_PINNED, record=f"key {HELPER_PINNED}")
    choice = helper(proven)
    assert choice.operator_image == HELPER_PINNED
    assert dict(choice.records) == {labels.OPERATOR_IMAGE_VERIFICATION: f"key {HELPER_PINNED}"}
    assert choice.server == IMAGE
    # The policies of the server image and of the operator image are independent.
    assert choose(PROVEN).operator_image == "r/op:1"
    assert helper(None).outcome == Done()


def test_an_unverified_operator_image_is_not_used_and_stops_no_pod() -> None:
    refused = ImageVerdict("r/op:1", problem="unverified", message="x", retry_after=60.0)
    assert (helper(refused).operator_image, helper(refused).outcome) == ("", Done())
    assert (helper(None).operator_image, helper(refused, failurePolicy="Warn").operator_image) == (
        "",
        "r/op:1",
    )


def test_without_an_operator_image_nothing_is_verified() -> None:
    cluster_spec = spec(operatorImageVerification=POLICY)
    assert operator_image_request(cluster_spec, "shop", "") is None
    bare = replace(HERE, operator_image="")
    assert images_of(cluster_spec, bare, Observed(now=EPOCH)).operator_image == ""


def test_pull_secrets_of_the_policy_come_first_without_duplicates() -> None:
    cluster_spec = spec(
        imagePullSecrets=[{"name": "b"}, {"name": "c"}],
        imageVerification={**POLICY, "imagePullSecrets": [{"name": "a"}, {"name": "b"}]},
    )
    question = gen.present(server_image_request(cluster_spec, "shop", HERE.image_repository))
    assert question.pull_secrets == ("a", "b", "c")


def test_a_verification_record_survives_a_round_trip() -> None:
    question = gen.present(
        server_image_request(spec(imageVerification=POLICY), "shop", HERE.image_repository)
    )
    key = cache_key(question, "")
    # The records of earlier releases stay valid, or an update would verify every image again.
    assert key == "4de3d0d3d2a5c5466139678e2f28b5529de234d15b2e68cb4d29665336636e38"
    text = record(key, PINNED)
    assert read_verdict(question, key, text) == ImageVerdict(IMAGE, pinned=PINNED, record=text)
    for junk in (
        "",
        key,
        f"{key} ",
        f"{key} {IMAGE}",
        f"{key} r.example.com/other@{DIGEST}",
        f"{'0' * 64} {PINNED}",
        f"{key} {PINNED} x",
        f"{key}  {PINNED}",
    ):
        assert read_verdict(question, key, junk) is None
    exact = replace(question, reference=f"r.example.com/bao@sha256:{'e' * 64}")
    assert read_verdict(exact, key, text) is None


@pytest.mark.parametrize(
    ("image", "blocked"),
    [
        (None, False),
        ("x/y:2.4.0", False),
        ("x/y", False),
        (f"x/y@{DIGEST}", False),
        ("x/y:2.4.1", True),
        ("x/y:latest", True),
        ("NOT AN IMAGE", False),
    ],
)
def test_a_tag_of_another_version_is_refused(image: str | None, blocked: bool) -> None:
    outcome = version_mismatch(spec().model_copy(update={"image": image}))
    assert (outcome is not None) is blocked
    if outcome is not None:
        assert outcome.reason == "ImageVersionMismatch"
        assert "spec.image" in outcome.message
        assert "2.4.0" in outcome.message
