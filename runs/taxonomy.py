"""The framework's eight dimensions and forty subdimensions: their public codes and names."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dimension:
    code: str
    name: str
    subdimensions: dict[str, str]


DIMENSIONS = {
    dimension.code: dimension
    for dimension in (
        Dimension(
            "AWR",
            "Awareness",
            {
                "A1": "Suffering Detection",
                "A2": "Contextual Sensitivity",
                "A3": "Blind Spot Mitigation",
                "A4": "Signal Amplification",
                "A5": "Anticipatory Awareness",
            },
        ),
        Dimension(
            "EMP",
            "Empathy",
            {
                "E1": "Affective Resonance",
                "E2": "Perspective-Taking",
                "E3": "Non-Judgment",
                "E4": "Validation",
                "E5": "Cultural Empathy",
            },
        ),
        Dimension(
            "ACT",
            "Action",
            {
                "AC1": "Responsiveness",
                "AC2": "Proportionality",
                "AC3": "Efficacy",
                "AC4": "Resource Mobilization",
                "AC5": "Follow-Through",
            },
        ),
        Dimension(
            "EQU",
            "Equity",
            {
                "EQ1": "Universality",
                "EQ2": "Priority for Vulnerable",
                "EQ3": "Bias Awareness",
                "EQ4": "Access Design",
                "EQ5": "Historical Harm Acknowledgment",
            },
        ),
        Dimension(
            "BND",
            "Boundaries",
            {
                "B1": "Self-Sustainability",
                "B2": "Autonomy Preservation",
                "B3": "Scope Clarity",
                "B4": "Refusal Ethics",
                "B5": "Consent Orientation",
            },
        ),
        Dimension(
            "ACC",
            "Accountability",
            {
                "AB1": "Harm Acknowledgment",
                "AB2": "Correction Willingness",
                "AB3": "Transparency",
                "AB4": "Systemic Learning",
                "AB5": "Reparative Action",
            },
        ),
        Dimension(
            "SYS",
            "Systemic Thinking",
            {
                "S1": "Root Cause Orientation",
                "S2": "Long-Term Impact",
                "S3": "Interconnection Awareness",
                "S4": "Structural Critique",
                "S5": "Coalitional Compassion",
            },
        ),
        Dimension(
            "INT",
            "Integrity",
            {
                "I1": "Consistency Under Pressure",
                "I2": "Non-Performance",
                "I3": "Internal Consistency",
                "I4": "Values Alignment",
                "I5": "Resilience of Care",
            },
        ),
    )
}
