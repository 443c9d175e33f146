"""baoctl.process.operator_image: read once from the pod of the operator; errors do not stop it."""

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


async def test_the_image_is_that_of_the_operator_container() -> None:
    there = api(("mesh", "proxy:1"), ("operator", "registry.example.com/operator@sha256:1"))
    assert image(await with_own_image(IN_POD, there)) == "registry.example.com/operator@sha256:1"
    assert there.take_requests() == ["get Pod the-pod"]


async def test_the_first_container_is_used_if_it_was_renamed() -> None:
    assert image(await with_own_image(IN_POD, api(("manager", "operator:2")))) == "operator:2"


async def test_the_variable_takes_precedence_without_a_request() -> None:
    there = api(("operator", "other"))
    named = from_environment({**ENVIRONMENT, "OPERATOR_IMAGE": "mine"})
    assert image(await with_own_image(named, there)) == "mine"
    assert there.take_requests() == []


async def test_no_request_is_sent_outside_of_a_pod() -> None:
    there = api(("operator", "other"))
    assert image(await with_own_image(replace(IN_POD, pod_name=""), there)) == ""
    assert there.take_requests() == []


@pytest.mark.parametrize("code", [403, 404, 500])
async def test_a_forbidden_read_does_not_stop_the_operator(code: int) -> None:
    there = api(("operator", "mine"))
    there.refuse("get Pod the-pod", api_error(code))
    assert image(await with_own_image(IN_POD, there)) == ""
