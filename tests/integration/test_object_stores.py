"""The object stores of the scenarios: the harness reads what a client wrote."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from e2e.harness.object_access import StoreError
from e2e.harness.stores import ServerHost, Store, azure_store, gcs_store, s3_store
from tests.integration.bao_server import free_port

Make = Callable[..., AbstractContextManager[Store]]
MAKE: "dict[str, Make]" = {"s3": s3_store, "gcs": gcs_store, "azure": azure_store}


@pytest.fixture(scope="module", params=MAKE)
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp(request.param)
    with MAKE[request.param](ServerHost.loopback(), folder, port=free_port()) as server:
        yield server


def test_objects_are_written_listed_read_and_deleted(store: Store) -> None:
    content = hashlib.sha256(b"seed").digest() * 10_000
    names = ["team/a b+c.snap", "team/a b+c.snap.json", "teams/other.snap"]
    for name in names:
        store.write(name, content + name.encode())
    assert store.keys("team/") == names[:2]
    assert store.keys() == names
    assert store.read(names[0]) == content + names[0].encode()
    assert store.pending() == []
    for name in names:
        store.delete(name)
    assert store.keys() == []
    with pytest.raises(StoreError) as missing:
        store.read(names[0])
    assert missing.value.status == 404
