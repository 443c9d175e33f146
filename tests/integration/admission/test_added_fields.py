"""Adding a field to a spec needs a permission; an unchanged field needs none.

Each field is refused for a user with permission to write clusters only, with the field in the
message, and accepted from a user with the one additional permission.
"""

import itertools

import pytest

from contracts.admission.verb_gated_fields import VERBS
from runtime.client.client import Client
from runtime.errors import Forbidden
from tests.integration.admission.cases import CREATED, GATED, NAMED, USED, AddedField
from tests.integration.admission.people import ROLES, WRITER, People, apply, body, client_as

CASES = (*GATED, *USED, *CREATED, *NAMED)
# Each case has its own cluster, because an existing one cannot be changed to any other spec.
_NAMES = (f"c{number}" for number in itertools.count())


@pytest.fixture(params=CASES, ids=[f"{n}-{case.field}" for n, case in enumerate(CASES)])
def case(request: pytest.FixtureRequest) -> AddedField:
    case: AddedField = request.param
    return case


@pytest.fixture
def name() -> str:
    return next(_NAMES)


async def _begin(client: Client, name: str, case: AddedField) -> None:
    if case.before is not None:
        await apply(client, body(name, case.before), dry_run=False)


def test_every_field_has_a_case() -> None:
    assert {case.field for case in CASES} == set(ROLES)
    assert {verb.role for verb in VERBS} <= set(ROLES.values())


async def test_it_is_refused_without_the_permission(
    case: AddedField, name: str, people: People, client: Client
) -> None:
    await _begin(client, name, case)
    async with client_as(people[WRITER]) as writer:
        with pytest.raises(Forbidden, match="needs the verb") as caught:
            await apply(writer, body(name, case.after))
    assert f"denied request: {case.field}: needs the verb" in str(caught.value)


async def test_it_is_accepted_with_this_one_permission(
    case: AddedField, name: str, people: People, client: Client
) -> None:
    await _begin(client, name, case)
    async with client_as(people[ROLES[case.field]]) as holder:
        await apply(holder, body(name, case.after))


async def test_an_unchanged_field_is_not_checked_again(
    case: AddedField, name: str, people: People, client: Client
) -> None:
    await apply(client, body(name, case.after), dry_run=False)
    async with client_as(people[WRITER]) as writer:
        await apply(writer, body(name, {**case.after, "paused": True}))
        await apply(writer, body(name, case.after, labels={"a": "b"}))
