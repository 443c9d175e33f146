"""The available memory for the data of a rig."""

from e2e.rig.memory import ROOM, available

MEMINFO = """\
MemTotal:       24684300 kB
MemFree:          129000 kB
MemAvailable:    8388608 kB
HugePages_Total:       0
"""


def test_available_memory_is_in_bytes() -> None:
    assert available(MEMINFO) == ROOM
