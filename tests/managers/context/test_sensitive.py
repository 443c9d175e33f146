"""managers.context.sensitive: no way to print or serialize a secret reveals it."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from managers.context.sensitive import SensitiveString

SECRET = SensitiveString("hunter2")


@pytest.mark.parametrize(
    "write", [str, repr, "{}".format, "{!r}".format, lambda item: f"{item} {[item]} {(item,)!r}"]
)
def test_it_is_never_shown(write: Callable[[Any], str]) -> None:
    assert "hunter2" not in write(SECRET)


@pytest.mark.parametrize("write", [json.dumps, orjson.dumps, pickle.dumps, copy.deepcopy])
def test_it_is_never_stored(write: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        write(SECRET)


def test_reveal_returns_it() -> None:
    assert SECRET.reveal() == "hunter2"
