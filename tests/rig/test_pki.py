"""Certificates: each is signed by the CA, and has its user and its addresses."""

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from e2e.rig.pki import Subject, make

SUBJECTS = {
    "server": Subject("kube-apiserver", (), ("10.0.0.1", "kubernetes.default")),
    "admin": Subject("admin", ("system:masters",)),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "pki"
    make(folder, SUBJECTS)
    return folder


def _load(folder: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes())


@pytest.mark.parametrize("name", SUBJECTS)
def test_certificates_are_signed_by_the_ca(folder: Path, name: str) -> None:
    certificate = _load(folder, name)
    certificate.verify_directly_issued_by(_load(folder, "ca"))
    subject = SUBJECTS[name]
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [attribute.value for attribute in names] == [subject.user]
    assert tuple(group.value for group in groups) == subject.groups


def test_subject_alternative_names_are_ip_addresses_or_dns_names(folder: Path) -> None:
    extension = _load(folder, "server").extensions
    names = extension.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["kubernetes.default"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1"]


def test_existing_files_are_kept(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    make(folder, SUBJECTS)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert set(before) == {
        "ca.crt", "ca.key", "sa.key", "sa.pub",
        "server.crt", "server.key", "admin.crt", "admin.key",
    }  # fmt: skip
    assert [path.name for path in folder.parent.iterdir()] == ["pki"]
