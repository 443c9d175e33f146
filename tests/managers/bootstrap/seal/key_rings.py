"""Worlds with one key and with two."""

from __future__ import annotations

from tests import gen

OLD, NEW = "operator-generated-v1", "two"
RING_OLD, RING_NEW = f"{OLD}=key", f"{NEW}=key-2"
FIRST = gen.secret("x-unseal-key", key_id=OLD)


def world(template: str, *pods: str, rewrapped: str = "", ready: bool = True) -> gen.World:
    """A set of that template, and pods of those rows; pod 0 leads and bears the mark."""
    made = []
    for number, ring in enumerate(pods):
        one = gen.pod(number).knowing(ring, rewrapped if number == 0 else "")
        made.append(one.ready(leading=number == 0) if ready or number else one.unready())
    live = gen.stateful_set().sized(len(pods)).knowing(template)
    return gen.world().with_set(live).with_pods(*made)
