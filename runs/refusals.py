"""What is refused to whoever runs a wave."""


class WaveRefused(ValueError):
    """What cannot be done with a wave, with every reason."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


class PlanMoved(WaveRefused):
    """A draft is no longer what somebody had before them when they began to write."""

    def __init__(self) -> None:
        super().__init__(
            "Somebody else changed this draft after you opened the page. Theirs is stored. Look at "
            "what you have here, and send it again if it still holds."
        )
