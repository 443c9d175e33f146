"""Tables for a terminal and for Markdown."""

from e2e.demo import table

ROWS = [("a long name", "1"), ("b", "20.5")]


def test_a_terminal_gets_names_to_the_left_and_numbers_to_the_right() -> None:
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


def test_a_bar_in_a_cell_does_not_make_a_column() -> None:
    assert table.markdown(("what",), [("a|b",)]).splitlines()[-1] == "| a\\|b |"
