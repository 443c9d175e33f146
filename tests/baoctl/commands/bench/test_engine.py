"""baoctl.commands.bench.engine: paths of both versions, and the capabilities of a token."""

from __future__ import annotations

from typing import Any

import pytest

from baoctl.commands.bench.engine import (
    DESCRIPTION,
    MOUNTS_MAX,
    Engine,
    engines_of_other_runs,
    existing_engine,
    missing_capabilities,
    own_engine,
)

OWN = own_engine("0123")
FIRST = Engine("secret", 1, "bao_bench_0123")
SECOND = Engine("team/secret", 2, "bao_bench_0123")


def test_a_run_mounts_a_version_2_engine_at_a_unique_path() -> None:
    assert OWN.is_own
    assert OWN.mount_path == "sys/mounts/bao_bench_0123"
    assert OWN.settings()["options"] == {"version": "2"}
    assert OWN.content_path("w0k1") == "bao_bench_0123/data/w0k1"
    assert own_engine("4567").mount != OWN.mount


def test_keys_in_an_existing_engine_have_a_prefix() -> None:
    assert not FIRST.is_own
    assert FIRST.content_path("w0k1") == FIRST.removal_path("w0k1") == "secret/bao_bench_0123/w0k1"
    assert SECOND.content_path("w0k1") == "team/secret/data/bao_bench_0123/w0k1"
    assert SECOND.removal_path("w0k1") == "team/secret/metadata/bao_bench_0123/w0k1"


def test_the_body_of_a_write_depends_on_the_engine_version() -> None:
    assert FIRST.payload("x") == {"value": "x"}
    assert SECOND.payload("x") == {"data": {"value": "x"}}


SETTINGS: dict[str, tuple[dict[str, Any], int | None]] = {
    "the newer version": ({"type": "kv", "options": {"version": "2"}}, 2),
    "the older version": ({"type": "kv", "options": {"version": "1"}}, 1),
    "an engine without a version is of the older one": ({"type": "kv", "options": None}, 1),
    "another engine": ({"type": "pki", "options": {"version": "2"}}, None),
    "no answer": ({}, None),
}


@pytest.mark.parametrize(("settings", "version"), SETTINGS.values(), ids=SETTINGS.keys())
def test_an_existing_engine(settings: dict[str, Any], version: int | None) -> None:
    engine = existing_engine("secret", "0123", settings)
    assert (engine and engine.version) == version
    assert engine is None or not engine.is_own


def mount_response(*paths: str, description: object = DESCRIPTION) -> dict[str, Any]:
    return {"secret": {path: {"type": "kv", "description": description} for path in paths}}


RUN = "bao_bench_0123456789abcdef"
# sentence: (mounts that the token can list, engines of other runs)
MOUNTS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a killed run": (mount_response("secret/", f"{RUN}/", "cubbyhole/"), (RUN,)),
    "none was": (mount_response("secret/"), ()),
    "an engine of a user with such a name": (mount_response(f"{RUN}/", description="ours"), ()),
    "a name that no run creates": (
        mount_response("bao_bench_prod/", f"team/{RUN}/", f"{RUN}x/"),
        (),
    ),
    "a name with a shell command": (mount_response("bao_bench_; rm -rf ~ #/"), ()),
    "too many": (
        mount_response(*(f"bao_bench_{number:016x}/" for number in range(9))),
        tuple(f"bao_bench_{number:016x}" for number in range(MOUNTS_MAX)),
    ),
    "no answer": ({}, ()),
    "an invalid response": ({"secret": [RUN]}, ()),
    "invalid settings": ({"secret": {f"{RUN}/": "kv"}}, ()),
}


@pytest.mark.parametrize(("mounts", "engines"), MOUNTS.values(), ids=MOUNTS.keys())
def test_engines_of_other_runs(mounts: dict[str, Any], engines: tuple[str, ...]) -> None:
    assert engines_of_other_runs(mounts) == engines


def granted_capabilities(engine: Engine, **changed: list[str]) -> dict[str, Any]:
    """All capabilities of an engine, except for the paths with the given ends."""
    full: dict[str, list[str]] = {}
    for path, needs in engine.required():
        full[path] = [*full.get(path, ()), *needs]
    for end, capabilities in changed.items():
        full |= {path: capabilities for path in full if path.endswith(end)}
    return full


@pytest.mark.parametrize("engine", [OWN, FIRST, SECOND])
def test_no_capability_is_missing(engine: Engine) -> None:
    assert missing_capabilities(engine, granted_capabilities(engine)) == ()
    assert missing_capabilities(engine, {path: ["root"] for path, _ in engine.required()}) == ()


def test_each_missing_capability_is_reported_with_its_path() -> None:
    assert missing_capabilities(OWN, granted_capabilities(OWN, bao_bench_0123=["deny"])) == (
        "update, delete at sys/mounts/bao_bench_0123",
    )
    assert missing_capabilities(OWN, granted_capabilities(OWN, w0k0=["create", "read"])) == (
        "update at bao_bench_0123/data/w0k0",
    )
    assert missing_capabilities(FIRST, {}) == (
        "create, update, read at secret/bao_bench_0123/w0k0",
        "delete at secret/bao_bench_0123/w0k0",
    )
    assert missing_capabilities(SECOND, {path: "root" for path, _ in SECOND.required()}) != ()
