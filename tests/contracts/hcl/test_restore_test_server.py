"""config.hcl of the server of a restore test: only the seal is that of the cluster."""

import pytest

from contracts.api.cluster.plugins import Plugin
from contracts.api.cluster.seal import Unseal
from contracts.hcl.render import ConfigInput, render_config
from contracts.hcl.restore_test_server import is_local_seal, restore_test_config, seal_type
from contracts.hcl.seals import SealStanza, seal_stanza
from contracts.hcl.stanzas import plugin_stanzas
from tests.contracts.hcl.parse_back import parse

TRANSIT: dict[str, object] = {
    "type": "transit",
    "transit": {"address": "https://kms.example.com", "keyName": "k", "mountPath": "transit"},
}


def running(unseal: dict[str, object] | None = None) -> ConfigInput:
    seal = seal_stanza(Unseal.model_validate(unseal or {}))
    return ConfigInput("c", "ns", seal=seal, telemetry={"disable_hostname": True})


@pytest.mark.parametrize("unseal", [None, TRANSIT], ids=["static", "transit"])
def test_the_seal_is_that_of_the_servers(unseal: dict[str, object] | None) -> None:
    text = render_config(running(unseal))
    assert parse(restore_test_config(text))["seal"] == parse(text)["seal"]


def test_the_listener_is_bound_to_the_loopback() -> None:
    (listener,) = parse(restore_test_config(render_config(running())))["listener"]
    tcp = listener["tcp"]
    assert tcp["address"] == "127.0.0.1:8200"
    assert tcp["cluster_address"] == "127.0.0.1:8201"
    assert tcp["tls_disable"] is True


def test_the_server_joins_no_cluster_and_has_no_telemetry() -> None:
    config = parse(restore_test_config(render_config(running())))
    (storage,) = config["storage"]
    raft = storage["raft"]
    assert sorted(raft) == ["node_id", "path", "performance_multiplier"]
    assert not {"audit", "telemetry", "service_registration", "initialize"} & config.keys()


def test_text_of_a_user_stays_within_its_block() -> None:
    """A key name cannot close the block of the seal and open another one."""
    evil = 'x"\n}\nlistener "tcp" {\n  address = "[::]:8200"'
    seal = seal_stanza(Unseal.model_validate(TRANSIT))
    hostile = SealStanza(seal.type, {**seal.attributes, "key_name": evil})
    config = parse(restore_test_config(render_config(ConfigInput("c", "ns", seal=hostile))))
    assert len(config["listener"]) == 1
    assert config["seal"][0]["transit"]["key_name"] == evil


def test_only_the_plugin_of_the_seal_is_kept() -> None:
    plugins = plugin_stanzas(
        tuple(
            Plugin.model_validate({"type": kind, "name": name, "command": "c"})
            for kind, name in (("kms", "mine"), ("secret", "other"))
        )
    )
    text = render_config(ConfigInput("c", "ns", plugins=plugins))
    config = parse(restore_test_config(text))
    assert [sorted(item) for item in config["plugin"]] == [["kms"]]
    assert config["plugin_directory"] == parse(text)["plugin_directory"]


def test_only_a_static_seal_is_local() -> None:
    assert is_local_seal(render_config(running()))
    assert not is_local_seal(render_config(running(TRANSIT)))
    assert seal_type(render_config(running(TRANSIT))) == "transit"


def test_a_configuration_without_a_seal_is_refused() -> None:
    with pytest.raises(ValueError, match="no seal"):
        restore_test_config("ui = true\n")
