"""docs/image-verification.md names every message about an image that cannot be verified."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "managers" / "images"
PAGE = (ROOT / "docs" / "image-verification.md").read_text(encoding="utf-8")
ERRORS = ("VerificationError", "RegistryError")


def messages(module: ast.Module) -> Iterator[str]:
    """The messages of a module, each up to its first value."""
    constants = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    reasons = constants.get("_REASONS")
    pairs = reasons.elts if isinstance(reasons, ast.Tuple) else []
    texts = [pair.elts[1] for pair in pairs if isinstance(pair, ast.Tuple)]
    texts += [
        node.args[0]
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in ERRORS and node.args
    ]
    for text in texts:
        # A variable of a function has one of the other messages.
        named = constants.get(text.id) if isinstance(text, ast.Name) else text
        first = named.values[0] if isinstance(named, ast.JoinedStr) else named
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value


MESSAGES = {
    message: path.name
    for path in sorted(FOLDER.glob("*.py"))
    for message in messages(ast.parse(path.read_text(encoding="utf-8")))
}


@pytest.mark.parametrize("message", MESSAGES)
def test_the_page_names_the_message(message: str) -> None:
    words = re.split(r"[;:,(]", message)[0].strip().removesuffix(" of")
    assert words in PAGE


def test_messages_of_every_module_are_read() -> None:
    modules = {"cosign.py", "keyless.py", "registry.py", "signatures.py", "tlog.py"}
    assert set(MESSAGES.values()) == modules
