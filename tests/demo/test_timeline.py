"""Milestones of a bring-up, from watch events."""

from contracts.naming import labels
from e2e.demo.timeline import Milestone, bring_up, creation_time, seconds_to
from tests.demo.shapes import child, cluster, condition, journal_entry, pod, ready_pod

SCHEDULED = {"type": "PodScheduled", "status": "True"}
INITIALIZED = {labels.SERVER_INITIALIZED: "true"}
SIGHTS = [
    journal_entry(100.0, "openbaoclusters", cluster(), "ADDED"),
    journal_entry(100.1, "secrets", child("bao-tls-ca"), "ADDED"),
    journal_entry(100.2, "statefulsets", child("bao", replicas=1), "ADDED"),
    journal_entry(100.3, "pods", pod("bao-0"), "ADDED"),
    journal_entry(100.4, "pods", pod("bao-0", SCHEDULED)),
    journal_entry(101.0, "pods", pod("bao-0", SCHEDULED, state={"running": {}})),
    journal_entry(102.0, "pods", pod("bao-0", SCHEDULED, state={"running": {}}, marks=INITIALIZED)),
    journal_entry(103.0, "pods", ready_pod("bao-0")),
    journal_entry(103.1, "statefulsets", child("bao", replicas=3)),
    journal_entry(108.0, "pods", ready_pod("bao-2")),
    journal_entry(109.0, "pods", ready_pod("bao-1")),
    journal_entry(109.2, "openbaoclusters", cluster(condition("Available", "True"))),
    journal_entry(109.3, "openbaoclusters", cluster(condition("Available", "False"))),
    journal_entry(110.0, "openbaoclusters", cluster(condition("Available", "True"))),
]


def test_each_milestone_has_the_time_of_its_first_observation() -> None:
    seconds = {
        milestone.name: round(milestone.seconds, 1)
        for milestone in bring_up(SIGHTS, "bao", 3, 100.0)
    }
    assert seconds == {
        "first child": 0.1,
        "StatefulSet": 0.2,
        "first pod scheduled": 0.4,
        "first pod runs": 1.0,
        "initialized": 2.0,
        "first pod Ready": 3.0,
        "scaled out": 3.1,
        "pod 1 Ready": 9.0,
        "pod 2 Ready": 8.0,
        "Available": 9.2,
    }


def test_another_cluster_of_the_namespace_is_ignored() -> None:
    other = [
        journal_entry(
            1.0, "openbaoclusters", cluster(condition("Available", "True"), name="other")
        ),
        journal_entry(1.0, "pods", ready_pod("other-0")),
        journal_entry(1.0, "statefulsets", {**child("other"), "metadata": {"name": "other"}}),
    ]
    assert bring_up(other, "bao", 3, 0.0) == []
    assert creation_time(other, "bao") is None


def test_a_deleted_object_reaches_no_milestone() -> None:
    gone = [
        journal_entry(1.0, "pods", ready_pod("bao-0"), "DELETED"),
        journal_entry(1.0, "secrets", child("bao-tls-ca"), "DELETED"),
    ]
    assert bring_up(gone, "bao", 1, 0.0) == []


def test_a_cluster_of_one_server_has_no_scale_out() -> None:
    names = [milestone.name for milestone in bring_up(SIGHTS, "bao", 1, 100.0)]
    assert "scaled out" not in names
    assert "pod 1 Ready" not in names


def test_the_start_is_the_first_observation_of_the_cluster() -> None:
    assert creation_time(SIGHTS, "bao") == 100.0


def test_a_milestone_is_found_by_name() -> None:
    marks = [Milestone("Available", 9.2)]
    assert seconds_to(marks, "Available") == 9.2
    assert seconds_to(marks, "scaled out") is None
