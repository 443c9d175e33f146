"""The address of the API server, and the credentials of requests.

Called by runtime.client.transport once at the start, and for every request. Two sources: the
ServiceAccount of a pod, read directly, and a kubeconfig, read by kubernetes_asyncio with all its
authentication plugins. That library is only imported to read a kubeconfig.
"""

import asyncio
import logging
import math
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from runtime.client.kubeconfig_library import (
    LoadedConfiguration,
    collect_loader_errors,
    import_kubeconfig_loader,
)
from runtime.clock import Clock, Deadline
from runtime.errors import TransportError

if TYPE_CHECKING:
    from kubernetes_asyncio.config.kube_config import KubeConfigLoader

# The standard logger, for a fast start of the command line; runtime.process.logs forwards it.
log = logging.getLogger(__name__)

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

REREAD_SECONDS = 60.0
"""Age after which a token is read again; the kubelet renews the file well before it expires."""

PLUGIN_SECONDS = 30.0
"""How long a login plugin named by a kubeconfig may take."""
INTERACTIVE_SECONDS = 300.0
"""How long a plugin may take on a terminal, where a user may have to log in with a browser."""

_MALFORMED = (AssertionError, AttributeError, LookupError, TypeError)
"""Errors of the library for an invalid kubeconfig: it does not validate fields."""

_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_SERVER_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*|[0-9A-Fa-f:]{{2,39}}")


@dataclass(frozen=True, slots=True)
class Route:
    """How connections reach an API server."""

    proxy: str | None = field(default=None, repr=False)
    """URL of an HTTP proxy, which may contain a password; None connects directly."""
    server_name: str | None = None
    """The name that the server certificate must contain; None is the host of the URL."""


DIRECT = Route()


class Credentials(Protocol):
    """One identity at one API server, as the transport uses it."""

    @property
    def server(self) -> str:
        """The base URL without a trailing slash: https://host:port."""
        ...

    @property
    def namespace(self) -> str:
        """The namespace of the pod, or that of the kubeconfig context."""
        ...

    @property
    def route(self) -> Route:
        """How connections reach that server; `headers` keeps it current."""
        ...

    async def headers(self) -> Mapping[str, str]:
        """The authorization header, or none for client certificates.

        Raises TransportError if no usable credential is available.
        """
        ...

    def ssl_context(self) -> ssl.SSLContext:
        """The current CA and client certificate; the same instance until a file changes."""
        ...

    def invalidate(self, *, before: float) -> None:
        """The server responded with 401: read everything again before the next request.

        `before` is when the rejected request was sent, on clock.monotonic(): credentials that were
        read later are kept, or concurrent requests would discard each other's renewal.
        """
        ...


@dataclass(slots=True)
class TlsFiles:
    """An SSL context of files, rebuilt when one of them changes.

    While files are missing or do not match, as during a rotation, the last valid context is used.
    """

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    verify: bool = True
    _stamp: tuple[tuple[int, int], ...] | None = field(default=None, init=False, compare=False)
    _context: ssl.SSLContext | None = field(default=None, init=False, compare=False)
    _failing: bool = field(default=False, init=False, compare=False)

    def context(self) -> ssl.SSLContext:
        """Return the current context.

        Raises OSError, of which ssl.SSLError is a subclass, if the files cannot be read and there
        is no earlier context.
        """
        try:
            self._context = self._fresh()
        except OSError as error:
            if self._context is None:
                raise
            if not self._failing:
                log.warning("certificates cannot be reloaded: %s", error)
            self._failing = True
        else:
            self._failing = False
        return self._context

    def _fresh(self) -> ssl.SSLContext:
        stamp = tuple(_stamp(path) for path in (self.ca, self.cert, self.key) if path is not None)
        if self._context is not None and stamp == self._stamp:
            return self._context
        context = self._build()
        self._stamp = stamp
        return context

    def _build(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca) if self.ca else None)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.cert is not None:
            context.load_cert_chain(str(self.cert), str(self.key) if self.key else None)
        return context


def _stamp(path: Path) -> tuple[int, int]:
    # Projected volumes swap a symlink: the inode changes even when the time does not.
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_ino


class ServiceAccountCredentials:
    """The ServiceAccount of the pod of this process."""

    def __init__(self, root: Path, server: str, clock: Clock) -> None:
        self._token_file = root / "token"
        self._clock = clock
        self._tls = TlsFiles(ca=root / "ca.crt")
        self._headers: dict[str, str] = {}
        self._read_at = -math.inf
        self._failing = False
        self.server = server
        self.route = DIRECT
        self.namespace = (root / "namespace").read_text(encoding="utf-8").strip()

    async def headers(self) -> Mapping[str, str]:
        now = self._clock.monotonic()
        if now - self._read_at >= REREAD_SECONDS:
            try:
                self._headers = {"Authorization": f"Bearer {self._read_token()}"}
                self._read_at = now
                self._failing = False
            except (OSError, TransportError) as error:
                # The old token is valid for minutes after its file should have been renewed.
                if not self._headers:
                    raise TransportError(f"the token cannot be read: {error}") from error
                if not self._failing:
                    log.warning("token cannot be reloaded: %s", error)
                self._failing = True
        return self._headers

    def ssl_context(self) -> ssl.SSLContext:
        return self._tls.context()

    def invalidate(self, *, before: float) -> None:
        if self._read_at <= before:
            self._read_at = -math.inf

    def _read_token(self) -> str:
        token = self._token_file.read_text(encoding="utf-8").strip()
        if not token:
            raise TransportError(f"{self._token_file} is empty")
        return token


def in_cluster(
    clock: Clock, *, root: Path = SERVICE_ACCOUNT, environ: Mapping[str, str] = os.environ
) -> ServiceAccountCredentials:
    """The credentials of a pod, from the files and variables that the kubelet provides.

    Raises RuntimeError outside of a pod, OSError when the files cannot be read.
    """
    host = environ.get("KUBERNETES_SERVICE_HOST")
    port = environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise RuntimeError("not in a pod: KUBERNETES_SERVICE_HOST is not set")
    if ":" in host:
        host = f"[{host}]"
    return ServiceAccountCredentials(root, f"https://{host}:{port}", clock)


class KubeconfigCredentials:
    """One context of a kubeconfig; created by `from_kubeconfig`."""

    def __init__(self, path: str | None, context: str | None, clock: Clock) -> None:
        self._path = path
        self._context = context
        self._clock = clock
        self._loader: KubeConfigLoader | None = None
        self._tls = TlsFiles()
        self._headers: dict[str, str] = {}
        self._read_at = 0.0
        self._lock = asyncio.Lock()
        self.server = ""
        self.route = DIRECT
        self.namespace = "default"

    async def headers(self) -> Mapping[str, str]:
        async with self._lock:
            due = self._clock.monotonic() - self._read_at >= REREAD_SECONDS
            if self._loader is None or due:
                await self.refresh()
        return self._headers

    def ssl_context(self) -> ssl.SSLContext:
        return self._tls.context()

    def invalidate(self, *, before: float) -> None:
        # The loader keeps a plugin's token until it expires: only a new loader calls the plugin.
        if self._read_at <= before:
            self._loader = None

    async def refresh(self) -> None:
        """Read the file after `invalidate`, and a plugin's token when it has expired.

        Raises TransportError if neither the file nor a login plugin returns a credential.
        """
        try:
            import_kubeconfig_loader()
            from kubernetes_asyncio.config import ConfigException, load_kube_config
            from yaml import YAMLError

            from runtime.client.login_plugin import is_interactive
        except ModuleNotFoundError as error:
            # An image for pods may not contain it.
            raise TransportError(
                f"kubeconfig: {error.name} is not installed; run this in a pod, or install "
                "kubernetes-asyncio"
            ) from error

        configuration = LoadedConfiguration()
        seconds = INTERACTIVE_SECONDS if is_interactive() else PLUGIN_SECONDS
        deadline = Deadline(self._clock, seconds)
        try:
            async with deadline:
                with collect_loader_errors() as errors:
                    if self._loader is None:
                        self._loader = await load_kube_config(
                            config_file=self._path,
                            context=self._context,
                            client_configuration=configuration,
                            persist_config=False,
                        )
                    else:
                        await self._loader.load_and_set(configuration)
                if errors:
                    raise ConfigException("; ".join(errors))
        except _MALFORMED as error:
            self._loader = None
            raise TransportError(
                "kubeconfig: a field is missing or has the wrong type; compare it with kubectl "
                "config view"
            ) from error
        except (ConfigException, YAMLError, OSError, RecursionError, ValueError) as error:
            self._loader = None
            if deadline.expired:
                raise TransportError(
                    f"kubeconfig: the login did not end within {seconds:g} s; run the command in "
                    "users[].user.exec by itself"
                ) from error
            raise TransportError(f"kubeconfig: {_reason(error)}") from error
        self._take(configuration, self._loader)

    def _take(self, configuration: LoadedConfiguration, loader: "KubeConfigLoader") -> None:
        route = Route(_proxy(configuration.proxy), _server_name(configuration.tls_server_name))
        token = configuration.api_key.get("BearerToken")
        self._headers = {"Authorization": token} if token else {}
        self._read_at = self._clock.monotonic()
        files = {
            name: Path(value) if value else None
            for name, value in (
                ("ca", configuration.ssl_ca_cert),
                ("cert", configuration.cert_file),
                ("key", configuration.key_file),
            )
        }
        tls = TlsFiles(**files, verify=configuration.verify_ssl)
        if tls != self._tls:
            self._tls = tls
        self.server = _server(configuration.host)
        self.route = route
        chosen = (loader.current_context or {}).get("context", {})
        self.namespace = chosen.get("namespace") or "default"


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _server(url: str) -> str:
    """Return the URL of an API server. Raises TransportError for an invalid one."""
    if not _is_url(url, "http", "https"):
        raise TransportError(f"kubeconfig: server {url[:80]!r}: must be https://HOST:PORT")
    return url


def _proxy(url: object) -> str | None:
    """Return the URL of a proxy. Raises TransportError without the URL, which may contain a
    password."""
    if not url:
        return None
    if not isinstance(url, str) or not _is_url(url, "http"):
        scheme = str(url).partition("://")[0] if "://" in str(url) else ""
        of_scheme = f" of the scheme {scheme[:20]!r}" if scheme not in ("", "http") else ""
        raise TransportError(
            f"kubeconfig: proxy-url{of_scheme}: must be http://HOST:PORT; https and socks5 proxies "
            "are not supported"
        )
    return url


def _server_name(name: object) -> str | None:
    """Return the name in a server certificate. Raises TransportError for an invalid one."""
    if not name:
        return None
    if not isinstance(name, str) or not _SERVER_NAME.fullmatch(name):
        raise TransportError(
            f"kubeconfig: tls-server-name {str(name)[:80]!r}: must be a host name or an address"
        )
    return name


def _is_url(url: str, *schemes: str) -> bool:
    try:
        parts = urlsplit(url)
        # Reading the port validates it.
        good = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return good and url.isprintable() and " " not in url


async def from_kubeconfig(
    path: str | None, context: str | None, clock: Clock
) -> KubeconfigCredentials:
    """The credentials of a kubeconfig context: certificates, tokens, and login plugins.

    The default of path is that of kubectl: $KUBECONFIG, else ~/.kube/config. The default of context
    is the current one. `proxy-url` may be an HTTP proxy; others are rejected.

    Raises TransportError if there is no usable file, context or credential.
    """
    credentials = KubeconfigCredentials(path, context, clock)
    await credentials.refresh()
    return credentials
