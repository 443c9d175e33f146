"""Translates the variables of the store of a job into options of obstore.

Uses contracts.jobs.env, store.egress_proxy and store.google_credentials; reads no file: credentials
are passed as a mapping. Called by store.store. One function per provider, in a table. The options
are those of obstore 0.12.1. A Secret without credentials never falls back to the identity of the
pod: an admission policy decides who may omit the Secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.store import google_credentials
from baoctl.jobs.store.egress_proxy import EgressEndpoint
from contracts.ip_address import is_ip
from contracts.jobs.env import StoreEnv

Secret = Mapping[str, str]
"""The mounted Secret of the credentials: file name to content; empty without a Secret."""
DEFAULT_REGION: Final = "us-east-1"
_REFERENCE = "spec.backup.target.credentialsSecretRef"
_IMDS = EgressEndpoint("169.254.169.254", 80)
_AWS_IDENTITY = (
    _IMDS,
    EgressEndpoint("fd00:ec2::254", 80),
    # Credentials of containers: ECS, and the agent of EKS Pod Identity.
    EgressEndpoint("169.254.170.2", 80),
    EgressEndpoint("169.254.170.23", 80),
    EgressEndpoint("fd00:ec2::23", 80),
)
_GOOGLE_IDENTITY = (_IMDS, EgressEndpoint("metadata.google.internal", 80))
_GOOGLE = (
    EgressEndpoint("storage.googleapis.com", 443),
    EgressEndpoint("oauth2.googleapis.com", 443),
    EgressEndpoint("www.googleapis.com", 443),
    EgressEndpoint("iamcredentials.googleapis.com", 443),
)
_AZURE_LOGIN = (
    EgressEndpoint("login.microsoftonline.com", 443),
    EgressEndpoint("login.microsoftonline.us", 443),
    EgressEndpoint("login.chinacloudapi.cn", 443),
    EgressEndpoint(".login.microsoft.com", 443),
)
_AZURE_VARIABLES: Mapping[str, str] = {
    "AZURE_CLIENT_ID": "client_id",
    "AZURE_TENANT_ID": "tenant_id",
    "AZURE_FEDERATED_TOKEN_FILE": "federated_token_file",
    "AZURE_AUTHORITY_HOST": "authority_host",
}
"""Variables that the workload identity webhook adds to a pod, and the matching options."""
_AZURE_TOKEN: Final = frozenset(
    {"AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE"}
)
"""If all of them are set, the library exchanges the token of the pod at a public token service."""
_AWS_VARIABLES: Mapping[str, str] = {
    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "container_credentials_full_uri",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "container_credentials_relative_uri",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "container_authorization_token_file",
}


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The settings of a store for obstore and the egress proxy."""

    options: Mapping[str, Any] = field(repr=False)
    """Arguments of the constructor, with credentials."""
    endpoints: tuple[EgressEndpoint, ...] = ()
    identity: tuple[EgressEndpoint, ...] = ()
    """Services that issue the identity of the pod; empty if there are credentials."""
    http: bool = False
    """Whether the endpoint is plain http."""


def settings(env: StoreEnv, secret: Secret, environ: Mapping[str, str]) -> StoreSettings:
    """Return the settings of a store. Raises JobFailure(Config) that names the field."""
    return PROVIDERS[env.provider](env, secret, environ)


def _s3(env: StoreEnv, secret: Secret, environ: Mapping[str, str]) -> StoreSettings:
    endpoint = _endpoint(env)
    region = env.region or secret.get("region", "") or DEFAULT_REGION
    virtual = _virtual_hosted(env, endpoint)
    address = _address(endpoint, f"{env.bucket}." if virtual else "")
    options: dict[str, Any] = {
        "bucket": env.bucket,
        "endpoint": address,
        "region": region,
        "virtual_hosted_style_request": virtual,
        # TLS protects the parts; a hash of each part would cost as much as its transfer.
        "unsigned_payload": endpoint.scheme == "https" and not env.insecure_skip_verify,
    }
    endpoints = (_egress_endpoint(endpoint, f"{env.bucket}." if virtual else ""),)
    if _pair(secret, "accessKeyId", "secretAccessKey"):
        options |= {
            "access_key_id": secret["accessKeyId"],
            "secret_access_key": secret["secretAccessKey"],
        }
        if secret.get("sessionToken"):
            options["session_token"] = secret["sessionToken"]
        return StoreSettings(options, endpoints, http=endpoint.scheme == "http")
    if env.role_arn:
        options |= {
            "role_arn": env.role_arn,
            "role_session_name": "openbao-backup",
            "web_identity_token_file": env.web_identity_path,
        }
        sts, sts_endpoint = _sts(endpoint, region)
        # The type hints of obstore name it sts_endpoint, which obstore does not accept.
        options["endpoint_url_sts"] = sts
        return StoreSettings(options, (*endpoints, sts_endpoint), http=endpoint.scheme == "http")
    _no_secret(env, secret, "accessKeyId and secretAccessKey")
    options |= _from_environment(environ, _AWS_VARIABLES)
    return StoreSettings(options, endpoints, _AWS_IDENTITY, endpoint.scheme == "http")


def _virtual_hosted(env: StoreEnv, endpoint: SplitResult) -> bool:
    host = endpoint.hostname or ""
    # A certificate for *.host covers one label, and an IP address has no subdomains.
    return not (env.use_path_style or is_ip(host) or "." in env.bucket)


def _sts(endpoint: SplitResult, region: str) -> tuple[str, EgressEndpoint]:
    host = endpoint.hostname or ""
    if host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        domain = "amazonaws.com.cn" if host.endswith(".cn") else "amazonaws.com"
        return f"https://sts.{region}.{domain}", EgressEndpoint(f"sts.{region}.{domain}", 443)
    # Other stores serve AssumeRoleWithWebIdentity at the endpoint of the store.
    return _address(endpoint), _egress_endpoint(endpoint)


def _gcs(env: StoreEnv, secret: Secret, environ: Mapping[str, str]) -> StoreSettings:
    options: dict[str, Any] = {"bucket": env.bucket}
    endpoints: tuple[EgressEndpoint, ...] = _GOOGLE
    endpoint = _endpoint(env) if env.endpoint else None
    if endpoint is not None:
        options["base_url"] = _address(endpoint)
        endpoints = (_egress_endpoint(endpoint), *_GOOGLE)
    http = endpoint is not None and endpoint.scheme == "http"
    key = secret.get(google_credentials.FILE, "")
    if key:
        login_options, tokens = _google_login(env, key)
        return StoreSettings(options | login_options, (*endpoints, *tokens), http=http)
    if http:
        # Only emulators use http, and they have no identities.
        return StoreSettings(options | {"skip_signature": True}, endpoints, http=True)
    _no_secret(env, secret, google_credentials.FILE)
    if environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        options["application_credentials"] = environ["GOOGLE_APPLICATION_CREDENTIALS"]
    return StoreSettings(options, endpoints, _GOOGLE_IDENTITY, http)


def _google_login(env: StoreEnv, text: str) -> tuple[dict[str, Any], tuple[EgressEndpoint, ...]]:
    """Return the options for a credentials file, and the endpoints that issue its tokens."""
    if google_credentials.credential_type(text, _REFERENCE) == google_credentials.ACCOUNT:
        # The library signs tokens with the key.
        return {"service_account_key": text}, ()
    file = f"{env.credentials_path}/{google_credentials.FILE}"
    return {"application_credentials": file}, (google_credentials.TOKEN_SERVICE,)


def _azure(env: StoreEnv, secret: Secret, environ: Mapping[str, str]) -> StoreSettings:
    connection = _connection(secret.get("connectionString", ""))
    account = connection.get("AccountName") or env.azure_account
    if not account:
        raise JobFailure(
            "Config", "spec.backup.target.azure.storageAccount: is not set; name the account"
        )
    endpoint = _azure_endpoint(env, connection, account)
    options: dict[str, Any] = {
        "container_name": env.azure_container or env.bucket,
        "account_name": account,
        "endpoint": _address(endpoint),
    }
    http = endpoint.scheme == "http"
    endpoints = (_egress_endpoint(endpoint), *_AZURE_LOGIN)
    account_key = connection.get("AccountKey") or secret.get("accountKey", "").strip()
    if account_key:
        return StoreSettings(options | {"account_key": account_key}, endpoints, http=http)
    if connection.get("SharedAccessSignature"):
        options["sas_key"] = connection["SharedAccessSignature"].lstrip("?")
        return StoreSettings(options, endpoints, http=http)
    if secret.get("connectionString"):
        raise JobFailure(
            "Config",
            f"{_REFERENCE}: connectionString has neither AccountKey nor SharedAccessSignature",
        )
    options |= _from_environment(environ, _AZURE_VARIABLES)
    if environ.keys() >= _AZURE_TOKEN:
        return StoreSettings(options, endpoints, http=http)
    _no_secret(env, secret, "accountKey or connectionString")
    return StoreSettings(options, endpoints, (_IMDS,), http)


def _azure_endpoint(env: StoreEnv, connection: Mapping[str, str], account: str) -> SplitResult:
    blob = env.endpoint or connection.get("BlobEndpoint", "")
    if not blob:
        suffix = connection.get("EndpointSuffix") or "core.windows.net"
        return _split(f"https://{account}.blob.{suffix}")
    endpoint = _split(blob)
    host = endpoint.hostname or ""
    path = endpoint.path.rstrip("/")
    if host.startswith(f"{account}.") or path.endswith(f"/{account}"):
        return endpoint
    # If the host does not name the account, the path must.
    return endpoint._replace(path=f"{path}/{account}")


def _connection(text: str) -> Mapping[str, str]:
    """Parse `Name=value;...`; values may contain equals signs."""
    pairs = (part.partition("=") for part in text.strip().split(";") if part)
    return {name.strip(): value for name, _, value in pairs}


def _volume(env: StoreEnv, secret: Secret, environ: Mapping[str, str]) -> StoreSettings:
    if not env.volume_path:
        raise JobFailure("Config", "BACKUP_VOLUME_PATH is not set: no volume is mounted")
    if env.bucket in (".", "..") or "/" in env.bucket:
        raise JobFailure("Config", f"spec.backup.target.bucket={env.bucket!r}: not a folder name")
    return StoreSettings(
        {"prefix": f"{env.volume_path.rstrip('/')}/{env.bucket}", "mkdir": True},
    )


_Provider = Callable[[StoreEnv, Secret, Mapping[str, str]], StoreSettings]
PROVIDERS: Mapping[str, _Provider] = {"s3": _s3, "gcs": _gcs, "azure": _azure, "pvc": _volume}


def _pair(secret: Secret, first: str, other: str) -> bool:
    has = [name for name in (first, other) if secret.get(name)]
    if len(has) == 1:
        missing = other if has == [first] else first
        raise JobFailure("Config", f"{_REFERENCE}: the Secret has {has[0]} but no {missing}")
    return bool(has)


def _no_secret(env: StoreEnv, secret: Secret, keys: str) -> None:
    """Refuse a Secret without credentials: it must not select the identity of the pod."""
    if secret or env.credentials_path:
        raise JobFailure(
            "Config",
            f"{_REFERENCE}: the Secret has no {keys}; add them, or remove "
            "credentialsSecretRef to use the identity of the pod",
        )


def _from_environment(environ: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {option: environ[name] for name, option in names.items() if environ.get(name)}


def _endpoint(env: StoreEnv) -> SplitResult:
    if not env.endpoint:
        raise JobFailure("Config", "spec.backup.target.endpoint: is not set; name the store's URL")
    return _split(env.endpoint)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        # Reading the port validates it.
        wrong = parts.port == 0 or not parts.hostname
    except ValueError:
        parts, wrong = urlsplit(""), True
    scheme = "https" if parts.scheme == "s3" else parts.scheme
    if wrong or scheme not in ("http", "https") or "@" in parts.netloc or parts.query:
        raise JobFailure(
            "Config",
            f"spec.backup.target.endpoint={url[:200]!r}: must be a URL of scheme https, http or s3 "
            "with a host, without user and query",
        )
    return parts._replace(scheme=scheme, fragment="")


def _address(endpoint: SplitResult, prefix: str = "") -> str:
    return f"{endpoint.scheme}://{prefix}{endpoint.netloc}{endpoint.path.rstrip('/')}"


def _egress_endpoint(endpoint: SplitResult, prefix: str = "") -> EgressEndpoint:
    host = (endpoint.hostname or "").rstrip(".")
    return EgressEndpoint(f"{prefix}{host}".lower(), endpoint.port or _port(endpoint))


def _port(endpoint: SplitResult) -> int:
    return 443 if endpoint.scheme == "https" else 80
