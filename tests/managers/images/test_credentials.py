"""managers.images.credentials: the login of a registry from the pull Secrets."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from contracts.image_reference import parse
from managers.images.credentials import LOGINS_MAX, STARS_MAX, PullSecretError, login_for
from tests import gen
from tests.managers.images.recorded import base64_of


def secret(auths: Any, *, older: bool = False) -> dict[str, Any]:
    if older:
        return {"data": {".dockercfg": base64_of(orjson.dumps(auths))}}
    return {"data": {".dockerconfigjson": base64_of(orjson.dumps({"auths": auths}))}}


def entry(user: str = "u", word: str = "p") -> dict[str, str]:
    return {"auth": base64_of(f"{user}:{word}".encode())}


COVERED: dict[str, tuple[str, str, bool]] = {
    "a host": ("r.example.com", "r.example.com/a/b:1", True),
    "a host with a scheme": ("https://r.example.com", "r.example.com/a/b:1", True),
    "a host with the path of the protocol": ("https://r.example.com/v2/", "r.example.com/a", True),
    "a host and port": ("r.example.com:5000", "r.example.com:5000/a", True),
    "another port": ("r.example.com:5000", "r.example.com/a", False),
    "another host": ("r.example.org", "r.example.com/a", False),
    "a host with the same suffix": ("example.com", "r.example.com/a", False),
    "Docker Hub by its oldest name": ("https://index.docker.io/v1/", "openbao/openbao", True),
    "Docker Hub by its newest name": ("docker.io", "openbao/openbao", True),
    "Docker Hub for another registry": ("docker.io", "r.example.com/a", False),
    "any host of a domain": ("*.example.com", "r.example.com/a", True),
    "any host, not deeper": ("*.example.com", "a.r.example.com/a", False),
    "a repository": ("r.example.com/a", "r.example.com/a/b", True),
    "the repository itself": ("r.example.com/a", "r.example.com/a:1", True),
    "a repository with the same prefix": ("r.example.com/a", "r.example.com/ab", False),
}


@pytest.mark.parametrize(("place", "image", "fine"), COVERED.values(), ids=COVERED.keys())
def test_a_login_matches_its_registry(place: str, image: str, fine: bool) -> None:
    for older in (False, True):
        login = login_for(parse(image), [secret({place: entry()}, older=older)])
        assert (login is not None) is fine


def test_the_longest_match_and_the_first_secret_win() -> None:
    one = secret({"r.example.com": entry("wide"), "r.example.com/a": entry("narrow")})
    two = secret({"r.example.com/a/b": entry("later")})
    image = parse("r.example.com/a/b:1")
    assert gen.present(login_for(image, [secret({}), one, two])).user == "narrow"


def test_username_and_password_need_no_auth_field() -> None:
    named = {"username": "u", "password": "p:q"}
    login = gen.present(login_for(parse("r.example.com/a"), [secret({"r.example.com": named})]))
    assert login.basic() == f"Basic {base64_of(b'u:p:q')}"
    split = login_for(parse("r.example.com/a"), [secret({"r.example.com": entry("u", "p:q")})])
    assert split == login


JUNK: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no data": {"data": None},
    "another kind of Secret": {"data": {"token": "eA=="}},
    "no base64": {"data": {".dockerconfigjson": "?"}},
    "no JSON": {"data": {".dockerconfigjson": "eA=="}},
    "a list": secret([]),
    "no auths": {"data": {".dockerconfigjson": base64_of(b"[]")}},
    "an invalid entry": secret({"r.example.com": 7}),
    "an entry without login": secret({"r.example.com": {}}),
    "a login without colon": secret({"r.example.com": {"auth": base64_of(b"u")}}),
    "a login of another type": secret({"r.example.com": {"auth": base64_of(b"\xff:x")}}),
    "a login that is a number": secret({"r.example.com": {"auth": 7}}),
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
def test_junk_is_ignored(junk: dict[str, Any]) -> None:
    good = secret({"r.example.com": entry("good")})
    assert login_for(parse("r.example.com/a"), [junk]) is None
    assert gen.present(login_for(parse("r.example.com/a"), [junk, good])).user == "good"


def test_a_login_is_not_printed() -> None:
    login = login_for(parse("r.example.com/a"), [secret({"r.example.com": entry("u", "hush")})])
    assert "hush" not in f"{login!r} {login}"


def test_attack_t10_a_secret_with_too_many_logins_is_refused_by_name() -> None:
    """Each entry is compared with the registry, and a Secret has space for 20,000."""
    many = {f"*{n}.example.com": entry() for n in range(LOGINS_MAX + 1)}
    named = {**secret(many), "metadata": {"namespace": "ns", "name": "pull"}}
    with pytest.raises(PullSecretError, match=f"Secret ns/pull: .*{LOGINS_MAX + 1} logins"):
        login_for(parse("r.example.com/a"), [named])
    many.popitem()
    assert login_for(parse("r.example.com/a"), [secret(many)]) is None


def test_attack_t10_a_pattern_with_many_wildcards_matches_no_host() -> None:
    """The compilation of a pattern takes time linear in its length."""
    image = parse("r.example.com/a")
    stars = "*" * STARS_MAX + ".example.com"
    assert login_for(image, [secret({stars: entry()})]) is not None
    assert login_for(image, [secret({f"*{stars}": entry()})]) is None
