"""e2e.churn.growth: objects that grow with the clusters are distinguished from all others."""

from e2e.churn.growth import TypeGrowth, find_growth

CLUSTERS = 480


def test_a_type_that_grows_with_each_cluster_is_reported() -> None:
    before, after = {"Session": 20, "dict": 9000}, {"Session": 500, "dict": 9960}
    assert find_growth(before, after, CLUSTERS) == [
        TypeGrowth("dict", 9000, 9960),
        TypeGrowth("Session", 20, 500),
    ]


def test_a_new_type_is_reported() -> None:
    assert find_growth({}, {"Session": CLUSTERS}, CLUSTERS) == [TypeGrowth("Session", 0, CLUSTERS)]


def test_a_fluctuating_type_is_not_reported() -> None:
    before, after = {"Task": 20, "Frame": 60, "Gone": 5}, {"Task": 140, "Frame": 12}
    assert find_growth(before, after, CLUSTERS) == []
