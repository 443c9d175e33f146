"""runtime.apply.apply_result and runtime.errors.

The class of each error of an apply, and its consequence.

refusals.json has the bodies that kube-apiserver 1.36 sent; the last six were written from the
source of the server, or are those of a proxy or a later server.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from runtime.apply.apply_result import REFUSALS, Refusal, refusal_of
from runtime.errors import ApiError, TerminalError, Transient, api_error
from runtime.verdict import Verdict
from tests.runtime.apply_bench import Bench, intent
from tests.runtime.refusal_cases import TABLE

BODIES: Mapping[str, Mapping[str, Any]] = orjson.loads(
    (Path(__file__).parent / "refusals.json").read_bytes()
)


def recorded_error(name: str) -> ApiError:
    answer = BODIES[name]
    body = answer["body"]
    raw = body.encode() if isinstance(body, str) else orjson.dumps(body)
    return api_error(answer["code"], answer.get("headers", {}), raw)


def test_t26_the_table_has_every_recorded_error() -> None:
    assert TABLE.keys() == BODIES.keys()
    assert {refusal for _, refusal in TABLE.values()} == set(Refusal)


@pytest.mark.parametrize(("name", "kind", "refusal"), [(n, *row) for n, row in TABLE.items()])
def test_t26_the_body_determines_the_class_of_an_error(
    name: str, kind: type[ApiError], refusal: Refusal
) -> None:
    error = recorded_error(name)
    assert type(error) is kind
    assert error.message
    assert not error.message.startswith("{")
    assert refusal_of(error) is refusal


# Consequence: (the verdict or the exception; whether the same intent is sent again).
FOLLOWS: dict[Refusal, tuple[Verdict | type[Exception], bool]] = {
    Refusal.REJECTED: (Verdict.REJECTED, False),
    Refusal.TERMINATING: (Verdict.TERMINATING, True),
    Refusal.READ_AGAIN: (Transient, True),
    Refusal.TERMINAL: (TerminalError, True),
    Refusal.RAISED: (ApiError, True),
}


@pytest.mark.parametrize(("name", "refusal"), [(n, row[1]) for n, row in TABLE.items()])
async def test_t26_each_error_has_exactly_one_consequence(name: str, refusal: Refusal) -> None:
    bench, error = Bench(), recorded_error(name)
    await bench.ensure()
    bench.api.refuse("apply ConfigMap c", error)
    follows, sent_again = FOLLOWS[refusal]
    if isinstance(follows, Verdict):
        applied = await bench.ensure(intent(k="new"))
        assert applied.verdict is follows
        assert "ConfigMap ns/c" in applied.message
        assert error.message in applied.message
        assert bench.counted(follows) == 1
    else:
        with pytest.raises(follows) as raised:
            await bench.ensure(intent(k="new"))
        assert (raised.value is error) is (refusal is Refusal.RAISED)
    bench.api.calls.clear()
    await bench.ensure(intent(k="new"))
    assert bench.api.take_requests() == (["apply ConfigMap c"] if sent_again else [])


# A controller retries Transient errors; the others require a user.
PASSING = {"quota", "webhook down", "timeout", "gateway without a word", "too many requests"}


@pytest.mark.parametrize("name", [n for n, row in TABLE.items() if row[1] is Refusal.RAISED])
def test_t26_the_exception_determines_whether_to_retry(name: str) -> None:
    assert isinstance(recorded_error(name), Transient) is (name in PASSING)


def test_t26_the_retry_after_is_kept() -> None:
    assert recorded_error("too many requests").retry_after == 1.0


def test_t26_every_class_has_a_row_or_derives_from_one() -> None:
    """An unknown class is raised, and never becomes a verdict."""

    class UnheardError(ApiError):
        pass

    assert refusal_of(UnheardError(recorded_error("code of the future").info)) is Refusal.RAISED
    assert REFUSALS[ApiError] is Refusal.RAISED
