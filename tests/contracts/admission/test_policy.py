"""The shape of the policies: closed on failure, told apart by a fingerprint, free of names."""

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
def test_it_is_closed_on_failure_and_denies(policy: AdmissionPolicy) -> None:
    body, binding = as_objects(policy, "somewhere")
    assert body["spec"]["failurePolicy"] == "Fail"
    assert binding["spec"]["validationActions"] == ["Deny"]
    assert binding["spec"]["policyName"] == body["metadata"]["name"] == f"{PREFIX}{policy.name}"
    assert binding["spec"]["paramRef"]["name"] == PARAMETERS
    assert binding["spec"]["paramRef"]["namespace"] == "somewhere"


@all_policies
def test_it_knows_no_name_of_an_installation(policy: AdmissionPolicy) -> None:
    text = json.dumps(policy.spec())
    for name in (CONTROLLER, DELEGATE, PROVISIONER, NAMESPACE):
        assert f"'{name}'" not in text
        assert f":{name}" not in text


@all_policies
def test_each_validation_has_an_id_and_says_what_is_wrong(policy: AdmissionPolicy) -> None:
    assert policy.validations
    for validation in policy.validations:
        assert validation.rule_id
        assert _SENTENCE.search(validation.text())
        assert "\n" not in validation.text()


def test_no_two_policies_share_a_name_and_no_two_validations_of_one_an_id() -> None:
    assert len({policy.name for policy in POLICIES}) == len(POLICIES)
    for policy in POLICIES:
        ids = [validation.rule_id for validation in policy.validations]
        assert len(set(ids)) == len(ids)


def test_the_text_begins_with_the_field() -> None:
    assert SMALL.validations[0].text() == "data: must be true"
    assert Validation("r", "true", "must be true").text() == "must be true"


def test_a_match_narrows_to_names_only_when_it_has_some() -> None:
    (rule,) = SMALL.spec()["matchConstraints"]["resourceRules"]
    assert rule["resourceNames"] == ["c"]
    assert "resourceNames" not in Match("", ("configmaps",), ("CREATE",)).rule()


def test_the_fingerprint_is_of_the_rule_and_not_of_the_place() -> None:
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
def test_another_rule_has_another_fingerprint(changed: AdmissionPolicy) -> None:
    assert fingerprint(changed.spec()) != fingerprint(SMALL.spec())
