"""e2e.cli.sessions: a page holds what was printed, and a comparison leaves out what may differ."""

import pytest

from e2e.cli.sessions import Session, normal, page, read

SESSIONS = (
    Session("Look", "status", ("NAME  READY", "", "bao   3/3")),
    Session("Look", "status nosuch", ("Error: no",), 5),
    Session("Restart", "restart bao", ()),
)


def test_a_page_is_read_as_it_was_written() -> None:
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
def test_what_may_differ_is_the_same(line: str, other: str) -> None:
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
def test_what_a_user_would_notice_differs(line: str, other: str) -> None:
    assert normal(line) != normal(other)


def test_an_exit_status_counts() -> None:
    assert Session("", "status", ("x",)).normal() != Session("", "status", ("x",), 3).normal()
