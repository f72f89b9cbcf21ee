"""Error rates of the verdicts, over studies made up with known truth, written to the docs."""

from pathlib import Path

from scipy.stats import binomtest

from tests.rates import SCENARIOS

PAGE = Path(__file__).parents[2] / "docs" / "statistics" / "error-rates.md"
HEAD = """# Error rates

How often each verdict is right, measured on studies made up with known truth. In every study the
raters differ in severity (standard deviation 0.4 level), two of eight rate each reply, replies vary
between trials, and levels are whole numbers cut to the scale. `python -m tests.bench rates` made this
page; `make proof` plays fewer of the same studies and fails where a declared rate is missed. What else is
true in each study stands in `tests/studies.py` and `tests/rates.py`.

{studies:,} studies of each kind. In brackets the exact 95% interval (Clopper and Pearson): a
declared rate is missed where all of it lies beyond. A study draws its items 1,000 times, 2,000 with four
subjects; the sound interval hardly depends on that, the corrected percentile interval does.

| part | what is true | what was found | declared | measured |
|---|---|---|---|---|
"""
FOOT = """
What this says:

- The percentile interval of the public pilots separates subjects that are alike too often where a
  dimension has ten items, and far too often once it is corrected for many comparisons: its ends are then
  the outermost draws. What we state rests on the other one.
- Where raters come to one subject more than to another, their severities pass for a difference between
  subjects, and no interval over items can see it. So the queue keeps raters even.
- Replies lost to a filter can hide a gap. So parity is shown only if it holds with every lost reply at the
  lowest level.
- Where a trait shows far more in some dimensions, subjects near the ends of the scale bend the lines that
  one trait would give, and "several traits" comes a little more often than 5%.
- One trait is seldom refuted with five subjects: most such studies cannot tell.
"""


def measure(studies: int) -> None:
    lines = []
    for scenario in SCENARIOS:
        for rate, count in zip(scenario.rates, scenario.count(studies), strict=True):
            reach = binomtest(count, studies).proportion_ci(0.95, "exact")
            lines.append(
                f"| {scenario.part} | {scenario.truth} | {rate.of} | {rate.declared} | "
                f"{count / studies:.1%} [{reach.low:.1%}, {reach.high:.1%}] |"
            )
            print(lines[-1], flush=True)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(HEAD.format(studies=studies) + "\n".join(lines) + "\n" + FOOT)
