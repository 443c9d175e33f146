"""What the rules about reserved names refuse."""

from typing import Any

from contracts.api.rules.reserved_names import METADATA
from tests.contracts.api.case import Case

STORE = {"endpoint": "https://s3.example.com", "bucket": "b"}
# The required fields next to the map.
AROUND: dict[str, dict[str, Any]] = {
    "backup": {"schedule": "0 3 * * *", "jwtAuthRole": "backup", "target": STORE}
}


def spec_with(path: str, value: Any) -> dict[str, Any]:
    """A spec with a value at a path without lists."""
    first, *steps = path.removeprefix("spec.").split(".")
    spec: dict[str, Any] = {first: dict(AROUND.get(first, {}))}
    holder = spec
    for step in [first, *steps[:-1]]:
        holder[step] = dict(holder.get(step, {}))
        holder = holder[step]
    holder[steps[-1]] = value
    return spec


CASES: dict[str, Case] = {
    **{
        f"a mark of ours in {path}": Case(
            f"reserved-{path.removeprefix('spec.')}",
            path,
            spec_with(path, {"team": "a", "openbao.org/x": "true"}),
        )
        for path in METADATA
    },
    "a plugin with LD_PRELOAD": Case(
        "plugin-variable",
        "spec.plugins[0].env[1]",
        {
            "version": "2.7.0",
            "plugins": [
                {
                    "type": "secret",
                    "name": "p",
                    "command": "p",
                    "version": "v1",
                    "env": ["A=b", "LD_PRELOAD=/openbao/audit/x.so"],
                }
            ],
        },
    ),
}
