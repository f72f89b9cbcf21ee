"""A backup: one file that any database of ours can be made from again, whichever kind it was."""
