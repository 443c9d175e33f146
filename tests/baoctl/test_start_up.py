"""e2e.start_up: each verb is called with arguments that it takes."""

import click
import pytest

from baoctl.cli import main
from e2e.start_up.__main__ import arguments, verbs

SHOWN = [(words, verb) for words, verb in verbs(main) if not verb.hidden]


@pytest.mark.parametrize(("words", "verb"), SHOWN, ids=[words for words, _ in SHOWN])
def test_every_verb_takes_the_arguments_that_it_is_measured_with(
    words: str, verb: click.Command
) -> None:
    with verb.make_context(words, arguments(words, verb)) as context:
        assert context.command is verb
