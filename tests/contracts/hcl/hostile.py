"""A spec with text of a user in every field, and a thousand hostile texts.

The texts are put into the record that is rendered, without the schema: the rendering must not
depend on another check.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from contracts.api.cluster.self_init import SelfInitRequest
from contracts.hcl.render import ConfigInput
from contracts.hcl.seals import SealStanza
from contracts.hcl.stanzas import Stanza
from tests.contracts.api.clusters import cluster
from tests.contracts.hcl.nasty import NASTY

COUNT = 1000
_PIECES = (
    '"', "'", "\\", "\n", "\r", "\t", "${", "$${", "%{", "}", "{", "<<EOF\n", "<<-X\n", "EOF\n",
    "#", "//", "/*", "*/", "=", ";", "$(id)", "`id`", "\u201c", "\u2028", "\ue123", "\x01",
    "\x7f", "\U0001f600", "HOSTNAME", 'seal "x" {}', 'api_addr = "https://evil"', "\nlistener",
    "true", "null", "[", "]", ",", "\\u0024", " ",
)  # fmt: skip


def texts() -> list[str]:
    """The corpus: always the same, each text once."""
    draw = random.Random(2)
    texts = dict.fromkeys(text for text in NASTY if text)
    while len(texts) < COUNT:
        texts["".join(draw.choices(_PIECES, k=draw.randint(1, 8)))] = None
    return list(texts)


_MARK = re.compile(r"@[a-z ]+@")


def fill(value: Any, text: str) -> Any:
    """The value with every marker in it, in keys and in texts, replaced by a text."""
    if isinstance(value, str):
        return _MARK.sub(lambda _: text, value)
    if isinstance(value, Mapping):
        return {fill(key, text): fill(item, text) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(fill(item, text) for item in value)
    if isinstance(value, SelfInitRequest):
        return value.model_copy(update={name: fill(item, text) for name, item in value})
    if is_dataclass(value) and not isinstance(value, type):
        parts = {part.name: fill(getattr(value, part.name), text) for part in fields(value)}
        return replace(value, **parts)
    return value


def marked_input() -> ConfigInput:
    """Every place for text, with a marker of its own."""
    spec = cluster(
        configuration={"logging": {"file": "@log@", "pidFile": "@pid@"}},
        audit=[
            {
                "type": "file",
                "path": "a",
                "description": "@description@",
                "fileOptions": {"filePath": "@file@"},
                "options": {"prefix": "@prefix@", "@option@": "@value@"},
            },
            {"type": "http", "path": "b", "httpOptions": {"uri": "@uri@"}},
            {
                "type": "syslog",
                "path": "c",
                "syslogOptions": {"facility": "@facility@", "tag": "@tag@"},
            },
            {
                "type": "socket",
                "path": "d",
                "socketOptions": {"address": "@address@", "socketType": "@socket@"},
            },
        ],
        plugins=[
            {
                "type": "secret",
                "name": "p",
                "command": "@command@",
                "version": "@version@",
                "binaryName": "@binary@",
                "args": ["@argument@"],
                "env": ["A=@environment@"],
            }
        ],
        telemetry={
            "metricsPrefix": "@metrics@",
            "statsdAddress": "@statsd@",
            "dogStatsdTags": ["@dogstatsd@"],
            "circonusAPIKey": "@circonus@",
        },
    )
    config_input = ConfigInput.of(spec, None)
    request = SelfInitRequest(name="r", operation="update", path="p", data={})
    fields_of_request = {
        "name": "@block@",
        "operation": "@operation@",
        "path": "@request@",
        "data": {"@name@": {"@inner@": ["@item@", {"a": "@leaf@"}]}},
    }
    return replace(
        config_input,
        settings={**config_input.settings, "log_level": "@level@", "max_lease_ttl": "@lease@"},
        listener={"proxy_protocol_behavior": "@proxy@", "tls_min_version": "@minimum@"},
        listener_tls={"tls_acme_email": "@email@", "tls_acme_domains": ["@domain@"]},
        join_tls={"leader_tls_servername": "@server@"},
        seal=SealStanza("@seal@", {"key_name": "@key@", "token": "@token@"}),
        audits=(*config_input.audits, Stanza("@type@", "@device@", {"options": {"a": "@inside@"}})),
        requests=(request.model_copy(update=fields_of_request),),
    )


def marks(value: Any) -> list[str]:
    """Every marker of a tree that was read back, in keys and leaves."""
    if isinstance(value, str):
        return _MARK.findall(value)
    if isinstance(value, Mapping):
        return [mark for pair in value.items() for part in pair for mark in marks(part)]
    if isinstance(value, list | tuple):
        return [mark for item in value for mark in marks(item)]
    return []
