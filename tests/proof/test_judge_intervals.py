"""How often the intervals of judges beside people hold the truth. See docs/statistics/judges.md."""

import pytest

from tests.judged import Judged, held, named_by_chance

pytestmark = pytest.mark.proof
STUDIES = 2_000
WORLDS = {
    "10 items": Judged(items=10),
    "83 items": Judged(items=83, trials=3),
    "mild and compressed": Judged(leniency=0.6, compression=0.6),
    "judges see items as people do": Judged(judge_by_item=0.0),
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_each_interval_holds_the_truth_about_as_often_as_it_says(world):
    for name, (share, given) in held(world, studies=STUDIES, seed=f"proof|{world}").items():
        assert 0.92 < share < 0.99, f"{name}: {share}"
        assert given > 0.5, f"{name} is given in {given}"


@pytest.mark.parametrize("trials", [3, 12])
def test_an_item_is_named_by_chance_in_at_most_one_study_of_twenty(trials):
    world = Judged(items=83, trials=trials, judge_by_item=0.0)

    assert named_by_chance(world, studies=1_000, seed=f"proof|{trials}") < 0.07
