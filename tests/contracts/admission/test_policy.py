"""The policies fail closed, have a fingerprint, and contain no names of an installation."""

import dataclasses
import json
import re

import pytest

from contracts.admission.policies import POLICIES
from contracts.admission.policy import (
    FINGERPRINT,
    PARAMETERS,
    PREFIX,
    AdmissionPolicy,
    Match,
    Validation,
    as_objects,
    fingerprint,
)
from contracts.naming.installation import CONTROLLER, DELEGATE, NAMESPACE, PROVISIONER

SMALL = AdmissionPolicy(
    name="small",
    why="For the tests.",
    matches=(Match("", ("configmaps",), ("CREATE",), names=("c",)),),
    validations=(Validation("r", "true", "must be true", field="data"),),
)
_SENTENCE = re.compile(r"[a-z]+( \S+){3}")

all_policies = pytest.mark.parametrize("policy", POLICIES, ids=[policy.name for policy in POLICIES])


@all_policies
def test_a_policy_fails_closed_and_denies(policy: AdmissionPolicy) -> None:
    body, binding = as_objects(policy, "somewhere")
    assert body["spec"]["failurePolicy"] == "Fail"
    assert binding["spec"]["validationActions"] == ["Deny"]
    assert binding["spec"]["policyName"] == body["metadata"]["name"] == f"{PREFIX}{policy.name}"
    assert binding["spec"]["paramRef"]["name"] == PARAMETERS
    assert binding["spec"]["paramRef"]["namespace"] == "somewhere"


@all_policies
def test_a_policy_does_not_contain_names_of_an_installation(policy: AdmissionPolicy) -> None:
    text = json.dumps(policy.spec())
    for name in (CONTROLLER, DELEGATE, PROVISIONER, NAMESPACE):
        assert f"'{name}'" not in text
        assert f":{name}" not in text


@all_policies
def test_each_validation_has_an_id_and_a_message(policy: AdmissionPolicy) -> None:
    assert policy.validations
    for validation in policy.validations:
        assert validation.rule_id
        assert _SENTENCE.search(validation.text())
        assert "\n" not in validation.text()


def test_policy_names_and_validation_ids_are_unique() -> None:
    assert len({policy.name for policy in POLICIES}) == len(POLICIES)
    for policy in POLICIES:
        ids = [validation.rule_id for validation in policy.validations]
        assert len(set(ids)) == len(ids)


def test_the_message_starts_with_the_field() -> None:
    assert SMALL.validations[0].text() == "data: must be true"
    assert Validation("r", "true", "must be true").text() == "must be true"


def test_a_match_without_names_has_no_resource_names() -> None:
    (rule,) = SMALL.spec()["matchConstraints"]["resourceRules"]
    assert rule["resourceNames"] == ["c"]
    assert "resourceNames" not in Match("", ("configmaps",), ("CREATE",)).rule()


def test_the_fingerprint_does_not_depend_on_the_namespace() -> None:
    here, there = as_objects(SMALL, "here"), as_objects(SMALL, "there")
    for one, other in zip(here, there, strict=True):
        assert one["metadata"]["annotations"] == other["metadata"]["annotations"]
        assert one["metadata"]["annotations"][FINGERPRINT] == fingerprint(one["spec"])


@pytest.mark.parametrize(
    "changed",
    [
        dataclasses.replace(SMALL, matches=(Match("", ("configmaps",), ("UPDATE",)),)),
        dataclasses.replace(SMALL, validations=(Validation("r", "false", "must be true"),)),
        dataclasses.replace(SMALL, object_selector={"matchLabels": {"a": "b"}}),
    ],
)
def test_different_rules_have_different_fingerprints(changed: AdmissionPolicy) -> None:
    assert fingerprint(changed.spec()) != fingerprint(SMALL.spec())
