"""Invalid input of any verb of `baoctl`: one line on standard error, and no traceback."""

import copy
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from baoctl.cli import main
from baoctl.exit_codes import ExitCode
from tests import gen
from tests.baoctl.commands.upgrade.dumps import CLUSTER, dump
from tests.baoctl.yaml_bomb import billion_laughs
from tests.contracts.api.cases_recovery import recovery
from tests.contracts.api.pgp_keys import BAD as BAD_KEYS

RENDER = ("render",)
PLAN = ("upgrade", "plan", "--to", "2.7.2")
BOTH = pytest.mark.parametrize("verb", [RENDER, PLAN], ids=["render", "plan"])


def call(*arguments: str, given: str | bytes | None = None) -> Result:
    environ = {"KUBECONFIG": "/nonexistent/config", "KUBERNETES_SERVICE_HOST": None}
    return CliRunner().invoke(main, list(arguments), input=given, env=environ)


def refusal(result: Result, status: int) -> str:
    """The last line of standard error of a verb with the expected exit status."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stdout) == (status, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


def manifest(**changes: Any) -> str:
    """A cluster with changed top-level members."""
    return yaml.safe_dump({**gen.cluster().object(), **changes})


# sentence: (text, part of the error)
TEXTS: Mapping[str, tuple[str | bytes, str]] = {
    "nothing": ("", "there is no OpenBaoCluster"),
    "bytes": (b"\x7fELF\xff\xfe\x00\x01", "it is not UTF-8"),
    "another kind": ("kind: ConfigMap\nmetadata: {name: x}", "there is no OpenBaoCluster"),
    "a list": ("[1, 2]", "there is no OpenBaoCluster"),
    "another version": (manifest(apiVersion="openbao.org/v9"), "must be openbao.org/v1alpha1"),
    "no version": (manifest(apiVersion=None), "must be openbao.org/v1alpha1"),
    "a billion values": (billion_laughs(9), "it has more than 1000000 values"),
    "a billion objects": (billion_laughs(9, "{items: [%s]}"), "it has more than 1000000 values"),
    "a list that holds itself": ("items: &a [{items: *a}]", "it contains itself"),
    "many brackets": ("[" * 9999, "it is deeper than 100 levels"),
    "invalid YAML of several lines": ("a: [\n\nb: }\n", "it is not YAML"),
    "a spec that is a text": (manifest(spec="x"), "InvalidSpec: spec"),
    "a spec that is deep": (
        manifest(spec={"a": yaml.safe_load("[" * 70 + "]" * 70)}), "must not be nested deeper",
    ),
    "a spec that is large": (
        manifest(spec={"a": list(range(11_000))}), "InvalidSpec: spec: must hold at most",
    ),
    "an invalid name": (
        manifest(metadata={"name": "A\nB", "namespace": "ns"}), "InvalidSpec",
    ),
    "a name that is a number": (manifest(metadata={"name": 5}), "InvalidSpec: metadata.name"),
    "labels that are a list": (
        manifest(metadata={"name": "x", "labels": [1]}), "InvalidSpec: metadata.labels",
    ),
    "a key that is a number": (manifest(spec={1: 2}), "InvalidSpec: spec"),
}  # fmt: skip


# verb: arguments to read a manifest from standard input, without an API server
READERS: Mapping[str, tuple[str, ...]] = {
    "render": ("render",),
    "plan": ("plan", "--against", os.devnull),
    "migrate": ("migrate",),
    "upgrade plan": PLAN,
}
# sentence: (text, exit status)
STATUSES: Mapping[str, tuple[str, ExitCode]] = {
    "no YAML": ("a: [\n\nb: }\n", ExitCode.ERROR),
    "a deep text": ("[" * 9999, ExitCode.ERROR),
    "nothing": ("", ExitCode.NOT_FOUND),
    "an empty list": ("{apiVersion: v1, kind: List, items: []}", ExitCode.NOT_FOUND),
    "another kind": ("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}", ExitCode.NOT_FOUND),
    "values": ("[1, 2]", ExitCode.NOT_FOUND),
}


@pytest.mark.parametrize("verb", READERS.values(), ids=READERS.keys())
@pytest.mark.parametrize(("text", "status"), STATUSES.values(), ids=STATUSES.keys())
def test_every_verb_exits_with_the_same_status_for_invalid_input(
    verb: tuple[str, ...], text: str, status: ExitCode
) -> None:
    refusal(call(*verb, "-f", "-", given=text), status)


@BOTH
@pytest.mark.parametrize(("text", "words"), TEXTS.values(), ids=TEXTS.keys())
def test_an_invalid_manifest_is_refused(
    verb: tuple[str, ...], text: str | bytes, words: str
) -> None:
    refused = words.startswith(("InvalidSpec", "must "))
    status = 5 if words.startswith("there is no") else 4 if refused else 1
    assert words in refusal(call(*verb, "-f", "-", given=text), status)


@BOTH
def test_missing_files_and_folders_are_refused(verb: tuple[str, ...], tmp_path: Path) -> None:
    assert "No such file" in refusal(call(*verb, "-f", str(tmp_path / "missing")), 2)
    assert "Is a directory" in refusal(call(*verb, "-f", str(tmp_path)), 2)


@BOTH
def test_an_endless_file_is_read_up_to_the_limit(verb: tuple[str, ...]) -> None:
    assert "it is larger than 16 MiB" in refusal(call(*verb, "-f", "/dev/zero"), 1)


def test_metadata_of_the_wrong_type_is_refused() -> None:
    line = refusal(call("render", "-f", "-", given=manifest(metadata=[1])), 4)
    assert "InvalidSpec: metadata: must be a mapping" in line


# option of render: an invalid value, and part of the rule
OPTIONS: Mapping[str, tuple[str, str]] = {
    "--api-server-host": ("banana", "'banana': must be an IP address"),
    "--namespace": ("A B", "'A B': must be the name of a namespace"),
    "--operator-namespace": ("a/b", "'a/b': must be the name of a namespace"),
    "--image-repository": ("r.test/x:1", "'r.test/x:1': must be REGISTRY/REPOSITORY"),
    "--phase": ("later", "'later' is not one of"),
}


@pytest.mark.parametrize(
    ("option", "value", "words"), [(name, *row) for name, row in OPTIONS.items()]
)
def test_an_invalid_option_of_render_is_refused(option: str, value: str, words: str) -> None:
    line = refusal(call("render", "-f", "-", option, value, given=manifest()), 2)
    assert option in line
    assert words in line


@pytest.mark.parametrize("phase", ["first-boot", "running"])
def test_an_unusable_recovery_key_is_refused(phase: str) -> None:
    key, words = BAD_KEYS["an RSA subkey that may only sign"]
    transit = {"address": "https://kms.example.com", "keyName": "k", "mountPath": "transit"}
    cluster = gen.cluster(
        unseal={"type": "transit", "transit": transit},
        recoveryKeys=recovery(1, 1, {"pgpPublicKey": key}),
    ).self_init()
    text = yaml.safe_dump(cluster.object())
    assert words in refusal(call("render", "-f", "-", "--phase", phase, given=text), 4)


# sentence: (arguments, exit status, part of the error)
WRONG: Mapping[str, tuple[tuple[str, ...], int, str]] = {
    "an unknown verb": (("banana",), 2, "No such command 'banana'"),
    "an unknown option": (("run", "--banana"), 2, "No such option"),
    "an invalid port": (("run", "--port", "http"), 2, "--port"),
    "an invalid log level": (("run", "--log-level", "loud"), 2, "--log-level"),
    "an invalid namespace": (("run", "--watch-namespace", "A B"), 2, "WATCH_NAMESPACE 'A B'"),
    "a missing kubeconfig": (("run", "--kubeconfig", "/none"), 2, "KUBECONFIG '/none'"),
    "a provisioner without a kubeconfig": (
        ("provision", "--kubeconfig", "/none"), 2, "KUBECONFIG '/none'",
    ),
    "an unknown job": (("job", "banana"), 2, "'banana' is not one of"),
    "an unknown reason": (("explain", "reasons", "x\ny"), 5, "there is no reason 'x\\ny'"),
    "an unknown condition": (("explain", "conditions", "x"), 5, "there is no condition 'x'"),
    "steps with an argument": (("explain", "steps", "x"), 2, "unexpected extra argument"),
    "render without a file": (("render",), 2, "--filename"),
    "an upgrade plan without input": (
        ("upgrade", "plan", "--to", "2.7.2"), 2, "as in upgrade plan NAMESPACE/NAME",
    ),
    "an upgrade plan without a version": (("upgrade", "plan"), 2, "--to"),
    "an upgrade plan without a cluster": (
        ("upgrade", "plan", "--to", "2.7.2", "--cluster", "a/b"), 6, "KUBECONFIG",
    ),
    "a datacenter without an API server": (("datacenter", "status", "fra1"), 6, "KUBECONFIG"),
    "an invalid name of a datacenter": (("datacenter", "status", "A B\n"), 6, ""),
    "an invalid duration": (
        ("datacenter", "status", "fra1", "--timeout", "soon"), 2, "--timeout",
    ),
    "a service without a datacenter": (("datacenter", "redeploy", "fra1"), 6, ""),
    "an invalid name of a service": (("datacenter", "redeploy", "A/B/\n"), 6, ""),
    "an empty token": (
        ("datacenter", "redeploy", "fra1/vault", "--token", "\x00" * 999), 6, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "status", "words"), WRONG.values(), ids=WRONG.keys())
def test_invalid_arguments_are_refused(arguments: tuple[str, ...], status: int, words: str) -> None:
    assert words in refusal(call(*arguments), status)


PARTS: list[Any] = [None, True, [1], {"a": 1}, [], {}, [[{"name": 1}]], "", "x", 0, -1, 1.5]
# Invalid values at any place in a manifest; each call returns new ones, which may be modified.
ANYTHING = st.one_of(
    st.sampled_from(PARTS).map(copy.deepcopy), st.integers(), st.floats(), st.text(max_size=9)
)

ITEMS: list[Any] = yaml.safe_load(dump(CLUSTER))["items"]


@st.composite
def spoiled(draw: st.DrawFn) -> str:
    """A dump of a cluster with an invalid value at some place."""
    objects = copy.deepcopy(ITEMS)
    for _ in range(draw(st.integers(1, 3))):
        part: Any = draw(st.sampled_from(objects))
        while True:
            keys = list(part) if isinstance(part, dict) else list(range(len(part)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(part[key], dict | list) and part[key] and draw(st.integers(0, 3)):
                part = part[key]
                continue
            part[key] = draw(ANYTHING)
            break
    return yaml.dump_all(objects, Dumper=yaml.CSafeDumper)


@BOTH
@given(text=spoiled())
@examples(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_malformed_objects_cause_no_traceback(verb: tuple[str, ...], text: str) -> None:
    result = call(*verb, "-f", "-", given=text)
    assert isinstance(result.exception, SystemExit | None), (result.exception, text)
    assert len(result.stderr.splitlines()) <= 1
