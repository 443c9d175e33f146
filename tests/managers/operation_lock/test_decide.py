"""managers.operation_lock.decide: who gets the lock, by the lock that is there."""

from datetime import timedelta

import pytest

from contracts.api.cluster.status_backup import Operation, OperationLock
from managers.operation_lock.decide import (
    PRECEDENCE,
    RENEWAL,
    UPGRADE_HOLDER,
    Acquired,
    Free,
    HeldBy,
    LockRequest,
    acquire,
    backup_holder,
    first_in_line,
    release,
    renew,
    restore_holder,
)
from runtime.testing.clock import EPOCH as NOW

BACKUP = LockRequest("Backup", backup_holder("nightly"), "Job backup-nightly")
RESTORE = LockRequest("Restore", restore_holder("monday"), "ns/monday")
UPGRADE = LockRequest("Upgrade", UPGRADE_HOLDER, "2.5.0")


def held(claim: LockRequest, epoch: int = 4) -> OperationLock:
    return OperationLock(
        operation=claim.operation,
        holder=claim.holder,
        epoch=epoch,
        message=claim.message,
        acquired_at=NOW,
        renewed_at=NOW,
    )


def taken(answer: Acquired | HeldBy | Free) -> Acquired:
    assert isinstance(answer, Acquired)
    return answer


class TestAcquiring:
    def test_a_free_lock_is_taken_with_the_next_epoch(self) -> None:
        assert taken(acquire(None, 7, BACKUP, NOW)) == Acquired(held(BACKUP, 8))

    def test_the_first_lock_ever_has_epoch_1(self) -> None:
        assert taken(acquire(None, 0, BACKUP, NOW)).lock.epoch == 1

    def test_of_a_moment_the_seconds_are_kept(self) -> None:
        late = NOW + timedelta(microseconds=999_999)
        assert taken(acquire(None, 0, BACKUP, late)).lock.acquired_at == NOW

    def test_ones_own_lock_is_renewed_and_was_acquired_when_it_was(self) -> None:
        later = NOW + timedelta(hours=1)
        lock = taken(acquire(held(BACKUP), 4, BACKUP, later)).lock
        assert (lock.acquired_at, lock.renewed_at, lock.epoch) == (NOW, later, 4)

    @pytest.mark.parametrize("other", [UPGRADE, RESTORE])
    def test_of_another_it_is_refused(self, other: LockRequest) -> None:
        assert acquire(held(other), 4, BACKUP, NOW) == HeldBy(held(other))

    def test_another_object_of_the_same_operation_is_another(self) -> None:
        second = LockRequest("Backup", backup_holder("by-hand"))
        assert acquire(held(BACKUP), 4, second, NOW) == HeldBy(held(BACKUP))

    @pytest.mark.parametrize("other", [UPGRADE, BACKUP])
    def test_force_takes_it_and_says_from_whom(self, other: LockRequest) -> None:
        answer = taken(acquire(held(other), 4, RESTORE, NOW, force=True))
        assert answer == Acquired(held(RESTORE, 5), overridden=held(other))

    def test_nobody_takes_it_from_a_restore(self) -> None:
        second = LockRequest("Restore", restore_holder("tuesday"))
        assert acquire(held(RESTORE), 4, second, NOW, force=True) == HeldBy(held(RESTORE))

    def test_force_on_ones_own_lock_is_a_renewal(self) -> None:
        assert taken(acquire(held(RESTORE), 4, RESTORE, NOW, force=True)).overridden is None

    @pytest.mark.parametrize(("lock", "known"), [(9, 4), (4, 9)])
    def test_the_epoch_never_goes_back(self, lock: int, known: int) -> None:
        answer = acquire(held(BACKUP, lock), known, RESTORE, NOW, force=True)
        assert taken(answer).lock.epoch == 10

    @pytest.mark.parametrize("holder", ["", "monday"])
    def test_a_lock_that_nobody_could_release_is_not_claimed(self, holder: str) -> None:
        with pytest.raises(ValueError, match="is not a holder"):
            LockRequest("Restore", holder)


class TestRenewing:
    def test_a_lock_that_was_lost_is_not_taken_again(self) -> None:
        assert renew(None, BACKUP, NOW) == Free()
        assert renew(held(RESTORE), BACKUP, NOW) == HeldBy(held(RESTORE))

    def test_it_is_written_once_a_minute(self) -> None:
        soon, due = NOW + RENEWAL - timedelta(seconds=1), NOW + RENEWAL
        assert taken(renew(held(BACKUP), BACKUP, soon)).lock == held(BACKUP)
        assert taken(renew(held(BACKUP), BACKUP, due)).lock.renewed_at == due

    def test_another_message_is_written_at_once(self) -> None:
        other = LockRequest(BACKUP.operation, BACKUP.holder, "restarting servers")
        assert taken(renew(held(BACKUP), other, NOW)).lock.message == "restarting servers"

    def test_a_clock_that_was_set_back_stops_no_renewal(self) -> None:
        earlier = NOW - timedelta(days=1)
        assert taken(renew(held(BACKUP), BACKUP, earlier)).lock.renewed_at == earlier


class TestReleasing:
    def test_the_holder_lets_go(self) -> None:
        assert release(held(BACKUP), BACKUP.holder) == Free()

    def test_a_foreigner_changes_nothing(self) -> None:
        assert release(held(BACKUP), RESTORE.holder) == HeldBy(held(BACKUP))

    def test_a_free_lock_stays_free(self) -> None:
        assert release(None, BACKUP.holder) == Free()


# a new operation, who waits, and who goes first
LINE: tuple[tuple[Operation, set[Operation], Operation | None], ...] = (
    ("Backup", set(), None),
    ("Backup", {"Upgrade"}, "Upgrade"),
    ("Backup", {"Upgrade", "Restore"}, "Restore"),
    ("Upgrade", {"Backup"}, None),
    ("Upgrade", {"Restore"}, "Restore"),
    ("Restore", {"Backup", "Upgrade"}, None),
)


@pytest.mark.parametrize(("operation", "waiting", "first"), LINE)
def test_restores_go_before_upgrades_and_those_before_backups(
    operation: Operation, waiting: set[Operation], first: Operation | None
) -> None:
    assert first_in_line(operation, waiting) == first


def test_nobody_lets_his_own_kind_go_first() -> None:
    assert [first_in_line(one, {one}) for one in PRECEDENCE] == [None, None, None]


def test_who_holds_it_is_said_to_people() -> None:
    assert HeldBy(held(RESTORE)).message == (
        "Restore of openbaorestore/monday holds the operation lock (ns/monday)"
    )
