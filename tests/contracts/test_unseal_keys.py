"""contracts.unseal_keys: which key of the operator's own a file holds, whoever wrote its name."""

import pytest

from contracts.unseal_keys import KeyRing, UnsealKey, generated_file

# sentence: (file, generation)
FILES = {
    "the first one": ("key", 1),
    "a later one": ("key-7", 7),
    "the last one that is counted": ("key-999", 999),
    "a date in the name of a file that the user brought": ("key-20300101", 1),
    "a number that somebody wrote to be waited for": ("key-" + "9" * 5000, 1),
    "no number of ours": ("key-007", 1),
}


@pytest.mark.parametrize(("file", "generation"), FILES.values(), ids=FILES.keys())
def test_a_file_tells_which_key_it_holds(file: str, generation: int) -> None:
    ring = KeyRing.parse(f"a={file}")
    assert ring is not None
    assert ring.current.generation == generation


def test_what_is_drawn_is_counted() -> None:
    assert [UnsealKey("a", generated_file(n)).generation for n in (1, 2, 40)] == [1, 2, 40]
