"""Parses environment variables and options of a process. The error for a value names the rule.

Uses contracts.ip_address. Called by baoctl.settings, baoctl.verbs and baoctl.jobs. An invalid value
ends the process before it does anything, with one line and exit status 2. Jobs have other exit
statuses (contracts.exit_codes).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from contracts.ip_address import is_ip

LEVELS: Final = ("debug", "info", "warning", "error", "critical")
"""The levels of runtime.process.logs, which is too expensive to import for `baoctl --help`."""
_VALUE_MAX = 256
"""Maximum length of a value in a message; it exceeds the length of most paths."""
# Not compiled here: a verb uses few of them, and each takes 0.5 ms.
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_HOST = rf"(?i){_SUBDOMAIN}\.?"
_REGISTRY = rf"(?i)({_SUBDOMAIN}|\[[0-9a-f:.]+\])(:[0-9]{{1,5}})?"
_WORD = r"[\x21-\x7e]+"
_PORT_MAX = 65_535

T = TypeVar("T")
Env = Mapping[str, str]


class SettingError(ValueError):
    """An invalid setting: one line with its name, its value and the rule."""

    def __init__(self, name: str, value: str, rule: str) -> None:
        super().__init__(f"{name} {value[:_VALUE_MAX]!r}: {rule}")


def choice(env: Env, name: str, values: Mapping[str, T], default: str) -> T:
    """Read one of the keys of `values`, and return its value. Raises SettingError."""
    value = env.get(name) or default
    if value not in values:
        raise SettingError(name, value, f"must be one of {', '.join(values)}")
    return values[value]


def switch(env: Env, name: str) -> bool:
    """Read true or false; false if it is not set. Raises SettingError."""
    value = env.get(name) or "false"
    if value not in ("true", "false"):
        raise SettingError(name, value, "must be true or false")
    return value == "true"


def log_level(env: Env) -> str:
    """Read LOG_LEVEL. Raises SettingError."""
    return choice(env, "LOG_LEVEL", {level: level for level in LEVELS}, "info")


def port(env: Env, name: str, default: int, least: int = 0) -> int:
    """Read a port number of at least `least`. Raises SettingError."""
    text = env.get(name) or str(default)
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else -1
    if not least <= number <= _PORT_MAX:
        raise SettingError(name, text, f"must be a port, {least} to {_PORT_MAX}")
    return number


def seconds(env: Env, name: str, default: float, most: float) -> float:
    """Read a period of 1 to `most` seconds. Raises SettingError."""
    text = env.get(name)
    if not text:
        return default
    try:
        period = float(text)
    except ValueError:
        period = -1.0
    # The chained comparison also refuses nan.
    if not 1 <= period <= most:
        raise SettingError(name, text, f"must be a number of seconds, 1 to {most:g}")
    return period


def is_namespace(text: str) -> bool:
    """Return whether a namespace can have this name."""
    return len(text) <= 63 and bool(re.fullmatch(_LABEL, text))


def is_object_name(text: str) -> bool:
    """Return whether a ServiceAccount or a pod can have this name."""
    return len(text) <= 253 and bool(re.fullmatch(_SUBDOMAIN, text))


def is_host(text: str) -> bool:
    """Return whether a text is an IP address or a host name."""
    return is_ip(text) or (len(text) <= 253 and bool(re.fullmatch(_HOST, text)))


def is_registry(text: str) -> bool:
    """Return whether a text is the host of a registry, with or without a port."""
    return len(text) <= 255 and bool(re.fullmatch(_REGISTRY, text))


def is_word(text: str) -> bool:
    """Return whether a text is 1 to 253 printable ASCII characters without a space."""
    return len(text) <= 253 and bool(re.fullmatch(_WORD, text))


Validator = Callable[[str], bool]
NAMESPACE: Final = "must be the name of a namespace: 1 to 63 of a-z, 0-9 and -"
OBJECT_NAME: Final = "must be the name of an object: 1 to 253 of a-z, 0-9, - and ."
ADDRESS: Final = "must be an IP address"
HOST: Final = "must be an IP address or a host name"
REGISTRY: Final = "must be HOST or HOST:PORT of a registry"
WORD: Final = "must be 1 to 253 printable ASCII characters without a space"


def text(env: Env, name: str, default: str, fits: Validator, rule: str) -> str:
    """Read a text, or the default if it is not set or empty. Raises SettingError."""
    value = env.get(name)
    if not value:
        return default
    if not fits(value):
        raise SettingError(name, value, rule)
    return value


def text_list(env: Env, name: str, fits: Validator, rule: str) -> tuple[str, ...]:
    """Read comma-separated values without duplicates. Raises SettingError for an invalid one."""
    values = tuple(dict.fromkeys(filter(None, map(str.strip, env.get(name, "").split(",")))))
    return each(name, values, fits, rule)


def each(name: str, values: Iterable[str], fits: Validator, rule: str) -> tuple[str, ...]:
    """Check several values of one setting. Raises SettingError for the first invalid one."""
    values = tuple(values)
    for value in values:
        if not fits(value):
            raise SettingError(name, value, rule)
    return values


def check_api_server(env: Env) -> None:
    """Check the variables of the API server that the kubelet sets. Raises SettingError."""
    text(env, "KUBERNETES_SERVICE_HOST", "", is_host, HOST)
    port(env, "KUBERNETES_SERVICE_PORT", 443, least=1)
