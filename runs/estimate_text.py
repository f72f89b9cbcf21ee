"""An estimate in lines, for the command."""

from collections.abc import Iterator

from runs.estimate import CARDS_TO_MEASURE, Estimate, percent
from runs.power import RATINGS, TRIALS, Spread
from runs.tokens import LETTERS_A_TOKEN


def money(amount: float, currency: str) -> str:
    return f"{amount:,.2f} {currency}".strip()


def assumptions(spread: Spread, *, of_pairs: bool) -> str:
    """How ratings are taken to vary, in a sentence."""
    between = (
        f"{spread.pairs} between the true gaps of a chamber's pairs"
        if of_pairs
        else f"{spread.items} between the items of a dimension"
    )
    return (
        f"Taken to vary, as standard deviations in levels: {between}, {spread.trials} between "
        f"replies to one item, {spread.raters} between ratings of one reply."
    )


def facts(told: Estimate) -> list[tuple[str, str]]:
    """What a plan takes, as names and values."""
    rows = [
        (
            "Calls",
            f"{told.items} items × {told.trials} trials × {len(told.runs)} runs = {told.calls:,}",
        ),
        *_probes(told),
        (
            "Tokens",
            f"about {told.tokens_in:,} sent and {told.tokens_out:,} received: a token for "
            f"{LETTERS_A_TOKEN} Latin letters or one of another script, and "
            f"{told.reply_tokens:,} for a reply{', the probes among them' if told.probes else ''}",
        ),
    ]
    if told.cost is None:
        rows.append(("Cost", f"cannot be told: there is no price of {', '.join(told.unpriced)}"))
    else:
        rows.append(("Cost", f"about {money(told.cost, told.currency)}, without retries"))
    if told.ceiling is not None:
        over = " The estimate is over it." if told.over_ceiling else ""
        rows.append(
            (
                "Ceiling",
                f"{money(told.ceiling, told.currency)}; the wave is paused when it is spent.{over}",
            )
        )
    rows.append(
        (
            "Raters",
            f"{told.ratings:,} ratings, {RATINGS} of each response: {told.hours:,.0f} hours "
            f"at {told.minutes_a_card:.1f} minutes a card, {timed(told)}",
        )
    )
    if told.power_of_all is not None and len(told.places) > 1:
        rows.append(
            (
                "Parity overall",
                f"shown in {percent(told.power_of_all)} where no chamber has a gap: all "
                f"{len(told.places)} must show it at once, taken as independent",
            )
        )
    return rows


def _probes(told: Estimate) -> Iterator[tuple[str, str]]:
    """What is asked beside the items."""
    if told.probes:
        calls, again = (sum(getattr(one, key) for one in told.probes) for key in ("calls", "again"))
        yield (
            "Probes",
            f"{told.probes[0].calls} calls × {len(told.probes)} "
            f"{'subject' if len(told.probes) == 1 else 'subjects'} = {calls:,} more; and at most "
            f"{again:,} again where an answer cannot be read, which the estimate leaves out",
        )


def as_lines(told: Estimate) -> Iterator[str]:
    """What a plan takes and what it buys."""
    for name, value in facts(told):
        yield f"{name}: {value}"
    for run in told.runs:
        cost = "no price given" if run.cost is None else money(run.cost, told.currency)
        yield f"  {run.snapshot}/{run.condition}: {run.calls:,} calls, {cost}"
    yield ""
    what = "parity gap" if told.of_pairs else "mean"
    yield f"Expected 95% interval of one run's {what}, as half its width in levels:"
    for place, width, power in told.rows:
        shown = f"; parity is shown in {power}" if power else ""
        yield f"  {place.name}: {width} ({place.n} {'pairs' if told.of_pairs else 'items'}){shown}"
    yield assumptions(told.spread, of_pairs=told.of_pairs)
    if told.of_pairs:
        yield ""
        yield from power_lines(told)


def timed(told: Estimate) -> str:
    """Where the minutes a card takes come from."""
    if told.measured:
        return f"the mean of {told.cards_timed:,} cards so far"
    return f"assumed until {CARDS_TO_MEASURE} cards have been timed"


def power_lines(told: Estimate) -> Iterator[str]:
    yield f"How often a chamber shows parity, margin {told.margin:g} level, where its true gap is 0:"
    yield "  pairs" + "".join(f"{trials:>10} trials" for trials in TRIALS)
    for pairs, row in told.power_rows:
        yield f"  {pairs:>5}" + "".join(f"{power:>17}" for power in row)
