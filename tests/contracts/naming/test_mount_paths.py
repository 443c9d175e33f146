"""The folders of a server pod: configuration, mounts and defaults of the API agree on them."""

import re
from pathlib import PurePosixPath

from contracts.api.cluster.seal import KEY_PATH, StaticSeal
from contracts.hcl.render import ConfigInput, render_config
from contracts.naming import mount_paths
from tests import gen

FOLDERS = {
    name: PurePosixPath(value)
    for name, value in vars(mount_paths).items()
    if name.isupper() and isinstance(value, str)
}


def test_all_paths_are_absolute_and_not_nested() -> None:
    """Nested mounts would depend on the order of the mounts."""
    for name, folder in FOLDERS.items():
        assert folder.is_absolute(), name
        for other, path in FOLDERS.items():
            assert name == other or not folder.is_relative_to(path), (name, other)


def test_the_unseal_key_is_in_the_folder_of_its_secret() -> None:
    assert PurePosixPath(KEY_PATH).parent == FOLDERS["UNSEAL"]
    assert StaticSeal().current_key == f"file://{KEY_PATH}"


def test_the_configuration_names_no_other_folder() -> None:
    text = render_config(ConfigInput.of(gen.cluster().read(), None))
    named = re.findall(r'"(?:file://)?(/[^"]*)"', text)
    assert named
    for path in map(PurePosixPath, named):
        assert any(path.is_relative_to(folder) for folder in FOLDERS.values()), path
