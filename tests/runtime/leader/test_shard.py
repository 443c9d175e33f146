"""The shard of an object."""

from collections import Counter

import pytest

from runtime.leader.shard import SHARDS_MAX, Shard, count_of_group, group_identity, shard_of
from runtime.types import ObjectKey

GOLDEN = {
    # key: (of 2, of 3, of 16). A change of these would move objects to other processes during an
    # update of the operator, while processes of both releases run.
    ObjectKey("team-a", "prod"): (0, 2, 6),
    ObjectKey("team-a", "test"): (1, 1, 11),
    ObjectKey("team-b", "prod"): (1, 2, 3),
    ObjectKey("", "datacenter"): (0, 2, 12),
}


@pytest.mark.parametrize("key", GOLDEN, ids=str)
def test_the_shard_of_a_key_never_changes(key: ObjectKey) -> None:
    assert tuple(shard_of(key, count) for count in (2, 3, 16)) == GOLDEN[key]


@pytest.mark.parametrize("count", [2, 3, 7, SHARDS_MAX])
def test_objects_spread_evenly(count: int) -> None:
    """With typical names: numbered namespaces with one name in each, or the reverse."""
    total = 10_000
    for keys in (
        (ObjectKey(f"team-{number}", "openbao") for number in range(total)),
        (ObjectKey("openbao", f"cluster-{number}") for number in range(total)),
    ):
        sizes = Counter(shard_of(key, count) for key in keys)
        # Five standard deviations of a uniform distribution.
        even, spread = total / count, 5 * (total / count) ** 0.5
        assert set(sizes) == set(range(count))
        assert all(abs(size - even) < spread for size in sizes.values()), sizes


def test_each_object_has_exactly_one_owner() -> None:
    for count in range(1, SHARDS_MAX + 1):
        shards = [Shard(index, count) for index in range(count)]
        for number in range(100):
            key = ObjectKey("ns", f"cluster-{number}")
            assert sum(shard.owns(key) for shard in shards) == 1


def test_without_shards_one_process_owns_everything() -> None:
    assert Shard().is_only
    assert all(Shard().owns(ObjectKey("ns", str(number))) for number in range(100))


def test_a_shard_is_formatted_as_it_is_parsed() -> None:
    assert Shard.parse("0/1") == Shard()
    for text in ("0/2", "1/2", f"{SHARDS_MAX - 1}/{SHARDS_MAX}"):
        assert str(Shard.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "1", "/", "1/", "/2", "2/2", "3/2", "0/0", "-1/2", "1/-2", "a/b", "0/17", "1 /2", "0/2/3",
     "\u0660/\u0662", "000/2", "0/1e1"],
)  # fmt: skip
def test_an_invalid_shard_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="no shard"):
        Shard.parse(text)


def test_the_holder_of_the_shared_lease_has_the_number_of_shards() -> None:
    for count in range(2, SHARDS_MAX + 1):
        assert count_of_group(group_identity(count)) == count


@pytest.mark.parametrize(
    "holder",
    ["", "openbao-operator-5f7_a0", "shards", "0 shards", "-2 shards", "2 shards\n", "222 shards"],
)
def test_any_other_holder_is_a_process(holder: str) -> None:
    assert count_of_group(holder) == 1
