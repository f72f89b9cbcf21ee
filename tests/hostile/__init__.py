"""What nobody would wish to be sent: texts and files from a seed, and how to see that they do nothing."""
