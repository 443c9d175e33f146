"""managers.identity.plan: the Role of the servers, and the pods that it names."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from managers.identity.plan import plan
from runtime.builtin_kinds import ROLE, ROLE_BINDING, SERVICE_ACCOUNT
from runtime.outcome import Done
from runtime.types import Object, Resource
from tests import gen


def bodies(world: gen.World | None = None, **spec: Any) -> dict[Resource, Object]:
    identity_plan = plan(
        gen.resolved(gen.cluster(**spec).self_init()), (world or gen.world()).facts()
    )
    assert (identity_plan.effects, identity_plan.outcome, identity_plan.gate) == ((), Done(), False)
    return {intent.resource: intent.body for intent in identity_plan.intents}


def pods_of(role: Object) -> list[str]:
    (rule,) = role["rules"]
    names: list[str] = rule["resourceNames"]
    return names


def test_account_role_and_binding_refer_to_each_other() -> None:
    objects = bodies()
    assert set(objects) == {SERVICE_ACCOUNT, ROLE, ROLE_BINDING}
    binding = objects[ROLE_BINDING]
    assert binding["roleRef"]["name"] == objects[ROLE]["metadata"]["name"]
    assert binding["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"
    assert binding["subjects"] == [
        {
            "kind": "ServiceAccount",
            "name": objects[SERVICE_ACCOUNT]["metadata"]["name"],
            "namespace": gen.NAMESPACE,
        }
    ]


def test_the_names_follow_the_account_of_the_users_choice() -> None:
    objects = bodies(serviceAccount={"name": "mine", "annotations": {"iam": "arn"}})
    assert objects[SERVICE_ACCOUNT]["metadata"]["name"] == "mine"
    assert objects[SERVICE_ACCOUNT]["metadata"]["annotations"] == {"iam": "arn"}
    assert objects[ROLE]["metadata"]["name"] == "mine-role"
    assert objects[ROLE_BINDING]["metadata"]["name"] == "mine-rolebinding"


def test_the_account_does_not_automount_its_token() -> None:
    assert bodies()[SERVICE_ACCOUNT]["automountServiceAccountToken"] is False


def test_a_server_may_only_label_its_own_pod() -> None:
    (rule,) = bodies()[ROLE]["rules"]
    assert (rule["apiGroups"], rule["resources"]) == ([""], ["pods"])
    assert set(rule["verbs"]) == {"get", "patch", "update"}
    assert rule["resourceNames"]
    assert not any("*" in word for words in rule.values() for word in words)


# sentence: (replicas, ordinals of existing pods, ordinals in the Role)
ORDINALS: dict[str, tuple[int, tuple[int, ...], list[int]]] = {
    "at least three": (1, (), [0, 1, 2]),
    "the requested number": (5, (), [0, 1, 2, 3, 4]),
    "a surplus pod that still runs": (3, (4,), [0, 1, 2, 4]),
    "numeric order of ordinals": (1, (10, 9), [0, 1, 2, 9, 10]),
}


@pytest.mark.parametrize(("replicas", "there", "expected"), ORDINALS.values(), ids=ORDINALS.keys())
def test_which_pods_the_role_contains(
    replicas: int, there: tuple[int, ...], expected: list[int]
) -> None:
    world = gen.world().with_pods(*map(gen.pod, there))
    named = pods_of(bodies(world, replicas=replicas)[ROLE])
    assert named == [f"x-{ordinal}" for ordinal in expected]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 14), unique=True), st.randoms(use_true_random=False))
def test_the_order_of_pods_changes_nothing(ordinals: list[int], rng: Any) -> None:
    """A list in another order would be written in every reconcile."""
    shuffled = list(ordinals)
    rng.shuffle(shuffled)
    one = bodies(gen.world().with_pods(*map(gen.pod, ordinals)))
    other = bodies(gen.world().with_pods(*map(gen.pod, shuffled)))
    assert one == other
    named = pods_of(one[ROLE])
    assert len(named) == len(set(named))
    assert {f"x-{ordinal}" for ordinal in ordinals} <= set(named)


def test_a_scale_up_only_adds_pods() -> None:
    small, large = (set(pods_of(bodies(replicas=n)[ROLE])) for n in (3, 5))
    assert small < large
