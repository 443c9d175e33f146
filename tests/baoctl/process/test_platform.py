"""baoctl.process.platform: detected once, and never guessed."""

import pytest

from baoctl.process.platform import SECURITY_GROUP, with_platform
from baoctl.settings import Settings, from_environment
from runtime.errors import ApiError
from tests.gen.api import FakeApi, api_error

ASKED = f"get path {SECURITY_GROUP}"


def platform(settings: Settings) -> str:
    return settings.installation.platform


def api(*, openshift: bool) -> FakeApi:
    there = FakeApi()
    if openshift:
        there.raw[SECURITY_GROUP] = {"kind": "APIGroup"}
    return there


@pytest.mark.parametrize(
    ("environment", "openshift", "found"),
    [
        ({}, True, "openshift"),
        ({}, False, "kubernetes"),
        ({"OPERATOR_PLATFORM": "auto"}, True, "openshift"),
        ({"OPERATOR_PLATFORM": ""}, True, "openshift"),
    ],
)
async def test_the_platform_is_detected(
    environment: dict[str, str], openshift: bool, found: str
) -> None:
    there = api(openshift=openshift)
    assert platform(await with_platform(from_environment(environment), there)) == found
    assert there.take_requests() == [ASKED]


@pytest.mark.parametrize("named", ["kubernetes", "openshift"])
async def test_the_variable_takes_precedence_without_a_request(named: str) -> None:
    there = api(openshift=True)
    settings = from_environment({"OPERATOR_PLATFORM": named})
    assert platform(await with_platform(settings, there)) == named
    assert there.take_requests() == []


@pytest.mark.parametrize("code", [403, 500])
async def test_a_failed_detection_ends_the_process(code: int) -> None:
    """A wrong guess would replace every pod of every cluster."""
    there = api(openshift=True)
    there.refuse(ASKED, api_error(code))
    with pytest.raises(ApiError):
        await with_platform(from_environment({}), there)
