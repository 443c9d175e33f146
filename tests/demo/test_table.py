"""Tables for a terminal and for Markdown."""

from e2e.demo import table

ROWS = [("a long name", "1"), ("b", "20.5")]


def test_names_are_left_aligned_and_numbers_right_aligned() -> None:
    assert table.plain(("what", "took"), ROWS).splitlines() == [
        "  what         took",
        "  -----------  ----",
        "  a long name     1",
        "  b            20.5",
    ]


def test_markdown_has_the_same_rows() -> None:
    assert table.markdown(("what", "took"), ROWS).splitlines() == [
        "| what | took |",
        "| --- | ---: |",
        "| a long name | 1 |",
        "| b | 20.5 |",
    ]


def test_a_vertical_bar_in_a_cell_is_escaped() -> None:
    assert table.markdown(("what",), [("a|b",)]).splitlines()[-1] == "| a\\|b |"
