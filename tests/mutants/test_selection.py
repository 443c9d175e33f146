"""Which test files are selected for a module, and in which order."""

import pytest

from tests.mutants.selection import FEW, MOST, Selection, imported_names

FILES = {
    "managers/__init__.py": "",
    "managers/upgrade/__init__.py": "",
    "managers/upgrade/rolling.py": "",
    "managers/upgrade/rolling_table.py": "",
    "managers/cluster/run.py": "from managers.upgrade import rolling",
    "baoctl/alone.py": "",
    "tests/gen/__init__.py": "from tests.gen.worlds import world",
    "tests/gen/worlds.py": "import managers.upgrade.rolling",
    "tests/managers/upgrade/test_course.py": "import managers.upgrade.rolling",
    "tests/managers/upgrade/test_other.py": "",
    "tests/managers/upgrade/test_rolling.py": "import managers.upgrade.rolling",
    "tests/managers/upgrade/test_table.py": "import managers.upgrade.rolling",
    "tests/managers/cluster/conftest.py": "from managers.upgrade.rolling import x",
    "tests/managers/cluster/test_plan.py": "",
    "tests/managers/cluster/test_run.py": "def f():\n    from managers.upgrade.rolling import x",
    "tests/simulation/test_far.py": "import managers.cluster.run",
    "tests/simulation/test_farther.py": "import baoctl.alone",
    "tests/contracts/test_worlds.py": "from tests.gen import world",
    "tests/integration/test_upgrade.py": "import managers.upgrade.rolling",
    "tests/house/test_rule.py": "import managers.upgrade.rolling",
    "tests/baoctl/test_run.py": "",
}


def test_the_closest_test_files_come_first() -> None:
    assert Selection(FILES).of("managers/upgrade/rolling.py") == (
        "tests/managers/upgrade/test_rolling.py",
        "tests/managers/upgrade/test_course.py",
        "tests/managers/upgrade/test_table.py",
        "tests/managers/cluster/test_run.py",
        "tests/contracts/test_worlds.py",
        "tests/managers/cluster/test_plan.py",
        "tests/simulation/test_far.py",
        "tests/managers/upgrade/test_other.py",
    )


def test_files_that_share_words_precede_the_rest_of_the_folder() -> None:
    first, *_ = Selection(FILES).of("managers/upgrade/rolling_table.py")
    assert first == "tests/managers/upgrade/test_rolling.py"


def test_a_folder_without_tests_has_those_of_its_parent() -> None:
    files = {"managers/upgrade/jobs/run.py": "", **FILES}
    selected = Selection(files).of("managers/upgrade/jobs/run.py")
    assert {path.rpartition("/")[0] for path in selected} == {"tests/managers/upgrade"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"tests/baoctl/test_run.py": ""}, ("tests/baoctl/test_run.py",)),
        ({"tests/baoctl/jobs/test_run.py": ""}, ("tests/baoctl/jobs/test_run.py",)),
        ({"tests/contracts/test_run.py": ""}, ()),
    ],
)
def test_without_an_import_the_test_folder_of_the_package_is_selected(
    files: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert Selection({"baoctl/alone.py": "", **files}).of("baoctl/alone.py") == expected


@pytest.mark.parametrize(
    ("importing", "count"), [("import runtime.x", MOST), ("import runtime.way", FEW)]
)
def test_a_selection_is_limited(importing: str, count: int) -> None:
    ways = {"runtime/x.py": "", "runtime/far.py": "import runtime.x"}
    ways["runtime/way.py"] = "import runtime.far"
    tests = {f"tests/managers/test_{number:03}.py": importing for number in range(99)}
    assert len(Selection({**ways, **tests}).of("runtime/x.py")) == count


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import a.b as c", ["a.b"]),
        ("from a import b, c", ["a", "a.b", "a.c"]),
        ("from . import b", ["p.q", "p.q.b"]),
        ("from ..r import b", ["p.r", "p.r.b"]),
    ],
)
def test_imported_names(text: str, names: list[str]) -> None:
    assert list(imported_names("p.q.m", False, text)) == names
