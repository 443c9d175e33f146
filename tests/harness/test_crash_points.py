"""e2e.harness.crash_points: the writes at which operators crash."""

from e2e.harness.crash_points import batches, ends
from e2e.harness.write_key import WriteKey

STATUS = WriteKey("patch", "openbaoclusters", "status", "one", "lock")
JOB = WriteKey("create", "jobs", "", "upgrade-one", "")


def test_an_operator_crashes_before_each_write_and_after_the_last() -> None:
    assert ends([(STATUS, 1), (JOB, 1), (STATUS, 2)]) == [
        (STATUS, 1, "before"),
        (JOB, 1, "before"),
        (STATUS, 2, "before"),
        (STATUS, 2, "after"),
    ]


def test_the_last_batch_has_the_remaining_cases() -> None:
    assert batches([1, 2, 3], 2) == [[1, 2], [3]]
