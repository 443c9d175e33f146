"""runtime.codec: what counts as an event, the kind of partial objects, bodies read as YAML."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codec import decode_event, encode, encode_apply
from runtime.errors import TransportError
from runtime.resources import CONFIG_MAP
from runtime.testing.scripted import event


@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b'{"type":"ADDED"}\n',
        b'{"type":1,"object":{}}\n',
        b'{"type":"ADDED","object":[]}\n',
        b"[]\n",
        b'{"type":"ADDED","object":{"a":"\xff"}}\n',
    ],
)
def test_a_line_that_is_no_event_is_a_torn_stream(line: bytes) -> None:
    with pytest.raises(TransportError, match="not an event"):
        decode_event(line, CONFIG_MAP)


def test_a_watched_partial_object_gets_its_own_kind_back() -> None:
    partial = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {}}
    kind, obj = decode_event(event("ADDED", partial), CONFIG_MAP)
    assert (kind, obj["apiVersion"], obj["kind"]) == ("ADDED", "v1", "ConfigMap")


def test_a_status_stays_a_status() -> None:
    kind, obj = decode_event(event("ERROR", {"kind": "Status", "code": 410}), CONFIG_MAP)
    assert (kind, obj["kind"]) == ("ERROR", "Status")


ALLOWED_IN_YAML = "\t\n\r\xa0\u2027\u202a\ufefe\uff00\U0001f600\U0010ffff"


@pytest.mark.parametrize("char", "\x7f\x80\x85\x9f\u2028\u2029\ufeff\ufffe\uffff")
def test_what_yaml_would_change_or_refuse_is_escaped(char: str) -> None:
    body = {"a": f"x{char}y"}
    assert encode_apply(body) == b'{"a":"x\\u%04xy"}' % ord(char)


def test_everything_else_is_left_as_it_is() -> None:
    body = {"a": ALLOWED_IN_YAML}
    assert encode_apply(body) == encode(body)


@given(st.text())
def test_an_apply_body_is_the_same_json(text: str) -> None:
    body = {"a": {text: [text]}}
    assert orjson.loads(encode_apply(body)) == body
