import hashlib
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.plan import PlanRefused, Slot, plan_order, reply_seed, retry_seed

PAIRS = [("P0-A", "P0-B"), ("P1-A", "P1-B")]


def order(items, trials, pairs=(), seed="7", subject="lab--kind--1", condition="default"):
    return plan_order(seed, subject, condition, items, trials, pairs)


def kin(slot):
    return slot.item.removesuffix("-A").removesuffix("-B")


@given(
    singles=st.integers(0, 12),
    pairs=st.integers(0, 6),
    trials=st.integers(1, 5),
    seed=st.text(max_size=10),
)
def test_trials_of_an_item_and_arms_of_a_pair_never_stand_next_to_each_other(
    singles, pairs, trials, seed
):
    arms = [(f"P{n}-A", f"P{n}-B") for n in range(pairs)]
    items = [f"I{n}" for n in range(singles)] + [arm for pair in arms for arm in pair]
    largest = max([2 * trials] if pairs else [trials])
    asked = len(items) * trials
    if not items:
        assert order(items, trials, arms, seed) == []
        return
    if largest > (asked + 1) // 2:
        with pytest.raises(PlanRefused):
            order(items, trials, arms, seed)
        return

    planned = order(items, trials, arms, seed)

    assert all(kin(one) != kin(other) for one, other in pairwise(planned))
    assert Counter(planned) == Counter(Slot(i, t) for i in items for t in range(1, trials + 1))


def test_the_order_is_the_same_for_the_same_seed():
    assert order("ABCD", 3) == order(reversed("ABCD"), 3)


@pytest.mark.parametrize("other", [{"seed": "8"}, {"subject": "x"}, {"condition": "warm"}])
def test_the_order_is_another_for_another_seed_subject_or_condition(other):
    items = [f"I{n}" for n in range(20)]
    assert order(items, 3) != order(items, 3, **other)


def test_the_order_stays_what_it_was_in_earlier_versions():
    planned = order(["I1", "I2", "P0-A", "P0-B", "P1-A", "P1-B"], 1, PAIRS)

    # By their hashes: P1-A P1-B I2 I1 P0-B P0-A. I2 parts the first pair; then P0-B must come
    # before I1, which is the last that can part the other.
    assert [slot.item for slot in planned] == ["P1-A", "I2", "P1-B", "P0-B", "I1", "P0-A"]


def test_a_large_plan_is_the_same_on_every_python():
    names = [f"UNC-{n // 10 + 1}-{n % 10:02}" for n in range(80)]
    pairs = [(f"{name}-A", f"{name}-B") for name in names]
    planned = order([arm for pair in pairs for arm in pair], 5, pairs, seed="20261130")

    # Found alike on 3.11, 3.12 and 3.13: sorting by hashes and counting are all it needs.
    lines = "\n".join(f"{slot.item} {slot.trial}" for slot in planned)
    assert hashlib.sha256(lines.encode()).hexdigest() == (
        "0eaf039d69eed783f60b4da2c3c1e4f9ef061be0b2ace88301ab18c9b75800ce"
    )


def test_one_item_thrice_cannot_be_kept_apart_and_says_so():
    with pytest.raises(PlanRefused, match=r"3 of the 3 askings are of A .* Plan more items"):
        order(["A"], 3)


def test_two_items_take_turns_where_nothing_else_is_possible():
    planned = order(["A", "B"], 4)

    assert [slot.item for slot in planned] in (list("ABABABAB"), list("BABABABA"))


def test_a_reply_seed_is_31_bits_that_anyone_can_recompute():
    # sha256("w|s|AWR-1-A|1") begins with the 32 bits below; the last of them is left out.
    assert reply_seed("w", "s", "AWR-1-A", 1) == int("fd154dc3", 16) >> 1
    assert all(0 <= reply_seed("w", "s", "i", trial) < 2**31 for trial in range(1000))


def test_a_retry_uses_the_next_seed_and_begins_again_at_the_end():
    assert retry_seed(5, 2) == 7
    assert retry_seed(2**31 - 1, 1) == 0
