"""managers.context.attempt_log: the last attempt counts, and the size is bounded."""

from contracts.records.observed import EffectAttempt
from managers.context.attempt_log import AttemptLog
from tests.gen.secrets import NOW


def attempt(effect: str, uid: str, refused: str = "") -> EffectAttempt:
    return EffectAttempt(effect, uid, NOW, refused)


def test_the_last_attempt_of_an_effect_counts() -> None:
    kept = AttemptLog()
    kept.note(attempt("a", "1", "no"))
    kept.note(attempt("a", "1"))
    assert kept.last("a", "1") == attempt("a", "1")
    assert kept.last("b", "1") is None


def test_attempts_of_other_objects_are_not_returned() -> None:
    kept = AttemptLog()
    kept.note(attempt("a", "1"))
    kept.note(attempt("b", "2"))
    assert kept.of(frozenset({"2", "3"})) == (attempt("b", "2"),)


def test_the_oldest_attempts_are_dropped() -> None:
    kept = AttemptLog(size=2)
    for uid in ("1", "2", "1", "3"):
        kept.note(attempt("a", uid))
    assert [item.uid for item in kept.of(frozenset({"1", "2", "3"}))] == ["1", "3"]
