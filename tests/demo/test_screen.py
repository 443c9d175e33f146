"""What is printed where nobody sits at a terminal."""

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
def test_seconds_are_written_as_a_person_says_them(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc..."), ("abc", 2, "..")],
)
def test_a_line_is_cut_to_its_width(text: str, width: int, expected: str) -> None:
    assert fit(text, width) == expected


def test_no_escape_goes_into_a_file() -> None:
    out = io.StringIO()
    with Screen(out) as screen, screen.step("A step"):
        screen.waiting("for something")
        screen.say("a note")
        screen.trouble("a trouble")
    assert "\x1b" not in out.getvalue()
    assert "\r" not in out.getvalue()


def test_a_step_has_its_title_before_and_its_duration_behind() -> None:
    out = io.StringIO()
    with Screen(out) as screen:
        with screen.step("A step"):
            screen.say("a note")
        assert [step.title for step in screen.steps] == ["A step"]
    lines = [line.strip() for line in out.getvalue().splitlines()]
    assert lines[1] == "A step"
    assert lines[2].endswith("a note")
    assert "done in" in lines[3]


def test_a_step_that_fails_is_not_done() -> None:
    out = io.StringIO()
    with Screen(out) as screen:
        with pytest.raises(RuntimeError), screen.step("A step"):
            raise RuntimeError
        assert screen.steps == []
    assert "done" not in out.getvalue()


def test_the_same_words_are_not_said_twice() -> None:
    out = io.StringIO()
    with Screen(out) as screen, screen.step("A step"):
        for _ in range(5):
            screen.waiting("for something")
    assert out.getvalue().count("for something") == 1
