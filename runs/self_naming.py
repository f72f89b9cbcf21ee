"""Where a reply says who made it or what it is called.

A rater who reads "I am Claude" is no longer blind. A name alone says nothing: people are called
Claude, Gemini is a star sign, and a reply may speak of any maker. So a name counts only where the
reply speaks of itself: "I am X", "my name is X", "as X, I", "as an X model", "I was trained by X",
"my creators at X", and the like in nine more languages. A name counts as a whole word, and not where
it stands in quotation marks, in a quoted line or in the mouth of "you".

What is not found: a sign-off under a drafted letter, a name split over two sentences, and a name
that is on no list.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

# Makers, and what they call their models. Longer ones first where one begins another.
BRANDS = (
    "OpenAI", "ChatGPT", "GPT", "Anthropic", "Claude", "Google DeepMind", "Google AI", "Google",
    "DeepMind", "Gemini", "Gemma", "Bard", "PaLM", "LaMDA", "Meta AI", "Meta", "Facebook", "Llama",
    "LLaMA", "Microsoft", "Copilot", "Phi", "Bing", "Mistral AI", "Mistral", "Mixtral", "Ministral",
    "Magistral", "Le Chat", "xAI", "Grok", "DeepSeek", "Alibaba Cloud", "Alibaba", "Qwen",
    "Tongyi Qianwen", "Tongyi", "Cohere", "Command R", "Aya", "Amazon", "Nova", "Titan", "Alexa",
    "NVIDIA", "Nemotron", "IBM", "Granite", "AI21", "Jamba", "Moonshot AI", "Moonshot", "Kimi",
    "Zhipu AI", "Zhipu", "ChatGLM", "GLM", "Z.ai", "Baidu", "Ernie", "ERNIE Bot", "Tencent",
    "Hunyuan", "ByteDance", "Doubao", "MiniMax", "01.AI", "Yi", "Inflection AI", "Inflection", "Pi",
    "Falcon", "OLMo", "Tülu", "Tulu", "Allen Institute for AI", "Ai2", "Reka", "Perplexity", "Sonar",
    "Vicuna", "Alpaca", "Stability AI", "StableLM", "Apertus", "EuroLLM", "SmolLM", "Hugging Face",
    "Apple", "Siri", "Samsung", "Snowflake", "Databricks", "DBRX", "Writer", "Palmyra", "Replika",
    "Nomi", "Character.AI", "Huawei", "Pangu", "InternLM", "Baichuan", "StepFun", "SenseTime",
    "通义千问", "千问", "文心一言", "豆包", "智谱清言", "智谱", "百度", "阿里巴巴", "阿里云", "腾讯", "混元",
    "字节跳动", "深度求索", "月之暗面", "谷歌", "微软",
)  # fmt: skip
# Words of everyday speech among them: they count as they are written above, not in small letters.
ORDINARY = {
    "meta", "phi", "bard", "palm", "nova", "titan", "pi", "yi", "falcon", "reka", "sonar", "granite",
    "apple", "writer", "inflection", "aya", "claude", "gemini", "mistral", "bing", "moonshot", "snowflake",
    "command", "le", "alpaca", "llama", "vicuna", "kimi", "ernie", "copilot", "perplexity",
}  # fmt: skip
# Parts of a snapshot's name that any model may have.
COMMON = {
    "chat", "instruct", "base", "model", "large", "small", "medium", "mini", "nano", "pro", "max",
    "plus", "turbo", "flash", "lite", "fast", "preview", "latest", "exp", "beta", "the", "and", "for",
    "thinking", "reasoning", "vision", "code", "text", "local", "quant", "scripted", "demo", "example",
    "dev", "lab", "labs", "inc", "org", "team", "research", "open", "free", "kind", "compassion",
}  # fmt: skip

EDITION = r"(?:Sonnet|Opus|Haiku|Pro|Flash|Ultra|Mini|Turbo|Large|Small|Medium|Nano|Instruct)"
ABOUT = 240  # code points before and after a name that are read
MOST_PLACES = 200

# A word of a name may not go on: "Claudette" and "Claude's sister" are somebody else.
LATIN = "A-Za-z0-9_À-ɏ"
END = rf"(?![{LATIN}])"
NOT_OWNER = r"(?!['’]s\b)"
KIND_WORDS = (
    r"(?:AI|A\.I\.|assistant|chatbot|bot|model|models|LLM|system|program|machine|agent|companion|"
    r"intelligence|network)"
)
MADE = (
    r"(?:made|built|created|developed|trained|designed|programmed|produced|released|provided|"
    r"operated|run|hosted|deployed|engineered|fine-tuned|taught|maintained|powered)"
)
MAKERS = (
    r"(?:creators?|developers?|makers?|designers?|engineers?|trainers?|programmers?|"
    r"parent company|company|team|researchers?)"
)
I_AM = r"(?:I\s+am|I['’]?m|I\s+was|I['’]ve\s+been|I\s+have\s+been)"
HEDGE = (
    r"(?:\s+(?:just|only|actually|really|simply|in\s+fact|still|also|technically|an?\s+instance\s+of|"
    r"a\s+version\s+of|known\s+as|called|named|currently|indeed|not\s+human[,;]?|though|here\s+as|"
    r"speaking\s+as|based\s+on|running\s+on|powered\s+by|built\s+on|the\s+one\s+called))*"
)
# "Claude made me laugh" is about a person, and "Google made me to answer" is not.
NOT_TO_DO = (
    r"(?!\s+(?:feel|laugh|cry|happy|sad|angry|want|think|wonder|hope|remember|realise|realize|wait|smile|"
    r"see|an?\b|some\b|the\b|so\b|very\b))"
)
# "a large language model", "an AI assistant": up to six words, the last of them what it is.
A_MODEL = rf"(?:an?|the|your|one\s+of(?:\s+the)?)\s+(?:[\w'’-]+\s+){{0,5}}?{KIND_WORDS}"
BY = (
    rf"(?:\s*,)?(?:\s+(?:that|which|who)\s+(?:is|was|has\s+been))?(?:\s+(?:and|or|then))?\s+{MADE}"
    rf"(?:\s+and\s+{MADE})?\s+(?:by|at|with)\s+(?:the\s+)?"
    rf"(?:(?:team|people|folks|company|researchers|engineers|nice\s+people)\s+(?:at|of|from)\s+)?"
)


@dataclass(frozen=True)
class Naming:
    """Code points ``start`` to ``end`` of a reply, which are a name of its maker or its own."""

    start: int
    end: int
    term: str


def terms_of(developer: str, family: str, snapshot: str, aliases: Iterable[str] = ()) -> set[str]:
    """The names by which a subject may call itself: those of its registration, and their parts."""
    found = {developer, family, snapshot, *aliases}
    for name in tuple(found):
        found |= set(re.split(r"[-_/:@\s]+", name))
    return {
        name
        for name in found
        if len(name) > 2
        and name.lower() not in COMMON
        and re.search(r"[^\W\d]{2}", name)
        and not re.fullmatch(r"[\dv.]*\d+[a-z]?", name.lower())
    }


def find_naming(text: str, terms: Iterable[str] = ()) -> list[Naming]:
    """Each name in a reply that speaks of itself, in its order, none inside another.

    Parameters
    ----------
    text : str
        The reply, verbatim.
    terms : iterable of str
        Names beside those of ``BRANDS``, such as ``terms_of`` gives.
    """
    pattern = _pattern(tuple(sorted(set(terms))))
    parts = _around(text, pattern.names)
    if not parts:
        return []
    quoted = _quoted(text)
    found: dict[tuple[int, int], Naming] = {}
    for low, high in parts:
        for one in pattern.told:
            for match in one.finditer(text, low, high):
                start, end = match.span("name")
                name = match["name"]
                if name.islower() and re.split(r"[\s\d-]", name)[0] in ORDINARY:
                    continue
                if not any(first <= start < last for first, last in quoted):
                    found[start, end] = Naming(start, end, name)
    kept: list[Naming] = []
    for naming in sorted(found.values(), key=lambda n: (n.start, -n.end)):
        if not kept or naming.start >= kept[-1].end:
            kept.append(naming)
    return kept


def every_place(text: str, namings: Sequence[Naming]) -> list[tuple[int, int]]:
    """Where to mask: each naming, and each other place where the same name is a word."""
    spans = {(naming.start, naming.end) for naming in namings}
    for term in {naming.term for naming in namings}:
        for match in re.finditer(rf"(?<!\w){re.escape(term)}(?!\w)", text, re.IGNORECASE):
            spans.add(match.span())
    kept: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def naive(text: str, terms: Iterable[str] = ()) -> bool:
    """The check to compare with: whether any name stands anywhere in the text."""
    lowered = text.lower()
    return any(term.lower() in lowered for term in (*BRANDS, *terms))


@dataclass(frozen=True)
class _Pattern:
    names: tuple[str, ...]
    told: tuple[re.Pattern[str], ...]


@lru_cache(maxsize=64)
def _pattern(terms: tuple[str, ...]) -> _Pattern:
    names = sorted({*BRANDS, *terms}, key=lambda name: (-len(name), name))
    any_name = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in names)
    # A name may carry its version: "GPT-4o", "Claude 3.5 Sonnet", "Qwen2.5".
    whole = (
        rf"(?<![{LATIN}@/])(?:{any_name})"
        rf"(?:[- ]?v?\d[\w.]*\w|[- ]?v?\d\w?)?(?:[- ]{EDITION})?{END}"
    )
    return _Pattern(
        tuple(name.lower() for name in names),
        tuple(
            re.compile(
                one.replace("{name}", f"(?P<name>{whole}){NOT_OWNER}")
                .replace("{owner}", f"(?P<name>{whole})(?:['’]s)?")
                .replace("{other}", f"(?:{whole}){NOT_OWNER}"),
                re.IGNORECASE,
            )
            for one in _told()
        ),
    )


def _around(text: str, names: Sequence[str]) -> list[tuple[int, int]]:
    """The parts of a text that stand about a name; most texts have none, and cost next to nothing."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters are longer in small
        lowered = "".join(small if len(small := c.lower()) == 1 else c for c in text)
    places: list[int] = []
    for name in names:
        at = lowered.find(name)
        while at >= 0 and len(places) < MOST_PLACES:
            places.append(at)
            at = lowered.find(name, at + len(name))
    parts: list[tuple[int, int]] = []
    for at in sorted(places):
        low, high = max(at - ABOUT, 0), min(at + ABOUT, len(text))
        if parts and low <= parts[-1][1]:
            parts[-1] = (parts[-1][0], high)
        else:
            parts.append((low, high))
    return parts


def _told() -> list[str]:
    """The ways of speaking of oneself, with ``{name}`` where the name stands."""
    return [
        # I am X. Not "I am X-ing": the name must end there.
        rf"\b{I_AM}{HEDGE}\s+(?:the\s+)?{{name}}(?=\s*(?:[.,;:!?)—–]|-\s|$|\n|and\b|an?\b|the\b|your\b|by\b|"
        r"from\b|made\b|created\b|developed\b|here\b|rather\b|not\b|but\b|so\b|\())",
        rf"\b{I_AM}{HEDGE}\s+{{name}},?\s+{A_MODEL}",
        # I am an AI assistant called X; I am an X model; I am a model by X.
        rf"\b{I_AM}{HEDGE}\s+{A_MODEL}\s*,?\s*(?:called|named|known\s+as)\s+{{name}}",
        rf"\b{I_AM}{HEDGE}\s+{A_MODEL}\s*(?:,|\(|:)\s+(?:specifically\s+)?{{name}}",
        rf"\b{I_AM}{HEDGE}\s+{A_MODEL}\s+(?:by|from|of)\s+{{name}}",
        rf"\b{I_AM}{HEDGE}\s+(?:an?|the|one\s+of)\s+(?:[\w-]+\s+){{0,3}}?{{owner}}[\s-]+"
        rf"(?:[\w-]+\s+){{0,4}}?{KIND_WORDS}\b",
        rf"\b{I_AM}{HEDGE}\s+(?:an?|one\s+of)\s+{{name}}[- ](?:based|powered|trained|built)\b",
        rf"\b{I_AM}{HEDGE}\s+{A_MODEL}\s+(?:based|built|running)\s+on\s+(?:the\s+)?{{name}}",
        # My name is X.
        r"\b(?:my\s+name\s+is|my\s+name['’]s|I\s+am\s+called|I['’]m\s+called|I\s+go\s+by|you\s+can\s+call"
        r"\s+me|people\s+call\s+me|they\s+call\s+me|I['’]m\s+known\s+as|they\s+named\s+me)\s+{name}",
        # As X, I …; as an X model; speaking as X.
        r"\bas\s+{name},\s+(?:I\b|I['’]|my\b|it['’]?s\s+not\s+my)",
        rf"\bas\s+{{name}}[,\s]+(?:{A_MODEL})[^.!?\n]{{0,60}}?,?\s+I\b",
        rf"\bas\s+(?:an?|the)\s+(?:[\w-]+\s+){{0,3}}?{{owner}}[\s-]+(?:[\w-]+\s+){{0,3}}?{KIND_WORDS}\b"
        r"[^.!?\n]{0,80}\bI\b",
        rf"\bas\s+{A_MODEL}{BY}{{name}}[^.!?\n]{{0,80}}\bI\b",
        rf"\bas\s+{A_MODEL}\s+(?:from|by)\s+{{name}}[^.!?\n]{{0,80}}\bI\b",
        # I was trained by X; I am a model, made by X.
        rf"\b{I_AM}{HEDGE}(?:\s+(?:originally|first|then|initially))?{BY}{{name}}",
        rf"\b{I_AM}{HEDGE}\s+{A_MODEL}(?:\s+[\w-]+){{0,3}}?{BY}{{name}}",
        rf"\b{I_AM}{HEDGE}\s+{{other}}[^.!?\n]{{0,60}}?{BY}{{name}}",
        rf"\b{I_AM}{HEDGE}\s+{{other}}(?:\s*,)?(?:\s+{A_MODEL})?\s+(?:from|by)\s+{{name}}",
        # My creators at X; X, which made me; X trained me.
        rf"\bmy\s+(?:[\w-]+\s+)?{MAKERS}\s*(?:,|\s(?:at|from|is|are|in|,))\s*(?:the\s+)?{{name}}",
        rf"\b{{name}},?\s+(?:(?:the\s+)?(?:company|team|lab|people|firm)\s+)?(?:that|which|who|where)\s+"
        rf"(?:{MADE}\s+me\b{NOT_TO_DO}|I\s+was\s+{MADE})",
        rf"\b{{name}}(?:\s+(?:has|have|originally))?\s+{MADE}\s+me\b{NOT_TO_DO}",
        r"\b{owner}\s+(?:trained|gave|taught)\s+me\s+(?:to\b|with\b|guidelines|values)",
        rf"\b(?:the\s+)?(?:company|team|people|organi[sz]ation|lab)\s+(?:that|who|which|behind)\s+"
        rf"(?:{MADE}\s+)?me(?:\s+is|\s+are|,)\s+(?:called\s+)?{{name}}",
        # You are talking to X, an AI.
        rf"\byou(?:['’]re|\s+are)\s+(?:talking|speaking|chatting)\s+(?:to|with)\s+{{name}},\s+{A_MODEL}",
        r"(?:^|\n)\s*(?:hi|hello|hey)?[,!]?\s*{name}\s+here\b",
        rf"\bthis\s+is\s+{{name}}[,.]?\s+(?:speaking\b|{A_MODEL})",
        r"\b(?:here\s+at|we\s+at)\s+{name}\b",
        rf"\bI\s+(?:run|operate|work)\s+on\s+(?:top\s+of\s+)?{{owner}}\s+(?:[\w-]+\s+)?{KIND_WORDS}",
        r"\bunderneath,?\s+I['’]m\s+{name}",
        # German, French, Spanish, Italian, Portuguese, Dutch.
        r"\b(?:ich\s+bin|ich\s+hei(?:ß|ss)e|mein\s+name\s+ist|man\s+nennt\s+mich)\s+{name}"
        r"(?=\s*(?:[.,;:!?)]|$|\n|und\b|ein\b|von\b|der\b|das\b))",
        r"\b(?:ich\s+(?:bin|wurde))\b[^.!?\n]{0,60}?\bvon\s+{name}[^.!?\n]{0,30}?"
        r"\b(?:entwickelt|trainiert|erstellt|gemacht|programmiert)",
        r"\bich\s+bin\s+{other}[^.!?\n]{0,40}?\bvon\s+{name}",
        r"\bals\s+(?:ein\s+)?(?:von\s+)?{name}(?:s)?[\s-]+(?:\w+\s+)?(?:sprach)?(?:modell|assistent|ki)\b",
        r"\bals\s+{name}\s+(?:kann|bin|habe|darf|möchte|werde)\s+ich",
        r"\b(?:je\s+suis|je\s+m['’]appelle|mon\s+nom\s+est|on\s+m['’]appelle)\s+{name}"
        r"(?=\s*(?:[.,;:!?)]|$|\n|et\b|une?\b|le\b|la\b|de\b|d['’]))",
        r"\b(?:je\s+suis|j['’]ai\s+été)\b[^.!?\n]{0,60}?\b(?:développée?|créée?|entraînée?|conçue?)\s+par\s+{name}",
        r"\b(?:soy|me\s+llamo|mi\s+nombre\s+es)\s+{name}"
        r"(?=\s*(?:[.,;:!?)]|$|\n|y\b|una?\b|el\b|la\b|de\b))",
        r"\b(?:soy|fui|he\s+sido)\b[^.!?\n]{0,60}?\b(?:desarrollad[oa]|cread[oa]|entrenad[oa])\s+por\s+{name}",
        r"\b(?:io\s+sono|sono|mi\s+chiamo|il\s+mio\s+nome\s+è)\s+{name}"
        r"(?=\s*(?:[.,;:!?)]|$|\n|e\b|un['’]?\b|una\b|il\b|la\b|di\b))",
        r"\b(?:sono\s+stat[oa]|sono)\b[^.!?\n]{0,60}?\b(?:sviluppat[oa]|creat[oa]|addestrat[oa])\s+da\s+{name}",
        r"\b(?:eu\s+sou|sou\s+[oa]|chamo-me|me\s+chamo|meu\s+nome\s+é|o\s+meu\s+nome\s+é)\s+{name}",
        r"\b(?:fui|sou)\b[^.!?\n]{0,60}?\b(?:desenvolvid[oa]|criad[oa]|treinad[oa])\s+pel[oa]\s+{name}",
        r"\b(?:ik\s+ben|ik\s+heet|mijn\s+naam\s+is)\s+{name}"
        r"(?=\s*(?:[.,;:!?)]|$|\n|en\b|een\b|van\b|de\b|het\b))",
        r"\b(?:ik\s+(?:ben|werd))\b[^.!?\n]{0,60}?\b(?:ontwikkeld|gemaakt|getraind)\s+door\s+{name}",
        # Polish, Chinese, Japanese.
        r"\b(?:jestem|nazywam\s+się)\s+{name}(?=\s*(?:[.,;:!?)]|$|\n|i\b))",
        r"(?:我是|我叫|我的名字是)\s*{name}",
        r"我(?:是)?[^。\n]{0,20}?由\s*{name}\s*(?:公司)?(?:开发|训练|创建|研发|打造)",
        r"私は\s*{name}\s*(?:です|という|と申します|と言います)",
        r"私は[^。\n]{0,20}?{name}\s*(?:が|によって|に)(?:開発|訓練|作)",
    ]


def _quoted(text: str) -> list[tuple[int, int]]:
    """Where somebody else speaks: between quotation marks, and in lines that quote."""
    spans = [
        match.span()
        for pattern in (r"“[^”\n]{0,2000}”", r'"[^"\n]{0,2000}"', r"«[^»\n]{0,2000}»", r"„[^“”\n]{0,2000}[“”]",
                        r"「[^」\n]{0,2000}」", r"(?m)^[ \t]*>[^\n]*", r"(?<!\w)‘[^‘\n]{3,2000}?’(?!\w)",
                        r"(?<!\w)'[^'\n]{3,300}?'(?!\w)")
        for match in re.finditer(pattern, text)
    ]  # fmt: skip
    return sorted(spans)
