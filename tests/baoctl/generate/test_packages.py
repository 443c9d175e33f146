"""baoctl.generate.packages."""

from baoctl.generate.main import ROOT
from baoctl.generate.packages import package_tree
from tests.house.checkout import LAYERS, python_sources


def test_the_page_of_the_architecture_lists_every_package() -> None:
    tree = package_tree(source.path for source in python_sources(*LAYERS))
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert f"```text\n{tree}```" in page


def test_folders_of_a_package_are_listed_first() -> None:
    paths = ["a/__init__.py", "a/z/x.py", "a/b.py", "a/c.py"]
    assert package_tree(paths) == "a/\n    z/  b  c\n\na/z/\n    x\n"
