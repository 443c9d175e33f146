"""contracts.image_reference: references are read as container runtimes read them."""

import pytest

from contracts.image_reference import parse, tag_fits

DIGEST = "sha256:" + "0123456789abcdef" * 4
READ: dict[str, tuple[str, str, str | None, str | None]] = {
    "openbao": ("docker.io", "library/openbao", None, None),
    "openbao:2.4.0": ("docker.io", "library/openbao", "2.4.0", None),
    "openbao/openbao:2.4.0": ("docker.io", "openbao/openbao", "2.4.0", None),
    "docker.io/openbao": ("docker.io", "library/openbao", None, None),
    "index.docker.io/a/b": ("docker.io", "a/b", None, None),
    "localhost/openbao:2.4.0": ("localhost", "openbao", "2.4.0", None),
    "localhost:5000/openbao": ("localhost:5000", "openbao", None, None),
    "r.example.com/a/b/c:x": ("r.example.com", "a/b/c", "x", None),
    "r.example.com:5000/a:x": ("r.example.com:5000", "a", "x", None),
    f"r.example.com/a@{DIGEST}": ("r.example.com", "a", None, DIGEST),
    f"r.example.com/a:x@{DIGEST}": ("r.example.com", "a", "x", DIGEST),
    "[fd00::1]:5000/a:x": ("[fd00::1]:5000", "a", "x", None),
    "[fd00::1]/a": ("[fd00::1]", "a", None, None),
    "192.0.2.1:5000/a_b/c-d.e__f": ("192.0.2.1:5000", "a_b/c-d.e__f", None, None),
}


@pytest.mark.parametrize(("text", "parts"), READ.items())
def test_a_reference_is_parsed(text: str, parts: tuple[str, ...]) -> None:
    reference = parse(text)
    assert (reference.registry, reference.repository, reference.tag, reference.digest) == parts


REFUSED = (
    "",
    "/",
    "a/",
    "/a",
    "a/B",
    "a b",
    "a:",
    "a:-x",
    f"a:{'x' * 129}",
    "a@sha256:abc",
    f"a@{DIGEST.upper()}",
    "a@sha512:" + "a" * 64,
    f"a@{DIGEST}@{DIGEST}",
    "r.example.com/../../etc",
    "r.example.com/a?x=y",
    "r.example.com/a#b",
    "r.example.com/a%2e",
    "user@r.example.com/a",
    "https://r.example.com/a",
    "r.example.com:x/a",
    "r.example.com\n/a",
    "a\n",
    "-r.example.com/a",
    f"r.example.com/{'a' * 300}",
)


@pytest.mark.parametrize("text", REFUSED)
def test_an_invalid_reference_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)


def test_b44_no_tag_is_invented() -> None:
    assert parse("openbao").tag is None


def test_the_host_of_docker_hub_differs_from_its_name() -> None:
    assert parse("openbao/openbao").host == "registry-1.docker.io"
    assert parse("openbao/openbao").identity == parse("index.docker.io/openbao/openbao").identity
    assert parse("r.example.com/a").host == "r.example.com"


def test_a_pinned_reference_keeps_the_name_and_loses_the_tag() -> None:
    assert parse("openbao/openbao:2.4.0").pinned(DIGEST) == f"openbao/openbao@{DIGEST}"
    pinned = f"r.example.com:5000/a@{DIGEST}"
    assert parse("r.example.com:5000/a:x").pinned(DIGEST) == pinned
    assert parse(pinned).pinned(DIGEST) == pinned


FITTING = [
    ("a:2.4.0", "2.4.0", True),
    ("a:v2.4.0", "2.4.0", True),
    ("a:2.4.0", "v2.4.0", True),
    ("a:2.4.0_one", "2.4.0+one", True),
    ("a:2.4.0-one", "2.4.0+one", True),
    ("a", "2.4.0", True),
    (f"a@{DIGEST}", "2.4.0", True),
    (f"a:2.4.1@{DIGEST}", "2.4.0", False),
    ("a:latest", "2.4.0", False),
    ("a:2.4", "2.4.0", False),
    ("a:2.4.0-rc1", "2.4.0", False),
]


@pytest.mark.parametrize(("image", "version", "fits"), FITTING)
def test_a_tag_is_that_of_the_version(image: str, version: str, fits: bool) -> None:
    assert tag_fits(parse(image), version) is fits
