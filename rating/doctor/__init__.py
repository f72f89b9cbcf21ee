"""What is not as it should be with this installation, and how to put it right."""
