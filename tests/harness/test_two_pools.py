"""e2e.harness.two_pools: the history of two pools of servers, from watch events."""

from contracts.builders.validation_hook_job import OPERATION_ID
from contracts.naming import labels
from contracts.pools.voter_pool import ServerPool
from e2e.demo.journal import Change, JournalEntry, Moment
from e2e.demo.objects import Object
from e2e.harness.two_pools import HEADERS, SERVICES, SETS, TwoPools, row
from e2e.harness.upgrade_history import CLUSTERS, JOBS, PODS, Figures, History

OF_TEMPLATE = "controller-revision-hash"
NAME, SERVICE = "bao", "bao-public"
BLUE, GREEN = ServerPool(NAME), ServerPool(NAME, "0123456789abcdef")
OF_BLUE = {**BLUE.selector, OF_TEMPLATE: "first"}


def pod(servers: ServerPool) -> Object:
    own = {OF_TEMPLATE: "first" if servers == BLUE else "second"}
    meta = {"name": servers.pod(0), "uid": servers.pod(0), "labels": servers.pod_labels | own}
    return {
        "metadata": meta,
        "spec": {"containers": [{"name": "openbao", "image": "x"}]},
        "status": {},
    }


def service(selector: labels.Labels) -> Object:
    return {"metadata": {"name": SERVICE, "uid": "s"}, "spec": {"selector": selector}}


def cluster(phase: str, **more: str) -> Object:
    return {
        "metadata": {"name": NAME, "uid": "c"},
        "status": {"blueGreen": {"phase": phase, **more}},
    }


def at(seconds: float) -> Moment:
    return Moment(round(10 * seconds), seconds)


def entry(seconds: float, obj: Object, kind: str, change: Change = "MODIFIED") -> JournalEntry:
    version = {"resourceVersion": str(at(seconds).revision)}
    return JournalEntry(seconds, kind, change, obj | {"metadata": obj["metadata"] | version})


def job(uid: str, action: str) -> Object:
    meta = {"name": uid, "uid": uid, "labels": labels.component(NAME, "upgrade")}
    return {"metadata": {**meta, "annotations": {labels.UPGRADE_ACTION: action}}}


SEEN = [
    entry(1.0, cluster("Idle"), CLUSTERS),
    entry(2.0, service(OF_BLUE), SERVICES),
    entry(3.0, cluster("DeployingGreen", greenRevision=GREEN.revision), CLUSTERS),
    entry(3.5, {"metadata": {"name": GREEN.stateful_set, "uid": "g"}}, SETS, "ADDED"),
    entry(4.0, pod(GREEN), PODS, "ADDED"),
    entry(5.0, cluster("DeployingGreen", greenRevision=GREEN.revision), CLUSTERS),
    entry(6.0, job("one", "join"), JOBS, "ADDED"),
    entry(6.5, job("one", "join"), JOBS),
    entry(7.0, cluster("DemotingBlue", greenRevision=GREEN.revision), CLUSTERS),
    entry(7.5, service(GREEN.selector), SERVICES),
    entry(8.0, pod(BLUE), PODS, "DELETED"),
    entry(9.0, cluster("Idle", blueRevision=GREEN.revision), CLUSTERS),
]


def sets(entries: list[JournalEntry] = SEEN) -> TwoPools:
    return TwoPools(History(NAME, [pod(BLUE)], entries), [service(BLUE.selector)])


def test_pools_and_phases_are_reported() -> None:
    pools = sets()
    assert (pools.blue, pools.green) == (BLUE, GREEN)
    phases = [(phase.name, phase.at) for phase in pools.phases()]
    assert phases == [("DeployingGreen", at(3.0)), ("DemotingBlue", at(7.0)), ("Idle", at(9.0))]
    assert pools.began("DemotingBlue") == at(7.0)
    assert pools.timeline() == "DeployingGreen 4.0 s, DemotingBlue 2.0 s"


def test_a_service_switches_once() -> None:
    turns = [selection.revisions for selection in sets().selections(SERVICE)]
    assert turns == [{""}, {GREEN.revision}]


def test_a_deleted_pool_gets_no_clients() -> None:
    wide = [*SEEN, entry(9.5, service(labels.voters(NAME)), SERVICES)]
    assert [selection.revisions for selection in sets(wide).selections(SERVICE)] == [
        {""},
        {GREEN.revision},
    ]


def test_a_service_without_a_pool_selector_selects_both_pools() -> None:
    late = [journal_entry for journal_entry in SEEN if journal_entry.at != 2.0]
    turns = [selection.revisions for selection in sets(late).selections(SERVICE)]
    assert turns == [{"", GREEN.revision}, {GREEN.revision}]


def test_existing_green_servers_are_selected_from_the_start() -> None:
    history = History(NAME, [pod(BLUE), pod(GREEN)], SEEN)
    turns = TwoPools(history, [service(BLUE.selector)]).selections(SERVICE)
    assert [selection.revisions for selection in turns] == [
        {"", GREEN.revision},
        {""},
        {GREEN.revision},
    ]


def test_a_service_that_switches_back_is_reported() -> None:
    back = [*SEEN[:-2], entry(7.8, service(OF_BLUE), SERVICES)]
    turns = [selection.revisions for selection in sets(back).selections(SERVICE)]
    assert turns == [{""}, {GREEN.revision}, {""}]


def test_pods_jobs_and_stateful_sets_are_assigned_to_their_pools() -> None:
    pools = sets()
    assert [life.name for life in pools.lives(BLUE)] == [BLUE.pod(0)]
    assert [life.name for life in pools.lives(GREEN)] == [GREEN.pod(0)]
    assert pools.actions() == ["join"]
    assert len(pools.stateful_sets(GREEN)) == 1
    assert pools.stateful_sets(BLUE) == []


def test_the_runs_of_a_hook_are_counted() -> None:
    marks = labels.component(NAME, "upgrade")
    notes = {OPERATION_ID: "this"}
    hook = {"metadata": {"name": "hook", "uid": "h", "labels": marks, "annotations": notes}}
    of_hook = {
        "metadata": {"uid": "p", "labels": {**marks, "batch.kubernetes.io/job-name": "hook"}}
    }
    entries = [
        entry(1.0, hook, JOBS, "ADDED"),
        entry(2.0, of_hook, PODS),
        entry(3.0, of_hook, PODS),
    ]
    assert sets(entries).hook_runs("this") == {"hook": 1}
    assert sets(entries).hook_runs("another") == {}


def test_a_row_has_a_cell_for_each_header() -> None:
    cells = row(Figures("this", 60.0, 600, 4, 1.5, 140), sets())
    assert dict(zip(HEADERS, cells, strict=True)) == {
        "upgrade": "this",
        "finished": "60.0 s",
        "clients at green": "4.0 s",
        "longest gap": "1.50 s",
        "failed": "4 of 600",
        "requests": "140",
    }
