"""Renders the YAML of generated files. The same content produces the same bytes.

Uses pyyaml with libyaml. Called by baoctl.generate and release.
"""

import yaml


class _Dumper(yaml.CSafeDumper):
    """Writes repeated values in full: some readers refuse YAML aliases."""

    def ignore_aliases(self, data: object) -> bool:
        """Return True: never write an alias."""
        return True


def to_yaml(content: object, *, sort_keys: bool = False) -> str:
    """Return one document, without aliases."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=sort_keys, width=100, allow_unicode=True)
