"""Reading a rendered document back with python-hcl2, as plain JSON values."""

import json
import re
from typing import Any

import hcl2

_ESCAPE = re.compile(r"\\(?:U([0-9a-f]{8})|(.))")


def parse(text: str) -> Any:
    """The document; blocks are lists of {label: body}."""
    return _plain(hcl2.loads(text))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_text(key): _plain(item) for key, item in value.items() if key != "__is_block__"}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return _text(value) if isinstance(value, str) else value


def _text(token: str) -> Any:
    number = re.fullmatch(r"\$\{(-?[0-9.]+(?:e[+-]?[0-9]+)?)\}", token)
    if number:
        return float(number[1]) if set(number[1]) & set(".e") else int(number[1])
    if not token.startswith('"'):
        return token
    return json.loads(_ESCAPE.sub(_short, token))


def _short(match: re.Match[str]) -> str:
    """JSON knows all of our escapes but the long one."""
    if match[1]:
        return json.dumps(chr(int(match[1], 16)))[1:-1]
    return match.group()
