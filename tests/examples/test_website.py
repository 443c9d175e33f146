"""The pure functions of the website example: the objects of a site, and the outcome."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from examples.website.reconcile import DEPLOYMENT, WEBSITE, intents, judge
from runtime.apply.apply_result import Applied
from runtime.apply.intent import digest
from runtime.builtin_kinds import CONFIG_MAP, SERVICE
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.types import Object
from runtime.verdict import Verdict

FOLDER = Path(__file__).parents[2] / "examples" / "website"
SITE: Object = {
    **yaml.safe_load((FOLDER / "sample.yaml").read_text()),
    "metadata": {"namespace": "default", "name": "hello", "uid": "u1", "generation": 1},
}
SITE["spec"].setdefault("image", "nginx")


def applied(verdict: Verdict, ready: int = 0) -> Sequence[Applied]:
    live: Object = {"status": {"readyReplicas": ready}} if ready else {}
    return [Applied(intent, verdict, live, "message of the server") for intent in intents(SITE)]


def test_a_site_has_three_children() -> None:
    children = {intent.resource: intent for intent in intents(SITE)}
    assert set(children) == {CONFIG_MAP, SERVICE, DEPLOYMENT}
    assert {str(intent.key) for intent in children.values()} == {"default/hello"}
    assert children[CONFIG_MAP].body["data"] == SITE["spec"]["pages"]
    assert children[DEPLOYMENT].body["spec"]["replicas"] == 2
    selector = children[SERVICE].body["spec"]["selector"]
    assert selector == children[DEPLOYMENT].body["spec"]["selector"]["matchLabels"]
    assert selector == children[DEPLOYMENT].body["spec"]["template"]["metadata"]["labels"]


def test_the_pod_template_changes_only_with_the_pages() -> None:
    def template(site: Object) -> str:
        return digest(intents(site)[2].body["spec"]["template"])

    other = {**SITE, "spec": {**SITE["spec"], "pages": {"index.html": "other"}}}
    assert template(SITE) == template({**SITE})
    assert template(SITE) != template(other)


@pytest.mark.parametrize(
    ("verdict", "ready", "outcome"),
    [
        (Verdict.SKIPPED, 2, Done()),
        (Verdict.UPDATED, 1, Wait("RollingOut", "1 of 2 replicas are ready")),
        (Verdict.CREATED, 0, Wait("RollingOut", "0 of 2 replicas are ready")),
        (Verdict.TERMINATING, 0, Wait("Terminating", "message of the server")),
        (Verdict.FOREIGN, 2, Blocked("Foreign", "message of the server", 60.0)),
        (Verdict.REJECTED, 2, Blocked("Rejected", "message of the server", 60.0)),
    ],
)
def test_the_outcome_is_that_of_the_worst_child(
    verdict: Verdict, ready: int, outcome: Outcome
) -> None:
    assert judge(SITE, applied(verdict, ready))[0] == outcome


def test_the_manifests_and_the_code_have_the_same_kind() -> None:
    crd = yaml.safe_load((FOLDER / "crd.yaml").read_text())["spec"]
    served = (crd["group"], crd["versions"][0]["name"], crd["names"]["kind"])
    assert served == (WEBSITE.group, WEBSITE.version, WEBSITE.kind)
    assert crd["names"]["plural"] == WEBSITE.plural
    assert SITE["apiVersion"] == WEBSITE.api_version
