"""managers.cluster.status.schema_condition: the fields by name, and the command."""

from managers.cluster.status.schema_condition import SHOWN, schema_outdated


def test_an_api_server_with_all_fields_gets_no_condition() -> None:
    assert schema_outdated(()) is None


def test_the_message_names_fields_and_counts_the_rest() -> None:
    lacking = tuple(f"OpenBaoCluster.status.f{number}" for number in range(SHOWN + 2))
    update = schema_outdated(lacking)
    assert update is not None
    assert (update.type, update.status, update.reason) == (
        "SchemaOutdated",
        "True",
        "SchemaOutdated",
    )
    assert "OpenBaoCluster.status.f0, " in update.message
    assert " and 2 more. Apply" in update.message
    assert lacking[-1] not in update.message
