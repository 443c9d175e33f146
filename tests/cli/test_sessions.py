"""e2e.cli.sessions: a page contains the output, and a comparison ignores variable parts."""

import pytest

from e2e.cli.sessions import Session, normal, page, read

SESSIONS = (
    Session("Look", "status", ("NAME  READY", "", "bao   3/3")),
    Session("Look", "status nosuch", ("Error: no",), 5),
    Session("Restart", "restart bao", ()),
)


def test_a_page_is_parsed_as_it_was_written() -> None:
    text = page("# Sessions\n\nSome text.\n", SESSIONS)
    assert tuple(read(text)) == SESSIONS
    assert text.count("## Look") == 1
    assert "$ kubectl bao status nosuch\nError: no\n# exit status 5\n```" in text


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("bao-0   yes  leader   34s", "bao-2  yes  standby  2m"),
        ("restartAt 2026-11-26T17:04:42Z", "restartAt 2026-11-27T09:00:00Z"),
        ("vault/bao/2026-11-26T17-03-54Z-96a165a9.snap 32284 bytes",
         "vault/bao/2026-11-26T17-08-40Z-b67c7eb5.snap 512 bytes"),
        ("last 9s ago, 31.5 KiB, next in 35d", "last 2m ago, 1.5 MiB, next in 12h"),
        ("Pod/backup-x7k2p  Running", "Pod/backup-9qzt4  Running"),
    ],
)  # fmt: skip
def test_variable_parts_are_ignored(line: str, other: str) -> None:
    assert normal(line) == normal(other)


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("bao  3/3", "bao  2/3"),
        ("1 finding", "2 findings"),
        ("2.6.2", "2.7.2"),
        ("Ready", "Paused"),
    ],
)
def test_other_differences_are_detected(line: str, other: str) -> None:
    assert normal(line) != normal(other)


def test_the_exit_status_is_compared() -> None:
    assert Session("", "status", ("x",)).normal() != Session("", "status", ("x",), 3).normal()
