"""The stanzas of config.hcl, and the changes that need a restart."""

from dataclasses import replace
from typing import Any

import pytest

from contracts.hcl.environment import environment
from contracts.hcl.render import (
    AUTOPILOT_RECONCILE_INTERVAL,
    RELOADED_SETTINGS,
    ConfigInput,
    Join,
    render_config,
    restart_text,
)
from contracts.hcl.stanzas import Stanza
from tests.contracts.api.clusters import cluster
from tests.contracts.hcl.golden_cases import CASES, GOLDEN, read_case
from tests.contracts.hcl.parse_back import parse

PIN = {"version": "v1", "sha256sum": "0" * 64}
PLUGIN = {"type": "secret", "name": "p", "command": "p", **PIN}
SEAL_PLUGIN = {"type": "kms", "name": "k", "command": "k", **PIN}


def config(**spec: Any) -> ConfigInput:
    return ConfigInput.of(cluster(**spec), None)


def parse_config(**spec: Any) -> Any:
    return parse(render_config(config(**spec)))


def test_b24_every_listener_is_bound_to_both_families() -> None:
    """An IPv4 address alone breaks clusters whose pods have IPv6 addresses."""
    listeners = parse_config(
        version="2.5.5", observability={"metrics": {"enabled": True, "scrapeProfile": "AllNodes"}}
    )["listener"]
    addresses = [
        value
        for listener in listeners
        for key, value in listener["tcp"].items()
        if key.endswith("address")
    ]
    assert addresses == ["[::]:8200", "[::]:8201", "[::]:8202"]


def test_b26_tls_cannot_be_switched_off_in_the_configuration() -> None:
    """A rule refuses it; the rendering does not depend on the rule."""
    (listener,) = parse_config(configuration={"listener": {"tlsDisable": True}})["listener"]
    assert "tls_disable" not in listener["tcp"]
    assert listener["tcp"]["tls_cert_file"]


def test_tls_settings_apply_to_every_listener() -> None:
    listeners = parse_config(
        version="2.5.5",
        configuration={"listener": {"tlsMinVersion": "tls13"}},
        observability={"metrics": {"enabled": True, "metricsOnlyListener": {"enabled": True}}},
    )["listener"]
    assert [listener["tcp"]["tls_min_version"] for listener in listeners] == ["tls13", "tls13"]
    # One listener serves only metrics, the other one everything else.
    assert [listener["tcp"]["telemetry"] for listener in listeners] == [
        {"disallow_metrics": True},
        {"metrics_only": True},
    ]


@pytest.mark.parametrize(
    ("older", "newer"), [("allow_any", "allow_authorized"), ("use_always", "use_always")]
)
def test_an_older_spelling_of_the_proxy_behavior_is_translated(older: str, newer: str) -> None:
    listener = {
        "proxyProtocolBehavior": older,
        "proxyProtocolAuthorizedAddrs": ["::1", "192.0.2.1"],
    }
    (stanza,) = parse_config(configuration={"listener": listener})["listener"]
    assert stanza["tcp"]["proxy_protocol_behavior"] == newer
    assert stanza["tcp"]["proxy_protocol_authorized_addrs"] == ["192.0.2.1", "::1"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [("standard", "fail"), ("direct", "continue"), ("fail", "fail"), ("continue", "continue")],
)
def test_an_older_spelling_of_the_download_behavior_is_translated(older: str, newer: str) -> None:
    plugin = {"downloadBehavior": older}
    assert parse_config(configuration={"plugin": plugin})["plugin_download_behavior"] == newer


def test_detect_deadlocks_is_rendered_as_names_of_locks() -> None:
    config = parse_config(configuration={"detectDeadlocks": True})
    assert config["detect_deadlocks"] == "statelock,quotas,expiration"
    assert "detect_deadlocks" not in parse_config(configuration={"detectDeadlocks": False})


@pytest.mark.parametrize(
    ("settings", "plugins", "download", "register"),
    [
        ({}, [], None, None),
        ({}, [PLUGIN], None, True),
        ({}, [{**PLUGIN, "command": None, "image": "i", "binaryName": "b"}], True, True),
        ({"autoDownload": False, "autoRegister": False}, [PLUGIN], False, False),
    ],
)
def test_plugin_settings_default_to_the_needs_of_the_plugins(
    settings: dict[str, Any], plugins: list[Any], download: bool | None, register: bool | None
) -> None:
    config = parse_config(configuration={"plugin": settings}, plugins=plugins)
    assert config.get("plugin_auto_download") == download
    assert config.get("plugin_auto_register") == register


def test_metrics_for_prometheus_bring_their_telemetry() -> None:
    on = {"metrics": {"enabled": True}}
    assert "telemetry" not in parse_config(observability={"metrics": {"enabled": False}})
    assert parse_config(observability=on)["telemetry"] == [
        {"disable_hostname": True, "prometheus_retention_time": "30s"}
    ]
    mine = {"prometheusRetentionTime": "1h", "disableHostname": False}
    assert parse_config(observability=on, telemetry=mine)["telemetry"] == [
        {"disable_hostname": True, "prometheus_retention_time": "1h"}
    ]


def test_typed_options_of_an_audit_device_take_precedence() -> None:
    device = {
        "type": "file",
        "path": "f",
        "fileOptions": {"filePath": "stdout"},
        "options": {"file_path": "discard", "log_raw": True, "mode": "0600"},
    }
    (stanza,) = parse_config(audit=[device])["audit"]
    assert stanza["file"]["f"]["options"] == {
        "file_path": "stdout",
        "log_raw": "true",
        "mode": "0600",
    }


def test_a_reordered_manifest_renders_the_same_bytes() -> None:
    lists: dict[str, list[Any]] = {
        "audit": [
            {"type": "file", "path": name, "fileOptions": {"filePath": "stdout"}} for name in "ab"
        ],
        "plugins": [PLUGIN, {**PLUGIN, "name": "q"}, {**PLUGIN, "type": "auth"}],
    }
    turned = {name: items[::-1] for name, items in lists.items()}
    assert render_config(config(**lists)) == render_config(config(**turned))


def test_settings_that_a_signal_reloads_need_no_restart() -> None:
    plain = config(configuration={"cacheSize": 1})
    changed = config(
        configuration={
            "cacheSize": 1,
            "logLevel": "debug",
            "introspectionEndpoint": True,
            "unsafeAllowAPIAuditCreation": True,
        },
        audit=[{"type": "file", "path": "f", "fileOptions": {"filePath": "stdout"}}],
    )
    assert render_config(plain) != render_config(changed)
    assert restart_text(plain) == restart_text(changed)


@pytest.mark.parametrize(
    "spec",
    [
        {"configuration": {"ui": False}},
        {"configuration": {"logging": {"format": "json"}}},
        {"configuration": {"defaultLeaseTTL": "1h"}},
        {"configuration": {"allowAuditLogPrefixing": True}},
        {"configuration": {"raft": {"performanceMultiplier": 5}}},
        {"configuration": {"listener": {"tlsMinVersion": "tls13"}}},
        {"telemetry": {"metricsPrefix": "x"}},
        {"plugins": [PLUGIN]},
        {"plugins": [SEAL_PLUGIN]},
        {"observability": {"metrics": {"enabled": True}}},
    ],
)
def test_other_settings_need_a_restart(spec: dict[str, Any]) -> None:
    assert restart_text(config(**spec)) != restart_text(config())


def test_only_a_plugin_of_the_seal_needs_a_restart() -> None:
    config_input = config(plugins=[PLUGIN])
    two = config(plugins=[PLUGIN, {**PLUGIN, "name": "q"}])
    assert restart_text(config_input) == restart_text(two)
    seal = config(plugins=[PLUGIN, SEAL_PLUGIN])
    assert restart_text(config_input) != restart_text(seal)


@pytest.mark.parametrize("case", CASES)
def test_the_restart_text_is_a_part_of_the_configuration(case: str) -> None:
    config_input = read_case(case)
    whole, part = parse(render_config(config_input)), parse(restart_text(config_input))
    (storage,) = whole["storage"]
    interval = storage["raft"].pop("autopilot_reconcile_interval")
    assert interval == AUTOPILOT_RECONCILE_INTERVAL
    assert {key: whole[key] for key in part if key != "plugin"} == {
        key: value for key, value in part.items() if key != "plugin"
    }
    assert set(whole) - set(part) <= {*RELOADED_SETTINGS, "audit", "plugin"}


def test_a_new_revision_joins_the_servers_of_the_old_one() -> None:
    base = ConfigInput("c", "ns")
    green = replace(base, join=Join(revision="0123456789abcdef", non_voter=True))
    (storage,) = parse(render_config(green))["storage"]
    joins = storage["raft"]["retry_join"]
    assert [join.pop("leader_api_addr") for join in joins] == [
        f"https://c-0123456789abcdef-{ordinal}.c.ns.svc:8200" for ordinal in range(3)
    ]
    (plain,) = parse(render_config(base))["storage"]
    # The certificate of either pool is checked in the same way.
    assert joins[0] == {
        key: value
        for key, value in plain["raft"]["retry_join"][0].items()
        if key != "leader_api_addr"
    }
    assert storage["raft"]["retry_join_as_non_voter"] is True


def test_a_user_cannot_choose_a_key_of_a_stanza() -> None:
    """At the level of a stanza, every key is one that the server defines."""
    device = Stanza("file", "f", {'x" = "y': "z"})
    with pytest.raises(ValueError, match="not a key"):
        render_config(ConfigInput("c", "ns", audits=(device,)))


def test_an_absent_attribute_is_not_rendered() -> None:
    template = environment().from_string("{{ values | attributes(2) }}\n")
    text = template.render(values={"a": 1, "long_key": None, "bc": "x"})
    assert text == '  a  = 1\n  bc = "x"\n'


def test_the_golden_cases_cover_every_stanza() -> None:
    text = "".join((GOLDEN / case / "config.hcl").read_text(encoding="utf-8") for case in CASES)
    for stanza in ("listener", "seal", "storage", "service_registration", "audit", "plugin"):
        assert f'\n{stanza} "' in text
    assert "\ntelemetry {" in text
    assert len(CASES) >= 20
