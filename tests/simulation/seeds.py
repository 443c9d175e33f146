"""Which seeds run, and how one of them is run again."""

import os


def chunks(count: int, size: int) -> list[range]:
    """The seeds in chunks of which each is a test.

    SIMULATION_SEED=1234 chooses one, SIMULATION_SEED=5000:9000 others than the usual ones.
    """
    first, colon, end = os.environ.get("SIMULATION_SEED", f"0:{count}").partition(":")
    seeds = range(int(first), int(end) if colon else int(first) + 1)
    return [seeds[at : at + size] for at in range(0, len(seeds), size)]


def name_of(seeds: range) -> str:
    """The name of a chunk: its first and its last seed."""
    return f"{seeds.start}-{seeds.stop - 1}"
