"""What is refused to whoever runs a wave."""


class WaveRefused(ValueError):
    """What cannot be done with a wave, with every reason."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))
