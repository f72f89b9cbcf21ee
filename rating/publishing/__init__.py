"""From the ratings of a wave to a report that can be published, and to the bundles behind it.

As the data go: ``data`` (plain rows) → ``results`` (every figure) → ``content`` (the report as an
allow-listed structure, from which each page and file is made) → ``bundle``. All of it is plain
Python; ``gather`` brings the rows out of the database and ``acts`` keeps what was published.
"""
