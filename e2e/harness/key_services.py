"""Key services that seals of OpenBao servers use: the KMS of moto, and a PyKMIP server.

Both serve TLS with a CA of their own. PyKMIP requires client certificates of that CA; moto accepts
every credential (docs/limits.md).
"""

import json
import os
import ssl
import subprocess
import textwrap
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.harness.stores import ServerHost, run_server
from e2e.harness.waiting import until
from e2e.rig import pki, stores

KMS_PORT, KMIP_PORT = 9030, 5696
_SERVER_NAME = "kmip"
_UP_SECONDS = 60.0
_CREATE_KEY = """
    import sys
    from kmip import enums
    from kmip.pie.client import ProxyKmipClient

    address, port, folder = sys.argv[1:]
    files = {name: f"{folder}/{file}" for name, file in
             {"cert": "client.crt", "key": "client.key", "ca": "ca.crt"}.items()}
    usage = [enums.CryptographicUsageMask.ENCRYPT, enums.CryptographicUsageMask.DECRYPT]
    with ProxyKmipClient(hostname=address, port=int(port), **files) as client:
        key = client.create(enums.CryptographicAlgorithm.AES, 256, cryptographic_usage_mask=usage)
        client.activate(key)
        print(key)
"""


@dataclass(frozen=True, slots=True)
class KmsKey:
    """A key of the KMS."""

    endpoint: str
    key: str
    folder: Path

    def block(self) -> dict[str, Any]:
        """Return spec.unseal.awskms."""
        return {"region": "eu-central-1", "kmsKeyID": self.key, "endpoint": self.endpoint}

    def files(self) -> dict[str, bytes]:
        """Return the entries of the Secret with the credentials of a client."""
        return {
            "AWS_ACCESS_KEY_ID": b"openbao",
            "AWS_SECRET_ACCESS_KEY": b"not verified",
            "ca.crt": (self.folder / "pki" / "ca.crt").read_bytes(),
        }

    def calls(self) -> int:
        """Count the requests since the start, the creation of the key included."""
        return (self.folder / "kms.log").read_text(errors="replace").count('"POST / HTTP')


@dataclass(frozen=True, slots=True)
class KmipKey:
    """A key of the KMIP server, and the folder with the files of its clients."""

    endpoint: str
    key: str
    folder: Path

    def block(self, credentials: str) -> dict[str, Any]:
        """Return spec.unseal.kmip, with the folder where the servers have the files."""
        return {
            "endpoint": self.endpoint,
            "kmsKeyID": self.key,
            "clientCert": f"{credentials}/tls.crt",
            "clientKey": f"{credentials}/tls.key",
            "caCert": f"{credentials}/ca.crt",
            "serverName": _SERVER_NAME,
            "encryptAlg": "AES_GCM",
        }

    def files(self) -> dict[str, bytes]:
        """Return the entries of the Secret with the credentials of a client."""
        folder = self.folder / "pki"
        names = {"tls.crt": "client.crt", "tls.key": "client.key", "ca.crt": "ca.crt"}
        return {entry: (folder / file).read_bytes() for entry, file in names.items()}

    def foreign_files(self) -> dict[str, bytes]:
        """Return the same with a client certificate of another CA."""
        other = self.folder / "other-pki"
        pki.make(other, {"client": pki.Subject("openbao")})
        names = {"tls.crt": "client.crt", "tls.key": "client.key"}
        return self.files() | {entry: (other / file).read_bytes() for entry, file in names.items()}


@contextmanager
def aws_kms(server_host: ServerHost, folder: Path) -> Iterator[KmsKey]:
    """Run the KMS of moto with a symmetric key until the end of the context."""
    programs = stores.install(server_host.cache, server_host.progress)
    certificates = folder / "pki"
    pki.make(certificates, {"server": pki.Subject("kms", addresses=(server_host.address,))})
    argv = (
        *programs.moto, "--host", server_host.address, "--port", str(KMS_PORT),
        "--ssl-cert", str(certificates / "server.crt"),
        "--ssl-key", str(certificates / "server.key"),
    )  # fmt: skip
    endpoint = f"https://{server_host.address}:{KMS_PORT}"
    trust = ssl.create_default_context(cafile=certificates / "ca.crt")
    with run_server(server_host, argv, folder / "kms.log", {"PYTHONUNBUFFERED": "1"}):
        key = until(
            "the KMS answers", lambda: _new_key(endpoint, trust), _UP_SECONDS, tolerate=(OSError,)
        )
        yield KmsKey(endpoint, key, folder)


def _new_key(endpoint: str, trust: ssl.SSLContext) -> str:
    request = urllib.request.Request(  # noqa: S310  an address of the rig
        endpoint,
        data=b"{}",
        headers={
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": "TrentService.CreateKey",
            # The header names service and region; moto does not verify the signature.
            "Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/eu-central-1/kms/aws4_request",
        },
    )
    with urllib.request.urlopen(request, timeout=5.0, context=trust) as answer:  # noqa: S310  as above
        return str(json.load(answer)["KeyMetadata"]["KeyId"])


@contextmanager
def kmip_server(server_host: ServerHost, folder: Path) -> Iterator[KmipKey]:
    """Run PyKMIP with a symmetric key until the end of the context."""
    python = stores.install_kmip(server_host.cache, server_host.progress)
    server = pki.Subject(_SERVER_NAME, addresses=(_SERVER_NAME, server_host.address))
    pki.make(folder / "pki", {"server": server, "client": pki.Subject("openbao")})
    config = folder / "server.conf"
    config.write_text(
        textwrap.dedent(f"""\
            [server]
            hostname={server_host.address}
            port={KMIP_PORT}
            certificate_path={folder}/pki/server.crt
            key_path={folder}/pki/server.key
            ca_path={folder}/pki/ca.crt
            auth_suite=TLS1.2
            enable_tls_client_auth=True
            logging_level=INFO
            database_path={folder}/keys.db
            """)
    )
    program = python.with_name("pykmip-server")
    argv = (str(program), "--config_path", str(config), "--log_path", str(folder / "server.log"))
    with run_server(server_host, argv, folder / "output.log", {"PYTHONWARNINGS": "ignore"}):
        create = (
            str(python), "-c", textwrap.dedent(_CREATE_KEY),
            server_host.address, str(KMIP_PORT), str(folder / "pki"),
        )  # fmt: skip

        def new_key() -> str:
            environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
            done = subprocess.run(
                server_host.inside(*create),
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            return done.stdout.strip()

        key = until(
            "the KMIP server answers", new_key, _UP_SECONDS, tolerate=(subprocess.SubprocessError,)
        )
        yield KmipKey(f"{server_host.address}:{KMIP_PORT}", key, folder)
