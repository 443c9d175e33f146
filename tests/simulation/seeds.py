"""The seeds of the simulations, and their selection by the environment."""

import os


def chunks(count: int, size: int) -> list[range]:
    """The seeds in chunks, one test each.

    SIMULATION_SEED=1234 selects one, SIMULATION_SEED=5000:9000 a range.
    """
    first, colon, end = os.environ.get("SIMULATION_SEED", f"0:{count}").partition(":")
    seeds = range(int(first), int(end) if colon else int(first) + 1)
    return [seeds[at : at + size] for at in range(0, len(seeds), size)]


def name_of(seeds: range) -> str:
    """The name of a chunk: its first and its last seed."""
    return f"{seeds.start}-{seeds.stop - 1}"
