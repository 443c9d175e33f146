"""How much memory there is for the data of a rig."""

from e2e.rig.memory import ROOM, available

MEMINFO = """\
MemTotal:       24684300 kB
MemFree:          129000 kB
MemAvailable:    8388608 kB
HugePages_Total:       0
"""


def test_what_can_be_used_is_told_in_bytes() -> None:
    assert available(MEMINFO) == ROOM
