"""managers.context.reads.admission_policies: installed policies are recognized, others named."""

import asyncio
import random
from collections.abc import Callable, Iterable

import pytest

from baoctl.generate.admission import parameters
from contracts.admission.installed import NAMES
from contracts.admission.managed_objects import LOCK_MANAGED, LOCK_SCALE
from contracts.admission.policies import POLICIES
from contracts.admission.policy import PARAMETERS, PREFIX, as_objects
from contracts.api.group import GROUP
from contracts.records.environment import AdmissionFacts
from managers.context.installation import Installation
from managers.context.reads.admission_message import policies_message
from managers.context.reads.admission_policies import FAMILY, AdmissionPolicies
from runtime.builtin_kinds import ADMISSION_BINDING, ADMISSION_POLICY, SERVICE_ACCOUNT
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.types import Object, Resource
from tests.gen.api import FakeApi, api_error

HERE = Installation(
    namespace="openbao-operator-system",
    service_account="openbao-operator-controller",
    image_repository="openbao",
    secret_recheck=15.0,
)
LOCK, SCALE = LOCK_MANAGED.name, LOCK_SCALE.name


def policy_objects() -> list[tuple[Resource, Object]]:
    """All objects of the policies."""
    service_accounts: list[tuple[Resource, Object]] = [
        (SERVICE_ACCOUNT, parameters(HERE.namespace))
    ]
    for policy in POLICIES:
        rule, binding = as_objects(policy, HERE.namespace)
        service_accounts += [(ADMISSION_POLICY, rule), (ADMISSION_BINDING, binding)]
    return service_accounts


def one(resource: Resource, policy: str) -> Object:
    """One object out of all."""
    name = PREFIX + policy
    results = [body for kind, body in policy_objects() if kind is resource]
    return next(body for body in results if body["metadata"]["name"] == name)


class PolicyProcess:
    """A process that reads the policies, with a clock of the test."""

    def __init__(self, objects: Iterable[tuple[Resource, Object]]) -> None:
        self.api, self.clock, self.metrics = FakeApi(), ManualClock(), Metrics()
        self.hold(objects)
        self.policies = AdmissionPolicies(
            self.api, self.clock, random.Random(1), HERE, self.metrics
        )

    def hold(self, objects: Iterable[tuple[Resource, Object]]) -> None:
        self.api.with_objects(*objects)

    async def once(self) -> AdmissionFacts | None:
        """Read once."""
        task = asyncio.create_task(self.policies.run())
        await self.policies.ready()
        task.cancel()
        return self.policies.facts

    @property
    def gauge(self) -> float | None:
        return self.metrics.registry.get_sample_value(FAMILY)


async def test_generated_policies_are_recognized() -> None:
    looking = PolicyProcess(policy_objects())
    assert await looking.once() == AdmissionFacts()
    assert looking.gauge == 0


async def test_the_gauge_has_no_value_before_the_policies_are_read() -> None:
    looking = PolicyProcess(policy_objects())
    assert looking.gauge is None
    looking.api.refuse(f"get ValidatingAdmissionPolicy {PREFIX}{LOCK}", api_error(500))
    assert await looking.once() is None
    assert looking.gauge is None, "0 means that all policies are installed"


async def test_an_absent_object_is_missing() -> None:
    looking = PolicyProcess(())
    names = tuple(sorted(name.removeprefix(PREFIX) for name in (*NAMES, PARAMETERS)))
    assert await looking.once() == AdmissionFacts(missing=names)
    assert looking.gauge == 2 * len(POLICIES) + 1


# sentence: (kind of the object, its policy, the edit)
EDITS: dict[str, tuple[Resource, str, Callable[[Object], object]]] = {
    "a rule, whatever its annotations": (
        ADMISSION_POLICY,
        LOCK,
        lambda spec: spec["validations"][0].update(expression="true"),
    ),
    "a policy that ignores failures": (
        ADMISSION_POLICY,
        LOCK,
        lambda spec: spec.update(failurePolicy="Ignore"),
    ),
    "a binding that only warns": (
        ADMISSION_BINDING,
        SCALE,
        lambda spec: spec.update(validationActions=["Warn"]),
    ),
    "a binding to the names of another installation": (
        ADMISSION_BINDING,
        SCALE,
        lambda spec: spec["paramRef"].update(namespace="elsewhere"),
    ),
}


@pytest.mark.parametrize(("resource", "policy", "edit"), EDITS.values(), ids=EDITS.keys())
async def test_an_edited_object_differs(
    resource: Resource, policy: str, edit: Callable[[Object], object]
) -> None:
    edited = one(resource, policy)
    edit(edited["spec"])
    looking = PolicyProcess([*policy_objects(), (resource, edited)])
    assert await looking.once() == AdmissionFacts(different=(policy,))


async def test_parameters_that_name_another_operator_differ() -> None:
    changed = parameters(HERE.namespace)
    changed["metadata"]["annotations"][f"{GROUP}/controller"] = "somebody"
    looking = PolicyProcess([*policy_objects(), (SERVICE_ACCOUNT, changed)])
    short = PARAMETERS.removeprefix(PREFIX)
    assert await looking.once() == AdmissionFacts(different=(short,))


async def test_an_unreadable_object_is_reported() -> None:
    looking = PolicyProcess(policy_objects())
    looking.api.refuse(f"get ValidatingAdmissionPolicy {PREFIX}{LOCK}", api_error(403))
    assert await looking.once() == AdmissionFacts(unreadable=(LOCK,))


async def test_a_failed_read_keeps_the_last_result() -> None:
    looking = PolicyProcess(policy_objects())
    await looking.once()
    looking.api.refuse(f"get ValidatingAdmissionPolicy {PREFIX}{LOCK}", api_error(500))
    assert await looking.once() == AdmissionFacts()


async def test_policies_are_read_every_ten_minutes() -> None:
    looking = PolicyProcess(policy_objects())
    task = asyncio.create_task(looking.policies.run())
    await looking.policies.ready()
    every = 2 * len(POLICIES) + 1
    assert len(looking.api.take_requests()) == every
    await looking.clock.advance(HERE.admission_recheck - 1)
    assert not looking.api.take_requests()
    await looking.clock.advance(0.2 * HERE.admission_recheck + 2)
    assert len(looking.api.take_requests()) == every
    task.cancel()


def test_the_message_names_some_objects_and_the_next_step() -> None:
    assert (policies_message(None), policies_message(AdmissionFacts())) == ("", "")
    message = policies_message(AdmissionFacts(missing=tuple("abcdef"), different=("g",)))
    assert message.startswith("Missing: a, b, c, d and 2 more; Different from this release: g. ")
    assert "deploy/admission" in message
