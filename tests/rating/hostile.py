"""Responses that nobody would wish for: what a page must show as text, in good time."""

SIZE = 300_000


def filled(unit: str) -> str:
    return (unit * (SIZE // len(unit) + 1))[:SIZE]


HOSTILE = {
    "script": "<script>alert(1)</script>",
    "script in a fence": "```html\n<script>alert(1)</script>\n```",
    "closing what is around it": "</div></section></main></textarea></title><h1>mine</h1>",
    "picture with a handler": '<img src=x onerror="alert(1)"> ![x" onerror="y](z)',
    "link to a script": "[go](javascript:alert(1)) <javascript:alert(1)> [x]: javascript:y",
    "link with a quote": '[a](https://x.example/" onclick="alert(1) "t")',
    "htmx": '<b hx-get="/x" hx-trigger="load" hx-on:click="y()">b</b> <p id="panel">p</p>',
    "attributes in a list": '3." autofocus onfocus="x\n\n- " hx-get="/y',
    "attributes in a fence": '``` " onclick="x()\ncode\n```',
    "table of html": "<b>|<i>\n-|-\n<script>|</td></tr></table><h1>",
    "style": "<style>* { display: none }</style><link rel=stylesheet href=//x.example>",
    "template": "{{ card.text }} {% load static %} ${x} {{{x}}}",
    "nested": "> - # > **_~~`[![<b>](x)](y)`~~_** \n" * 50,
    "unclosed": "**a _b ~~c `d [e ![f](g ```\n> \n- \n# \n|",
    "bidi": "\u202e\u2066\u2067 <b> \u2069 שלום **\u202eعربي** \u200f\u061c [\u202e](x)",
    "white space": "\u2028\u2029\x0b\x0c\x85\u00a0\ufeff\r\r\n\t# \u00a0\n- \u2003",
    "deep lists": "\n".join(" " * depth + "- a" for depth in range(770)),
    "backticks of every length": " ".join("`" * length for length in range(1, 770)),
    **{
        f"300 kB of {unit!r}": filled(unit)
        for unit in (
            "[a](", "> ", "`", "**a ", "a|b\n-|-\n", "<b>", "# x\n", "\n> ", '[a](x "', "----",
        )
    },
}  # fmt: skip
