"""Volume claims that users name, read by name: no cache has them, for want of our label."""

from __future__ import annotations

from managers.context.reads.ttl_getter import TtlGetter
from runtime.builtin_kinds import PVC
from runtime.client.client import Client
from runtime.clock import Clock


class NamedPvcs(TtlGetter):
    """Claims, at most `max_age` seconds old; a missing one is read each time."""

    def __init__(self, client: Client, clock: Clock, max_age: float) -> None:
        super().__init__(client, clock, PVC, max_age)
