"""config.hcl and the self-init document: golden files, and hostile text in every place."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError

from contracts.api.cluster.self_init import SelfInitRequest
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.hcl.environment import environment
from contracts.hcl.render import ConfigInput, render_config, render_self_init
from contracts.hcl.seals import SealStanza
from contracts.hcl.stanzas import Stanza
from tests.contracts.hcl.golden_cases import CASES, GOLDEN, KEYS, read_case
from tests.contracts.hcl.nasty import NASTY
from tests.contracts.hcl.parse_back import parse
from tests.contracts.hcl_texts import VALUE


def documents(config: ConfigInput) -> dict[str, str]:
    return {"config.hcl": render_config(config), "self-init.hcl": render_self_init(config)}


@pytest.mark.parametrize("case", CASES)
def test_the_documents_match_the_golden_files(case: str) -> None:
    """UPDATE_GOLDEN=1 writes them anew; read the difference before it is committed."""
    for name, text in documents(read_case(case)).items():
        file = GOLDEN / case / name
        if os.environ.get("UPDATE_GOLDEN"):
            file.write_text(text, encoding="utf-8")
        assert file.read_text(encoding="utf-8") == text


def test_the_order_of_keys_does_not_change_the_documents() -> None:
    config = read_case("quickstart")
    assert config.oidc is not None
    turned = replace(config, oidc=replace(config.oidc, public_keys=KEYS[::-1]))
    assert documents(turned) == documents(config)


def test_the_configuration_contains_no_settings_of_a_single_pod() -> None:
    (storage,) = parse(render_config(read_case("quickstart")))["storage"]
    assert "node_id" not in storage["raft"]
    text = render_config(read_case("quickstart"))
    assert not any(word in text for word in ("\napi_addr", "\ncluster_addr", "HOSTNAME", "POD_IP"))


def test_replicas_change_no_byte_of_the_configuration() -> None:
    obj = yaml.safe_load((GOLDEN / "quickstart" / "cluster.yaml").read_text(encoding="utf-8"))
    obj["spec"]["replicas"] = 5
    config = ConfigInput.of(OpenBaoCluster.from_object(obj), None)
    assert render_config(config) == render_config(read_case("quickstart"))


def test_joining_servers_get_addresses_and_a_ca() -> None:
    (storage,) = parse(render_config(ConfigInput("c", "ns")))["storage"]
    joins = storage["raft"]["retry_join"]
    assert [join["leader_api_addr"] for join in joins] == [
        f"https://c-{ordinal}.c.ns.svc:8200" for ordinal in range(3)
    ]
    assert {join["leader_tls_servername"] for join in joins} == {"openbao-cluster-c.local"}
    assert {join["leader_ca_cert_file"] for join in joins} == {"/etc/bao/tls/ca.crt"}


def test_without_requests_there_is_no_document() -> None:
    assert render_self_init(ConfigInput("c", "ns")) == ""


def test_requests_of_disabled_self_init_are_not_rendered() -> None:
    obj = yaml.safe_load((GOLDEN / "quickstart" / "cluster.yaml").read_text(encoding="utf-8"))
    obj["spec"]["selfInit"] = {**obj["spec"]["selfInit"], "enabled": False, "oidc": None}
    config = ConfigInput.of(OpenBaoCluster.from_object(obj), None)
    assert list(_requests(render_self_init(config))) == [
        "configure-autopilot/configure-autopilot-request",
        "operator-root-token/register-root-token",
    ]


def test_the_root_token_is_in_no_document() -> None:
    """The server reads it from the file of a Secret."""
    call = _requests(render_self_init(read_case("root-token")))[
        "operator-root-token/register-root-token"
    ]
    assert call["data"]["id"] == {
        "eval_type": "string",
        "eval_source": "file",
        "path": "/etc/bao/root-token/token",
    }


def _requests(document: str) -> dict[str, Any]:
    """The requests of the document by "block/request", in order."""
    return {
        f"{name}/{title}": request
        for block in parse(document)["initialize"]
        for name, body in block.items()
        for part in body["request"]
        for title, request in part.items()
    }


def _config_with(data: dict[str, Any]) -> ConfigInput:
    request = SelfInitRequest(name="r", operation="update", path="kv/x", data=data)
    return ConfigInput("c", "ns", requests=(request,))


@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text[:20]))
def test_text_of_a_user_is_only_a_value_in_the_self_init_document(text: str) -> None:
    requests = _requests(render_self_init(_config_with({"key": text, f"k{text}": "v"})))
    assert requests == {
        "r/r-request": {
            "operation": "update",
            "path": "kv/x",
            "data": {"key": text, f"k{text}": "v"},
        }
    }


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text("ab${}\"'\\", max_size=4), VALUE, max_size=3))
def test_data_of_a_user_survives_a_round_trip(data: dict[str, Any]) -> None:
    (request,) = _requests(render_self_init(_config_with(data))).values()
    assert request["data"] == data


@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text[:20]))
def test_no_field_of_the_configuration_can_add_another(text: str) -> None:
    """The schema bounds these fields; the rendering does not rely on it."""
    plain = parse(render_config(_everything("x")))
    hostile = parse(render_config(_everything(text)))
    assert _replace(plain, "x", text) == hostile


def _everything(text: str) -> ConfigInput:
    return ConfigInput(
        cluster="c",
        namespace="ns",
        settings={"log_level": text, "default_lease_ttl": text},
        listener={"proxy_protocol_behavior": text},
        seal=SealStanza("static", {"current_key": text, "current_key_id": text}),
        audits=(Stanza("file", "x", {"options": {"file_path": text}}),),
        telemetry={"metrics_prefix": text, "dogstatsd_tags": [text]},
    )


def _replace(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _replace(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, old, new) for item in value]
    return new if value == old else value


def test_a_template_fails_on_a_missing_value() -> None:
    template = environment().from_string("a = {{ nothing }}")
    with pytest.raises(UndefinedError):
        template.render()


def test_templates_quote_every_value() -> None:
    template = environment().from_string('a = {{ x }}\nb = {{ "p/" ~ x }}\nc = {{ {"k": x} }}\n')
    config = parse(template.render(x='"} evil = "${y}'))
    text = '"} evil = "${y}'
    assert config == {"a": text, "b": f"p/{text}", "c": {"k": text}}


def test_the_quickstart_case_is_the_sample() -> None:
    sample = Path(__file__).parents[3] / "config" / "samples" / "quickstart.yaml"
    *_, cluster = yaml.safe_load_all(sample.read_text(encoding="utf-8"))
    case = yaml.safe_load((GOLDEN / "quickstart" / "cluster.yaml").read_text(encoding="utf-8"))
    assert case == cluster
