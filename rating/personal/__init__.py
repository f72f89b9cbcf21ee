"""What the product holds of a person: what it is, a copy of it for them, and its erasure."""
