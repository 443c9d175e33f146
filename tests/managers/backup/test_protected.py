"""managers.backup.job: the snapshots that a Job must keep, and the event if not all fit."""

from typing import Any

from contracts.api.backup import OpenBaoBackup
from contracts.api.group import RESTORES
from contracts.jobs.env import RetentionEnv
from managers.backup.job import KEEP_MAX
from managers.backup.schedule_plan import COMPLETED_KEPT, history
from runtime.builtin_kinds import JOB
from runtime.types import Object
from tests.managers.backup.bench import Bench, by_hand, cluster, restore
from tests.managers.backup.runs import ended

RULES = {"maxCount": 3}
UNDER_TEST = {"run": "r", "cause": "Requested", "jobName": "t", "startedAt": "2030-01-01T00:00:00Z"}
MANY = KEEP_MAX + 6
CUT = "RetentionProtectionCut"


def under_test(count: int) -> list[Object]:
    return [ended(f"kept-{n:03}", minute=n, test=UNDER_TEST) for n in range(count)]


def key_of(backup: Object) -> str:
    key: str = backup["status"]["key"]
    return key


def elsewhere(name: str, **source: Any) -> tuple[Any, Object]:
    """Return a restore into another cluster, which does not block the backups of this one."""
    return RESTORES, restore(name, cluster="y", source=source)


async def protected(bench: Bench) -> tuple[str, ...]:
    """Return the keys that the Job of a new backup must keep."""
    await bench.run()
    (container,) = bench.object(JOB, "backup-by-hand")["spec"]["template"]["spec"]["containers"]
    values = {
        variable["name"]: variable["value"] for variable in container["env"] if "value" in variable
    }
    return RetentionEnv.from_environment(values).protected


async def test_snapshots_of_restores_come_before_snapshots_under_test() -> None:
    others = under_test(MANY)
    bench = Bench(cluster(retention=RULES), by_hand(), *others)
    bench.api.with_objects(elsewhere("monday", backup="kept-000"))
    kept = await protected(bench)
    assert len(kept) == KEEP_MAX
    assert kept[0] == key_of(others[0])
    assert key_of(others[-1]) in kept, "the newest"


async def test_a_truncated_list_causes_an_event() -> None:
    bench = Bench(cluster(retention=RULES), by_hand(), *under_test(MANY))
    await protected(bench)
    (_, reason, note), *_ = [
        event for event in await bench.outside.flush_events() if event[0] == "Warning"
    ]
    assert reason == CUT
    assert f"{KEEP_MAX} of {MANY}" in note


async def test_no_event_for_a_full_list_or_without_retention() -> None:
    for retention, count in ((RULES, KEEP_MAX), (None, MANY)):
        bench = Bench(cluster(retention=retention), by_hand(), *under_test(count))
        await protected(bench)
        assert CUT not in {reason for _, reason, _ in await bench.outside.flush_events()}


async def test_keys_that_this_retention_cannot_remove_are_omitted() -> None:
    """Keys of other clusters, of other prefixes, and of snapshots before upgrades."""
    names = ("prod/ns/y/", "other/ns/x/", "prod/ns/x/pre-upgrade-", "prod/ns/x/nested/")
    keys = [f"{at}2029-01-01T00-00-00Z-0000{n:04x}.snap" for at in names for n in range(MANY)]
    mine = "prod/ns/x/2029-01-01T00-00-00Z-00000000.snap"
    bench = Bench(cluster(retention=RULES), by_hand())
    target = {"provider": "s3", "endpoint": "https://s3.example.com", "bucket": "snapshots"}
    for number, key in enumerate((*keys, mine)):
        bench.api.with_objects(elsewhere(f"r-{number}", target=target, key=key))
    assert await protected(bench) == (mine,)
    assert CUT not in {reason for _, reason, _ in await bench.outside.flush_events()}


def test_backups_in_use_are_never_deleted() -> None:
    many = [OpenBaoBackup.from_object(backup) for backup in under_test(COMPLETED_KEPT + MANY)]
    assert history(many, None, ()) == ()
