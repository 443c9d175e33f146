"""The cloud itself: a process that serves metadata, token services and one store per provider.

`python -m tests.integration.cloud.server FOLDER`, in a network of `network`. FOLDER has
`cloud.json` (a Cloud), and the certificate for its names; each request is a line in `requests`.
All credentials are random, and a store accepts only those that were issued for it.
"""

import dataclasses
import json
import secrets
import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from contracts.rfc3339 import rfc3339
from runtime.clock import SystemClock
from tests.integration.cloud.checks import access_key_of, claims_of, is_signed_by

BUCKET = "snapshots"
"""The one bucket that the identities of this cloud may use."""
STORES = "10.77.0.1"
S3_PORT, GCS_PORT, AZURE_PORT = 9000, 9010, 9020
METADATA, POD_AGENT = "169.254.169.254", "169.254.170.23"
TASK_AGENT = "169.254.170.2"
"""An address without a server."""
GOOGLE_TOKENS, AZURE_TOKENS = "accounts.google.com", "login.microsoftonline.com"
BLOBS = "https://" + "storage.azure.com"
"""The audience of tokens for blobs."""
EMAIL = "backup@project.iam.gserviceaccount.com"


@dataclass(frozen=True)
class Cloud:
    """The identities that a cloud trusts."""

    cluster_key: str
    """PEM of the key that verifies tokens of ServiceAccounts."""
    google_key: str
    """PEM of the key that verifies tokens of the Google service account EMAIL."""
    role: str
    """The AWS role that a token may assume."""
    subject: str
    """The ServiceAccount that may assume it."""
    user: dict[str, str]
    """client_id, client_secret and refresh_token of a Google user."""
    tenant: str
    client: str
    """The client id of Azure."""


@dataclass(frozen=True)
class Request:
    """One request, with header names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The path without the query."""
        return urlsplit(self.target).path

    def query(self, name: str) -> str:
        """A parameter of the URL."""
        return parse_qs(urlsplit(self.target).query).get(name, [""])[0]

    def form(self, name: str) -> str:
        """A parameter of the body, or of the URL."""
        return parse_qs(self.body.decode()).get(name, [""])[0] or self.query(name)

    @property
    def bearer(self) -> str:
        """The token in its Authorization header."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")


@dataclass(frozen=True)
class Answer:
    """A status, a body, and headers."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def _json(status: int = 200, **content: Any) -> Answer:
    return Answer(status, json.dumps(content).encode(), {"content-type": "application/json"})


def _error(status: int, code: str) -> Answer:
    return Answer(status, f"<Error><Code>{code}</Code></Error>".encode())


@dataclass
class Services:
    """The services of a cloud, and the credentials that they issued."""

    cloud: Cloud
    aws: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Access key to secret key and session token."""
    google: set[str] = field(default_factory=set)
    azure: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)
    """Tokens of IMDSv2."""
    objects: dict[str, bytes] = field(default_factory=dict)

    def metadata(self, request: Request) -> Answer:
        """The metadata server of a machine, for all clouds."""
        parts: Mapping[str, Service] = {
            "latest": self._aws_metadata,
            "computeMetadata": self._google_metadata,
            "metadata": self._azure_metadata,
        }
        part = parts.get(request.path.split("/")[1])
        return Answer(404) if part is None else part(request)

    def _aws_metadata(self, request: Request) -> Answer:
        """IMDSv2, which requires a session token."""
        if request.path == "/latest/api/token" and request.method == "PUT":
            session = secrets.token_hex()
            self.sessions.add(session)
            return Answer(200, session.encode())
        if request.headers.get("x-aws-ec2-metadata-token") not in self.sessions:
            return Answer(401)
        named = request.path.rstrip("/").endswith("node-role")
        return self._aws_keys() if named else Answer(200, b"node-role")

    def _google_metadata(self, request: Request) -> Answer:
        if request.headers.get("metadata-flavor") != "Google":
            return Answer(403)
        is_token = request.path.endswith("/service-accounts/default/token")
        return self._token(self.google) if is_token else Answer(404)

    def _azure_metadata(self, request: Request) -> Answer:
        resource = request.query("resource").rstrip("/")
        if request.headers.get("metadata") != "true" or resource != BLOBS:
            return Answer(400)
        is_token = request.path == "/metadata/identity/oauth2/token"
        return self._token(self.azure) if is_token else Answer(404)

    def pod_agent(self, request: Request) -> Answer:
        """The agent of EKS Pod Identity: the token of the pod, for its audience."""
        claims = claims_of(request.headers.get("authorization", ""), self.cloud.cluster_key)
        if claims is None or "pods.eks.amazonaws.com" not in claims["aud"]:
            return _json(403, message="token is not valid")
        return self._aws_keys()

    def s3(self, request: Request) -> Answer:
        """A store with the API of S3, and its token service."""
        if request.form("Action") == "AssumeRoleWithWebIdentity":
            return self._assume(request)
        secret, session = self.aws.get(access_key_of(request.headers), ("", ""))
        if not secret or request.headers.get("x-amz-security-token") != session:
            return _error(403, "InvalidAccessKeyId")
        parts = (request.method, request.target, request.headers, request.body)
        if not is_signed_by(secret, *parts):
            return _error(403, "SignatureDoesNotMatch")
        return self._object(request)

    def gcs(self, request: Request) -> Answer:
        """A store with the Google API: accepts issued tokens, and tokens that EMAIL signed."""
        claims = claims_of(request.bearer, self.cloud.google_key) if "." in request.bearer else None
        signed = claims is not None and claims["iss"] == EMAIL and "scope" in claims
        if request.bearer not in self.google and not signed:
            return _error(401, "AuthenticationRequired")
        return self._object(request)

    def blobs(self, request: Request) -> Answer:
        """A store with the API of Azure."""
        if request.bearer not in self.azure:
            return _error(401, "InvalidAuthenticationInfo")
        return self._object(request)

    def google_tokens(self, request: Request) -> Answer:
        """The token service of Google: a refresh token of a known client."""
        forms = {name: request.form(name) for name in self.cloud.user}
        if request.form("grant_type") != "refresh_token" or forms != self.cloud.user:
            return _json(400, error="invalid_grant", error_description="Bad Request")
        return self._token(self.google)

    def azure_tokens(self, request: Request) -> Answer:
        """The token service of Azure: the token of a ServiceAccount as an assertion."""
        claims = claims_of(request.form("client_assertion"), self.cloud.cluster_key)
        known = claims is not None and claims["sub"] == self.cloud.subject
        right_place = request.path == f"/{self.cloud.tenant}/oauth2/v2.0/token"
        if not known or not right_place or request.form("client_id") != self.cloud.client:
            return _json(401, error="invalid_client", error_description="AADSTS700213: no match")
        return self._token(self.azure)

    def _assume(self, request: Request) -> Answer:
        claims = claims_of(request.form("WebIdentityToken"), self.cloud.cluster_key)
        if claims is None or "sts.amazonaws.com" not in claims["aud"]:
            return _error(400, "InvalidIdentityToken")
        if claims["sub"] != self.cloud.subject or request.form("RoleArn") != self.cloud.role:
            return _error(403, "AccessDenied")
        key, secret, session = self._new_keys()
        credentials = (
            f"<AccessKeyId>{key}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>"
            f"<SessionToken>{session}</SessionToken><Expiration>{rfc3339(_later())}</Expiration>"
        )
        body = f"<AssumeRoleWithWebIdentityResult><Credentials>{credentials}</Credentials>"
        whole = f"{body}</AssumeRoleWithWebIdentityResult>"
        tag = "AssumeRoleWithWebIdentityResponse"
        return Answer(200, f"<{tag}>{whole}</{tag}>".encode())

    def _new_keys(self) -> tuple[str, str, str]:
        key, secret, session = (
            f"ASIA{secrets.token_hex(8)}",
            secrets.token_hex(),
            secrets.token_hex(),
        )
        self.aws[key] = (secret, session)
        return key, secret, session

    def _aws_keys(self) -> Answer:
        until = rfc3339(_later())
        key, secret, session = self._new_keys()
        return _json(
            Code="Success", Type="AWS-HMAC", LastUpdated=until, Expiration=until,
            AccessKeyId=key, SecretAccessKey=secret, Token=session,
        )  # fmt: skip

    def _token(self, issued: set[str]) -> Answer:
        token = secrets.token_hex()
        issued.add(token)
        until = str(int(_later().timestamp()))
        return _json(
            access_token=token, expires_in=3600, expires_on=until, not_before="0",
            resource=f"{BLOBS}/", token_type="Bearer",
        )  # fmt: skip

    def _object(self, request: Request) -> Answer:
        if f"/{BUCKET}/" not in f"{request.path}/":
            return _error(403, "AccessDenied")
        if request.method == "PUT":
            self.objects[request.path] = request.body
            return Answer(201 if "x-ms-version" in request.headers else 200, b"", _STAMPS)
        content = self.objects.get(request.path)
        return _error(404, "NoSuchKey") if content is None else Answer(200, content, _STAMPS)


_STAMPS = {"etag": '"1"', "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
Service = Callable[[Request], Answer]


def _later() -> datetime:
    """The expiry of credentials that are issued now."""
    return SystemClock().now() + timedelta(hours=1)


class _Handler(BaseHTTPRequestHandler):
    """Passes each request to the service of its server."""

    protocol_version = "HTTP/1.1"
    service: Service
    log: Path

    def _answer(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, self.rfile.read(size))
        host, port = self.connection.getsockname()[:2]
        answer = self.service(request)
        with self.log.open("a") as log:
            log.write(f"{host}:{port} {request.method} {request.path} {answer.status}\n")
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_PUT = do_POST = do_HEAD = _answer  # noqa: N815  names of http.server

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log: `requests` has all requests."""


def _serve(where: tuple[str, int], service: Service, log: Path, tls: ssl.SSLContext | None) -> None:
    handler = type("Handler", (_Handler,), {"service": staticmethod(service), "log": log})
    server = ThreadingHTTPServer(where, handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main(folder: Path) -> None:
    """Serve until standard input ends; creates the file `ready` when all servers listen."""
    services = Services(Cloud(**json.loads((folder / "cloud.json").read_text())))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "cloud.crt", folder / "cloud.key")
    log = folder / "requests"
    names: dict[str, Service] = {
        GOOGLE_TOKENS: services.google_tokens,
        AZURE_TOKENS: services.azure_tokens,
    }

    def by_name(request: Request) -> Answer:
        return names[request.headers["host"].partition(":")[0]](request)

    _serve((METADATA, 80), services.metadata, log, None)
    _serve((POD_AGENT, 80), services.pod_agent, log, None)
    _serve((STORES, S3_PORT), services.s3, log, tls)
    _serve((STORES, GCS_PORT), services.gcs, log, tls)
    _serve((STORES, AZURE_PORT), services.blobs, log, tls)
    _serve((STORES, 443), by_name, log, tls)
    (folder / "ready").touch()
    sys.stdin.read()


def write(cloud: Cloud, folder: Path) -> None:
    """Write the file that `main` reads."""
    (folder / "cloud.json").write_text(json.dumps(dataclasses.asdict(cloud)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
