"""e2e.start_up: each verb is called with arguments that it takes."""

import click
import pytest

from baoctl.cli import main
from e2e.start_up.__main__ import arguments, verbs


@pytest.mark.parametrize(
    ("words", "verb"), list(verbs(main)), ids=[words for words, _ in verbs(main)]
)
def test_every_verb_takes_the_arguments_that_it_is_measured_with(
    words: str, verb: click.Command
) -> None:
    with verb.make_context(words, arguments(words, verb)) as context:
        assert context.command is verb
