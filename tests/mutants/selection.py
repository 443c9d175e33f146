"""Which test files can see a module, nearest first: a static graph of imports. Pure.

Called by the runner. In this order:

1. the files whose name matches, of those in the mirrored folder: of managers/upgrade/jobs.py,
   tests/managers/upgrade/test_jobs*.py; a folder without tests has those of the next one above;
2. the rest of the mirrored folder, as far as it imports the module in some way;
3. other files that import the module, directly or through modules of `tests` (a conftest.py of
   their folders included);
4. if fewer than FEW files import it with at most one other module of the product between, files
   that import it through more of them, up to that number;
5. the rest of the mirrored folder: a test that starts a process imports nothing.

Only the first MOST files of this list are run, so that a survivor does not cost a whole run of all
tests. If nothing is left, it is the test folder of the package. Tests of other mutants, of the
house and against real servers are never selected.
"""

import ast
import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

MOST = 60
FEW = 20
_NEVER = ("tests/house/", "tests/integration/", "tests/mutants/")
# A step through a module of the product is longer than every chain of modules of the tests.
_PRODUCT_STEP = 1000
_CONFTEST_STEP = 10
_FAR = 10**9
_FEW_WITHIN = 2 * _PRODUCT_STEP
_NO_TIER = 6


class Selection:
    """The import graph of the product and its tests, made from their texts by path."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._paths = {module_name(path): path for path in files}
        self._importers: dict[str, dict[str, int]] = defaultdict(dict)
        self._tests = sorted(path for path in files if is_unit_test(path))
        self._folders = {str(PurePosixPath(test).parent) for test in self._tests}
        for module, path in self._paths.items():
            for imported, step in self._steps(module, path, files[path]):
                known = self._importers[imported].get(module, step)
                self._importers[imported][module] = min(step, known)
        self.of = cache(self._of)

    def _of(self, path: str) -> tuple[str, ...]:
        """The test files for a module of the product, by path, in the order in which to run."""
        distances = self._distances(module_name(path))
        folders = (f"tests/{parent}" for parent in PurePosixPath(path).parents)
        folder = next((name for name in folders if name in self._folders), "")
        ranked = sorted(
            (*_rank(path, folder, test, distances.get(test, _FAR)), test) for test in self._tests
        )
        close = sum(tier <= 3 and distance < _FEW_WITHIN for tier, _, distance, _ in ranked)
        far = [test for tier, *_, test in ranked if tier == 4][: max(0, FEW - close)]
        near, last = ([row[-1] for row in ranked if row[0] in tiers] for tiers in ((1, 2, 3), (5,)))
        selected = (*near, *far, *last)[:MOST]
        package = f"tests/{path.partition('/')[0]}/"
        return selected or tuple(test for test in self._tests if test.startswith(package))[:MOST]

    def _steps(self, module: str, path: str, text: str) -> Iterator[tuple[str, int]]:
        """What a module imports, with the length of the step."""
        step = 1 if path.startswith("tests/") else _PRODUCT_STEP
        for name in imported_names(module, path.endswith("/__init__.py"), text):
            for known in _with_packages(name):
                if known in self._paths and known != module:
                    yield known, step
        if PurePosixPath(path).name.startswith("test_"):
            for package in _with_packages(module):
                conftest = f"{package.rpartition('.')[0]}.conftest"
                if conftest in self._paths:
                    yield conftest, _CONFTEST_STEP

    def _distances(self, module: str) -> dict[str, int]:
        """The length of the shortest chain of imports from each file to a module."""
        lengths = {module: 0}
        queue = [(0, module)]
        while queue:
            length, current = heapq.heappop(queue)
            if length > lengths[current]:
                continue
            for importer, step in self._importers[current].items():
                if length + step < lengths.get(importer, _FAR):
                    lengths[importer] = length + step
                    heapq.heappush(queue, (length + step, importer))
        return {
            self._paths[name]: length for name, length in lengths.items() if name in self._paths
        }


def _rank(path: str, folder: str, test: str, distance: int) -> tuple[int, int, int]:
    """The tier of a test file as numbered above, the words it shares, and its distance."""
    is_mirrored = str(PurePosixPath(test).parent) == folder
    module, name = PurePosixPath(path).stem, PurePosixPath(test).stem
    shared = _shared_words(module, name) if is_mirrored else 0
    if is_mirrored and (name == f"test_{module}" or name.startswith(f"test_{module}_")):
        tier = 1
    elif is_mirrored:
        tier = 2 if distance < _FAR else 5
    elif distance < _FAR:
        tier = 3 if distance < _PRODUCT_STEP else 4
    else:
        tier = _NO_TIER
    return tier, -shared, distance


def _shared_words(module: str, test: str) -> int:
    return len({*module.split("_")} & {*test.removeprefix("test_").split("_")})


def is_unit_test(path: str) -> bool:
    """Whether a file holds tests that need no server."""
    name = PurePosixPath(path).name
    return path.startswith("tests/") and name.startswith("test_") and not path.startswith(_NEVER)


def module_name(path: str) -> str:
    """The name under which a file is imported."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported_names(module: str, is_package: bool, text: str) -> Iterator[str]:
    """All names that a module imports anywhere; of `from a import b`, both a and a.b."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, is_package, node)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _absolute(module: str, is_package: bool, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + is_package]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _with_packages(name: str) -> Iterable[str]:
    """A module and the packages around it, which are imported before it."""
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))
