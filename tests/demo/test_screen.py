"""The output without a terminal."""

import io

import pytest

from e2e.demo.screen import Screen, duration, fit


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.04, "0.0 s"),
        (4.24, "4.2 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (65, "1 min 05 s"),
    ],
)
def test_durations_are_formatted_in_minutes_and_seconds(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc..."), ("abc", 2, "..")],
)
def test_a_line_is_cut_to_its_width(text: str, width: int, expected: str) -> None:
    assert fit(text, width) == expected


def test_a_file_gets_no_escape_sequences() -> None:
    out = io.StringIO()
    with Screen(out) as screen, screen.step("A step"):
        screen.waiting("for something")
        screen.say("a note")
        screen.error("an error")
    assert "\x1b" not in out.getvalue()
    assert "\r" not in out.getvalue()


def test_a_step_shows_its_title_and_then_its_duration() -> None:
    out = io.StringIO()
    with Screen(out) as screen:
        with screen.step("A step"):
            screen.say("a note")
        assert [step.title for step in screen.steps] == ["A step"]
    lines = [line.strip() for line in out.getvalue().splitlines()]
    assert lines[1] == "A step"
    assert lines[2].endswith("a note")
    assert "done in" in lines[3]


def test_a_failed_step_is_not_marked_as_done() -> None:
    out = io.StringIO()
    with Screen(out) as screen:
        with pytest.raises(RuntimeError), screen.step("A step"):
            raise RuntimeError
        assert screen.steps == []
    assert "done" not in out.getvalue()


def test_a_repeated_message_is_printed_once() -> None:
    out = io.StringIO()
    with Screen(out) as screen, screen.step("A step"):
        for _ in range(5):
            screen.waiting("for something")
    assert out.getvalue().count("for something") == 1
