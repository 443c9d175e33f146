"""baoctl.commands.bundle.contents and archive: files, manifest and bytes of a support archive."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import tarfile
from pathlib import Path

import pytest

from baoctl.commands.bundle import contents
from baoctl.commands.bundle.archive import archive_bytes, write_archive
from baoctl.commands.bundle.bundle import without_secrets
from baoctl.commands.bundle.contents import Bundle, Collected, MissingPart, bundle_of, manifest
from baoctl.exit_codes import VerbError
from runtime.types import Object

TOKEN = "hvs." + 24 * "A"


def config_map(**data: str) -> Object:
    return {"kind": "ConfigMap", "metadata": {"name": "first-config"}, "data": data}


def cluster() -> Object:
    annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": '{"x": 1}',
        "example.com/team": "a",
    }
    metadata = {"name": "first", "annotations": annotations, "managedFields": [{"manager": "x"}]}
    return {"kind": "OpenBaoCluster", "metadata": metadata, "spec": {}}


def test_objects_are_stored_without_duplicate_data() -> None:
    bundle = bundle_of(Collected(cluster(), (config_map(**{"config.hcl": "ui = true\n"}),)))
    assert list(bundle.files) == sorted(bundle.files)
    live = json.loads(bundle.files["cluster.json"])
    assert live["metadata"] == {"name": "first", "annotations": {"example.com/team": "a"}}
    assert bundle.files["configmaps/first-config/config.hcl"] == "ui = true\n"
    shape = json.loads(bundle.files["objects/configmap/first-config.json"])
    assert shape["data"] == {"config.hcl": 10}


def test_a_secret_is_stored_without_data_and_annotation_values() -> None:
    secret = {
        "kind": "Secret",
        "data": {"token": "aHZz"},
        "metadata": {"name": "first-root-token", "annotations": {"a": "in-an-annotation"}},
    }
    text = bundle_of(Collected(cluster(), secrets=(secret,))).files["secrets.json"]
    assert json.loads(text) == [{"metadata": {"name": "first-root-token"}, "annotations": ["a"]}]


def test_a_file_name_cannot_leave_the_archive() -> None:
    bundle = bundle_of(Collected(cluster(), logs={"../../etc/passwd": "x"}, reports={"..": "y"}))
    outside = [name for name in bundle.files if ".." in name.split("/") or name.startswith("/")]
    assert outside == []
    assert {"x", "y"} <= set(bundle.files.values())


def test_a_file_beyond_the_size_limit_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "FILES_MAX", 1000)
    bundle = bundle_of(Collected(cluster(), logs={"first-0.openbao": 2000 * "x"}))
    assert "logs/first-0.openbao.log" not in bundle.files
    assert [part.part for part in bundle.unread] == ["logs/first-0.openbao.log"]


def test_the_manifest_lists_files_and_missing_parts() -> None:
    bundle = Bundle({"b": "x\n", "a": "é"}, (MissingPart("events", f"denied\nfor {TOKEN}"),))
    document = json.loads(manifest(bundle, "2026-11-26T12:00:00Z", "1.2.3"))
    assert [file["name"] for file in document["files"]] == ["a", "b"]
    assert document["files"][0] == {
        "name": "a", "bytes": 2, "sha256": hashlib.sha256("é".encode()).hexdigest(),
    }  # fmt: skip
    assert document["unread"] == [{"what": "events", "why": "denied\\nfor [redacted]"}]


def test_many_secrets_are_counted() -> None:
    bundle = Bundle({f"log{number}": TOKEN for number in range(9)})
    with pytest.raises(VerbError, match=r"9 secrets.*and 4 more"):
        without_secrets(bundle, redact=False)


def test_an_archive_is_reproducible() -> None:
    one = archive_bytes({"b": "2", "a": "1"}, "first")
    assert one == archive_bytes({"a": "1", "b": "2"}, "first")
    with tarfile.open(fileobj=io.BytesIO(one)) as tar:
        assert tar.getnames() == ["first/a", "first/b"]
        assert {(entry.mode, entry.mtime, entry.uid) for entry in tar} == {(0o600, 0, 0)}


class TestFile:
    def test_only_the_owner_may_read_the_archive(self, tmp_path: Path) -> None:
        target = tmp_path / "x.tar.gz"
        write_archive(target, b"1", force=False)
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert [path.name for path in tmp_path.iterdir()] == ["x.tar.gz"]

    def test_an_existing_file_is_replaced_only_with_force(self, tmp_path: Path) -> None:
        target = tmp_path / "x.tar.gz"
        target.write_bytes(b"mine")
        with pytest.raises(FileExistsError):
            write_archive(target, b"1", force=False)
        assert target.read_bytes() == b"mine"
        write_archive(target, b"2", force=True)
        assert target.read_bytes() == b"2"
        assert [path.name for path in tmp_path.iterdir()] == ["x.tar.gz"]
