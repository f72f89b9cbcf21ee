"""Models as judges: they compare, find what a person should look at, and make nothing official.

A judgement is never a rating. No query of ratings reads these tables, no slot opens or closes by
them, and no score has them in it.
"""
