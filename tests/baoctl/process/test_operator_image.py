"""baoctl.process.operator_image: asked once, of the operator's own pod, and no reason to stop."""

from dataclasses import replace

import pytest

from baoctl.process.operator_image import with_own_image
from baoctl.settings import Settings, from_environment
from runtime.builtin_kinds import POD
from tests.gen.api import FakeApi, api_error

ENVIRONMENT = {"POD_NAME": "the-pod", "POD_NAMESPACE": "operators"}
IN_POD = from_environment(ENVIRONMENT)


def api(*containers: tuple[str, str]) -> FakeApi:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "the-pod", "namespace": "operators"},
        "spec": {"containers": [{"name": name, "image": image} for name, image in containers]},
    }
    return FakeApi().with_objects((POD, pod))


def image(settings: Settings) -> str:
    return settings.installation.operator_image


async def test_the_container_of_that_name_tells() -> None:
    there = api(("mesh", "proxy:1"), ("operator", "registry.example.com/operator@sha256:1"))
    assert image(await with_own_image(IN_POD, there)) == "registry.example.com/operator@sha256:1"
    assert there.requests == ["get Pod the-pod"]


async def test_a_container_that_was_renamed_is_the_first() -> None:
    assert image(await with_own_image(IN_POD, api(("manager", "operator:2")))) == "operator:2"


async def test_what_was_named_counts_and_nobody_is_asked() -> None:
    there = api(("operator", "other"))
    named = from_environment({**ENVIRONMENT, "OPERATOR_IMAGE": "mine"})
    assert image(await with_own_image(named, there)) == "mine"
    assert there.requests == []


async def test_outside_of_a_pod_nobody_is_asked() -> None:
    there = api(("operator", "other"))
    assert image(await with_own_image(replace(IN_POD, pod_name=""), there)) == ""
    assert there.requests == []


@pytest.mark.parametrize("code", [403, 404, 500])
async def test_an_operator_that_may_not_know_works_on(code: int) -> None:
    there = api(("operator", "mine"))
    there.refuse("get Pod the-pod", api_error(code))
    assert image(await with_own_image(IN_POD, there)) == ""
