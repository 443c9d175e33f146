"""A pod that an action is about, and a server that has it."""

from contracts.records.effects import ReplacePod
from runtime.builtin_kinds import POD
from tests import gen
from tests.gen.api import FakeApi, Outside

MEANT = gen.resolved(gen.cluster())
EFFECT = ReplacePod("x-2", "uid-x-2")


def outside() -> Outside:
    return Outside(FakeApi().with_objects((POD, gen.pod(2).object())))
