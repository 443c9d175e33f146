"""contracts.unseal_keys: the generation of a key, by the name of its file."""

import pytest

from contracts.unseal_keys import KeyRing, UnsealKey, generated_file

# sentence: (file, generation)
FILES = {
    "the first one": ("key", 1),
    "a later one": ("key-7", 7),
    "the highest generation": ("key-999", 999),
    "a date in the file name of a supplied key": ("key-20300101", 1),
    "a very long number": ("key-" + "9" * 5000, 1),
    "a number with leading zeros": ("key-007", 1),
}


@pytest.mark.parametrize(("file", "generation"), FILES.values(), ids=FILES.keys())
def test_the_file_name_gives_the_generation_of_the_key(file: str, generation: int) -> None:
    ring = KeyRing.parse(f"a={file}")
    assert ring is not None
    assert ring.current.generation == generation


def test_generated_keys_are_numbered() -> None:
    assert [UnsealKey("a", generated_file(n)).generation for n in (1, 2, 40)] == [1, 2, 40]
