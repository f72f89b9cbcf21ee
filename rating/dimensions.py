"""What the items of a wave fall under: dimensions, or the chambers of a bank of pairs."""

from runs.models import Pair, Wave
from runs.taxonomy import DIMENSIONS


def dimensions_of(wave: Wave) -> tuple[list[str], dict[int, str]]:
    """The names that the wave's units fall under, in the instrument's order, and that of each item.

    For a bank of pairs these are its chambers.
    """
    items = list(wave.bank.items.values_list("pk", "dimension"))
    chambers = {row["code"]: row["name"] for row in wave.bank.meta.get("chambers", [])}
    if not chambers:
        used = {dimension for _, dimension in items}
        return (
            [dimension.name for code, dimension in DIMENSIONS.items() if code in used],
            {pk: DIMENSIONS[dimension].name for pk, dimension in items},
        )
    in_chamber = {
        arm: chambers[chamber]
        for chamber, *arms in Pair.objects.filter(bank=wave.bank).values_list(
            "chamber", "arm_a", "arm_b"
        )
        for arm in arms
    }
    return list(chambers.values()), in_chamber
