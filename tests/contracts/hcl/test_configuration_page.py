"""The table of docs/configuration.md matches the code."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from contracts.api.rules.cluster import violations
from contracts.api.schema.crd import Schema, open_api_schema, walk
from contracts.hcl.render import ConfigInput, render_config, restart_text
from contracts.server_features import since
from tests.contracts.api.clusters import cluster

PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text(encoding="utf-8")
ROWS = {
    field: (key.strip("`"), cost)
    for field, key, cost in re.findall(
        r"^\| `(spec\.[A-Za-z.]+)` \| (\S+) \| (signal|restart|API) \|$", PAGE, re.MULTILINE
    )
}
PLUGIN = {"type": "secret", "name": "p", "command": "p", "version": "v1", "sha256sum": "0" * 64}
ACME = {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com/directory"}}
# A value for each row that changes the text, and what it is compared with.
SAMPLES: dict[str, tuple[Any, dict[str, Any]]] = {
    "spec.configuration.ui": (False, {}),
    "spec.configuration.logLevel": ("debug", {}),
    "spec.configuration.logging.format": ("json", {}),
    "spec.configuration.logging.file": ("/tmp/x", {}),  # noqa: S108  a path of the pod
    "spec.configuration.logging.pidFile": ("/tmp/x", {}),  # noqa: S108  a path of the pod
    "spec.configuration.logging.rotateDuration": ("1h", {}),
    "spec.configuration.logging.rotateBytes": (1, {}),
    "spec.configuration.logging.rotateMaxFiles": (1, {}),
    "spec.configuration.defaultLeaseTTL": ("1h", {}),
    "spec.configuration.maxLeaseTTL": ("1h", {}),
    "spec.configuration.cacheSize": (1, {}),
    "spec.configuration.standbyReads": (False, {"configuration": {"standbyReads": True}}),
    "spec.configuration.listener.proxyProtocolBehavior": ("use_always", {}),
    "spec.configuration.listener.proxyProtocolAuthorizedAddrs": (["::1"], {}),
    "spec.configuration.listener.tlsMinVersion": ("tls13", {}),
    "spec.configuration.listener.tlsMaxVersion": ("tls13", {}),
    "spec.configuration.listener.tlsKeyExchangePreferences": (["X25519"], {}),
    "spec.configuration.raft.performanceMultiplier": (5, {}),
    "spec.configuration.plugin.fileUID": (1, {}),
    "spec.configuration.plugin.filePermissions": ("0700", {}),
    "spec.configuration.plugin.downloadBehavior": ("fail", {}),
    "spec.configuration.acmeCARoot": ("/etc/bao/acme-ca/pki-ca.crt", {"tls": ACME}),
    "spec.audit": ([{"type": "file", "path": "f", "fileOptions": {"filePath": "stdout"}}], {}),
    "spec.plugins": ([PLUGIN, {**PLUGIN, "name": "q"}], {"plugins": [PLUGIN]}),
    "spec.telemetry": ({"metricsPrefix": "x"}, {}),
    "spec.observability.metrics": ({"enabled": True}, {}),
}
# Not in a file: one is set through the API, the other changes the pod.
OUTSIDE = {"spec.configuration.raft.autopilot", "spec.auditFileStorage"}


def _with(path: str, value: Any, base: dict[str, Any]) -> dict[str, Any]:
    steps = path.split(".")[1:]
    for step in reversed(steps):
        value = {step: value}
    return {**base, **value}


@pytest.mark.parametrize("field", sorted(ROWS.keys() - OUTSIDE))
def test_a_row_has_the_key_of_a_field_and_the_effect_of_a_change(field: str) -> None:
    key, cost = ROWS[field]
    value, base = SAMPLES.get(field, (True, {}))
    before = ConfigInput.of(cluster(version="2.7.0", **base), None)
    after = ConfigInput.of(cluster(version="2.7.0", **_with(field, value, base)), None)
    lines = set(render_config(after).split("\n")) - set(render_config(before).split("\n"))
    assert any(re.match(rf"\s*{key}\b", line) for line in lines), lines
    assert (restart_text(before) == restart_text(after)) is (cost == "signal")


def test_every_setting_of_the_schema_has_a_row() -> None:
    leaves = set()

    def visit(path: str, node: Schema) -> None:
        if path.startswith("spec.configuration.") and "properties" not in node:
            leaves.add(path.split("[")[0])

    walk(open_api_schema(), visit)
    covered = {leaf for leaf in leaves if any(leaf.startswith(row) for row in ROWS)}
    assert leaves - covered == {"spec.configuration.listener.tlsDisable"}
    assert set(SAMPLES) <= set(ROWS)


# The rows of the page, in order, and the features that they are about.
VERSIONS = (
    ("self-init",),
    ("http-audit",),
    ("plugin-stanza", "plugin-download"),
    ("metrics-only-listener",),
    ("generate-root-switch",),
    ("kms-plugin",),
    ("plugin-pin-optional",),
    ("tls-key-exchange",),
)


def test_the_versions_are_those_of_the_table() -> None:
    matches = re.findall(r"^\| .+ \| (2\.\d+\.\d+) \|$", PAGE, re.MULTILINE)
    for version, features in zip(matches, VERSIONS, strict=True):
        assert {since(feature) for feature in features} == {version}


@pytest.mark.parametrize("example", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_an_example_is_a_valid_cluster(example: str) -> None:
    spec = yaml.safe_load(example)["spec"]
    obj = cluster(**spec)
    assert violations(obj) == ()
    assert render_config(ConfigInput.of(obj, None))
