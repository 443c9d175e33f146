"""Verified images in a reconcile: observed, resolved, planned, recorded, reported."""

from dataclasses import replace
from typing import Any

import pytest

from contracts.naming import labels
from contracts.records.observed import ImageVerdict, Observed
from contracts.records.resolved import Resolved
from managers.cluster.observe.from_objects import stateful_set_facts
from managers.cluster.plan.steps import merge_plans
from managers.cluster.resolve.resolve import resolve
from managers.cluster.status.cluster_status import ReconcileResult, compute
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.outcome import Done, combine
from tests import gen
from tests.contracts.api.cases_images import IDENTITY
from tests.gen.api import Outside, StillInformer
from tests.gen.worlds import INSTALLATION
from tests.managers.cluster.image_policy import POLICY, RecordingVerifier
from tests.managers.cluster.parts import observer_of

ASKING = gen.cluster().initialized().with_spec(imageVerification=POLICY)
SPEC = ASKING.read().spec
IMAGE = f"{INSTALLATION.image_repository}:{SPEC.version}"
PINNED = f"{INSTALLATION.image_repository}@sha256:{'d' * 64}"
PROVEN = ImageVerdict(IMAGE, pinned=PINNED, record=f"{'k' * 64} {PINNED}")
UNVERIFIED = ImageVerdict(IMAGE, problem="unverified", message="it is not signed", retry_after=60.0)
DOWN = ImageVerdict(IMAGE, problem="unreachable", message="it is down", retry_after=15.0)


def facts(*verdicts: ImageVerdict) -> Observed:
    observed = gen.running(gen.cluster().initialized()).facts()
    return replace(observed, images={verdict.reference: verdict for verdict in verdicts})


def meant(observed: Observed, cluster: gen.Cluster = ASKING) -> Resolved:
    resolved = resolve(cluster.read(), cluster.owner(), observed, INSTALLATION)
    assert isinstance(resolved, Resolved), resolved
    return resolved


def test_b34_the_pods_get_the_verified_reference() -> None:
    observed = facts(PROVEN)
    plans = merge_plans(meant(observed), observed)
    (stateful_set,) = [intent for intent in plans.workload if intent.resource == STATEFUL_SET]
    (container,) = stateful_set.body["spec"]["template"]["spec"]["containers"]
    assert container["image"] == PINNED
    assert stateful_set.body["metadata"]["annotations"] == {
        labels.IMAGE_VERIFICATION: PROVEN.record
    }


def test_a_verification_changes_only_the_image_in_the_template() -> None:
    """Another policy with the same result must not replace any pod."""
    other = replace(PROVEN, record=f"{'x' * 64} {PINNED}")
    first, second = (
        merge_plans(meant(facts(verdict)), facts(verdict)) for verdict in (PROVEN, other)
    )
    templates = [
        intent.body["spec"]["template"]
        for plans in (first, second)
        for intent in plans.workload
        if intent.resource == STATEFUL_SET
    ]
    assert templates[0] == templates[1]


KEYLESS = ASKING.with_spec(imageVerification={"enabled": True, **IDENTITY})


@pytest.mark.parametrize("cluster", [ASKING, KEYLESS], ids=["key", "identity"])
@pytest.mark.parametrize("verdict", [UNVERIFIED, DOWN])
def test_without_a_verification_no_pod_changes_and_the_rest_is_applied(
    verdict: ImageVerdict, cluster: gen.Cluster
) -> None:
    observed = facts(verdict)
    plans = merge_plans(meant(observed, cluster), observed)
    assert plans.workload == ()
    assert not plans.complete
    plain = merge_plans(meant(facts(), gen.cluster().initialized()), facts())
    assert {intent.key for intent in plans.foundation} == {
        intent.key for intent in plain.foundation
    }
    outcome = combine(*plans.outcomes)
    assert not isinstance(outcome, Done)
    assert outcome.message == verdict.message


def test_the_annotations_of_the_stateful_set_are_facts() -> None:
    live: dict[str, Any] = {
        "metadata": {
            "name": "x",
            "namespace": "n",
            "uid": "u",
            "annotations": {labels.IMAGE_VERIFICATION: "a b", "other": "c"},
        },
        "spec": {"template": {"metadata": {}, "spec": {}}},
    }
    assert gen.present(stateful_set_facts(live)).image_records == ("a b",)


async def look(cluster: gen.Cluster, asked: RecordingVerifier) -> Observed:
    installation = replace(gen.INSTALLATION, operator_image="registry.example.com/operator:1")
    caches = {kind: StillInformer(kind) for kind in (POD, PVC, STATEFUL_SET)}
    observer = observer_of(Outside(), caches, installation, images=asked)
    return await observer.observe(cluster.read(), cluster.owner())


async def test_only_images_with_a_policy_are_verified() -> None:
    verifier = RecordingVerifier({IMAGE: PROVEN})
    new = gen.cluster()
    assert (await look(new.with_spec(imageVerification=POLICY), verifier)).images == {IMAGE: PROVEN}
    assert [question.reference for question in verifier.questions] == [IMAGE]
    both = {"imageVerification": POLICY, "operatorImageVerification": POLICY}
    await look(new.with_spec(**both), verifier)
    references = [question.reference for question in verifier.questions[1:]]
    assert references == ["registry.example.com/operator:1", IMAGE]
    verifier.questions.clear()
    await look(new, verifier)
    await look(new.with_spec(paused=True, **both), verifier)
    assert verifier.questions == []


def image_message(cluster: gen.Cluster, *verdicts: ImageVerdict) -> str:
    status = compute(ReconcileResult(cluster.read(), facts(*verdicts), Done()))
    (condition,) = [each for each in status.conditions if each.type == "ImageVerified"]
    return f"{condition.status} {condition.reason}: {condition.message}"


WARNED = ASKING.with_spec(imageVerification={**POLICY, "failurePolicy": "Warn"})
TOLD: dict[str, tuple[gen.Cluster, tuple[ImageVerdict, ...], str]] = {
    "proven": (ASKING, (PROVEN,), f"True ImageVerified: Verified by a signature: {PINNED}"),
    "not verified": (ASKING, (UNVERIFIED,), "False ImageVerificationFailed: it is not signed"),
    "registry unavailable": (ASKING, (DOWN,), "Unknown ImageRegistryUnavailable: it is down"),
    "used despite the refusal": (
        WARNED,
        (UNVERIFIED,),
        "False ImageVerificationFailed: it is not signed",
    ),
    "used without a verdict": (WARNED, (DOWN,), "False ImageRegistryUnavailable: it is down"),
    "no verdict yet": (ASKING, (), "Unknown Unknown: "),
}


@pytest.mark.parametrize(("cluster", "verdicts", "message"), TOLD.values(), ids=TOLD)
def test_the_condition_names_the_verified_image(
    cluster: gen.Cluster, verdicts: tuple[ImageVerdict, ...], message: str
) -> None:
    assert image_message(cluster, *verdicts).startswith(message)
