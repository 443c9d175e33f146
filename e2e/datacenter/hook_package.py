"""A package with a hook, as an installer leaves it; what the hook answers stands in a file."""

from dataclasses import dataclass
from pathlib import Path

HOOK = "probe-hook"
_HOOK = """
from pathlib import Path
import json

class Probe:
    name = "probe-hook"
    priority = 5
    async def services(self, ctx, datacenter):
        told = Path({file!r}).read_text()
        if told == "broken":
            raise RuntimeError("the inventory is away")
        return json.loads(told)
"""


@dataclass(frozen=True, slots=True)
class Package:
    """An installed package with a hook, which says what a file says."""

    folder: Path

    @property
    def file(self) -> Path:
        """What the hook answers, as JSON; the word "broken" breaks it."""
        return self.folder / "answer"

    def install(self) -> None:
        """Write the package as an installer leaves it."""
        about = self.folder / "probe_hooks-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: probe-hooks\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(
            "[openbao_operator.datacenter_hooks]\nprobe = probe_hooks:Probe\n"
        )
        (self.folder / "probe_hooks.py").write_text(_HOOK.format(file=str(self.file)))
