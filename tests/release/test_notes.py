"""The notes of a release."""

import pytest

from release.notes import release_notes


def test_notes_are_grouped_by_kind_with_security_first() -> None:
    changes = [
        ("b.added.md", "It can\ndo b.\n"),
        ("a.added.md", "It can do a.\n"),
        ("hole.security.md", "A hole is closed.\n"),
    ]
    assert release_notes("1.2.3", changes) == (
        "# openbao-operator 1.2.3\n"
        "\n## Security\n\n- A hole is closed.\n"
        "\n## Added\n\n- It can do a.\n- It can do b.\n"
    )


def test_a_file_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"changes/a\.bug\.md: must end with"):
        release_notes("1.2.3", [("a.bug.md", "Text.")])
