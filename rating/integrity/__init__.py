"""Whether what is in the database is what was put there.

Each row that matters is hashed soon after it was written, and the hashes are chained (``sealing``).
``checking`` walks log, seals and rows; ``anchors`` says how far they went, to be kept elsewhere.
"""
