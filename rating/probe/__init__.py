"""The local probe: an MCP server over standard input and output that anyone can run.

A host (a program with a language model in it) takes its own model, or another, through the bank
and rates the replies with a model. That is a self-made reading and nothing more: not blinded, with
no person among the raters. So nothing here can say that it is official, and nothing compares.

As data flows: ``shelf`` (what of a bank may be served) → ``schemas`` (what may be asked) →
``chain`` (records on disk) → ``scored_run`` and ``judge_session`` → ``scorecard`` → ``guard``
(the one way out) → ``tools`` and ``server``. ``importing`` brings a finished run to human raters.
"""
