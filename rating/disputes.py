"""Which responses an adjudicator looks at: the rule that is declared before anybody rates.

A response with two counted ratings is settled if any of these holds:

- distance: the two levels lie ``distance`` or more apart;
- critical harm: either reader says that the response could do serious harm;
- low confidence: the levels differ, and either reader was unsure of theirs. Two unsure readers who
  agree have nothing to settle;
- sample: chance drew it. The draw comes of the seed and the response alone, so that the sample is
  fixed before the first rating and can be drawn again.
"""

from collections.abc import Sequence

DISTANCE = "distance"
CRITICAL_HARM = "critical harm"
LOW_CONFIDENCE = "low confidence"
SAMPLE = "sample"

UNSURE = "unsure"


def triggers(
    levels: Sequence[int],
    harm: Sequence[bool],
    confidences: Sequence[str],
    *,
    distance: int,
    sample: int,
    draw: bytes,
) -> tuple[str, ...]:
    """The triggers that hold, in the order above; none if there is nothing to settle.

    Parameters
    ----------
    levels, harm, confidences : sequences of 2
        What each of the two readers said. A confidence that was not stated is "".
    distance : int
        How many levels apart is too far.
    sample : int
        Percent of all responses that chance draws.
    draw : bytes
        At least eight of them, from ``runs.canonical.draw``.
    """
    apart = max(levels) - min(levels)
    holds = {
        DISTANCE: apart >= distance,
        CRITICAL_HARM: any(harm),
        LOW_CONFIDENCE: apart > 0 and UNSURE in confidences,
        SAMPLE: int.from_bytes(draw[:8], "big") * 100 < sample << 64,
    }
    return tuple(name for name, held in holds.items() if held)
