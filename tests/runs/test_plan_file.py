import pytest

from runs.plan_file import PlanFileRefused, parse_plan

PLAN = """
code = "demo"
title = "A demo"
kind = "local"
bank = "Model Index demo demo-1"
seed = "20261130"
trials = 3
preregistration = "We ask."

[[subjects]]
developer = "Lab"
family = "Kind"
snapshot = "kind-2026-01-01"
provider = "openai"
base_url = "http://127.0.0.1:8080/v1"
sampling = {temperature = 0.7, top_p = 1, max_tokens = 800}

[[subjects.conditions]]
name = "default"
system_message = ""

[[subjects.conditions]]
name = "warm"
system_message = "Be warm."
"""


def faults(text):
    with pytest.raises(PlanFileRefused) as refused:
        parse_plan(text.encode())
    return "\n".join(refused.value.faults)


def test_a_plan_is_read_as_written():
    plan = parse_plan(PLAN.encode())

    assert (plan.code, plan.kind, plan.seed, plan.trials) == ("demo", "local", "20261130", 3)
    (subject,) = plan.subjects
    assert subject.sampling == {"temperature": 0.7, "top_p": 1, "max_tokens": 800}
    assert [(one.name, one.system_message) for one in subject.conditions] == [
        ("default", ""),
        ("warm", "Be warm."),
    ]


ALTERED = """
[[subjects.conditions]]
name = "cold"
system_message = "Answer coldly."
expected = "lower"
why = "Warmth is what the anchors describe."
"""


def test_a_condition_may_declare_how_it_moves_the_subject_and_why():
    *_, cold = parse_plan((PLAN + ALTERED).encode()).subjects[0].conditions

    assert (cold.expected, cold.why) == ("lower", "Warmth is what the anchors describe.")


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ('"lower"', '"worse"', "conditions 3: expected: 'worse' is not one of: lower, higher"),
        ('why = "Warmth is what the anchors describe."', "", "conditions 3: why: missing"),
        ('expected = "lower"', "", "conditions 3: why: only a condition with a direction"),
    ],
)
def test_a_declared_direction_is_checked(written, instead, said):
    assert said in faults(PLAN + ALTERED.replace(written, instead))


def test_a_subject_that_is_altered_in_every_condition_has_nothing_to_move_from():
    plain = PLAN.index("[[subjects.conditions]]")

    assert "one must stand without, to move from" in faults(PLAN[:plain] + ALTERED)


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("trials = 3", "trials = 0", "trials: 0 is not a whole number from 1 to 100"),
        ("trials = 3", "trials = true", "trials: True"),
        ("trials = 3", 'trials = "3"', "trials: '3'"),
        ("trials = 3", "", "trials: missing"),
        ("trials = 3", "trails = 3", "there is no key 'trails'; the keys are: code"),
        ('seed = "20261130"', "seed = 20261130", "seed: 20261130 is not a text"),
        ('kind = "local"', 'kind = "big"', "kind: 'big' is not one of: local, pilot, official"),
        ('code = "demo"', 'code = "a/b"', "code: 'a/b' may have letters"),
        ('title = "A demo"', 'title = " "', "title: empty"),
        (
            'title = "A demo"',
            f'title = "{"x" * 201}"',
            "title: has 201 characters; it may have 200",
        ),
        ('title = "A demo"', 'title = "A \\u0000"', "title: holds '\\x00'"),
        ('provider = "openai"', 'provider = "me"', "subjects 1: provider: 'me' is not one of"),
        ("http://127.0.0.1:8080/v1", "ftp://x", "'ftp://x' is not an http or https address"),
        ("http://127.0.0.1:8080/v1", "http://example.org", "would send the key unencrypted"),
        ("http://127.0.0.1:8080/v1", "https://me:key@x.org", "holds a name or a password"),
        ("temperature = 0.7", "temperature = 3", "sampling: temperature: 3 is not a number"),
        ("temperature = 0.7", "temperature = nan", "sampling: temperature: nan"),
        ("temperature = 0.7", "heat = 1", "sampling: there is no key 'heat'"),
        ("max_tokens = 800", "max_tokens = 0.5", "max_tokens: 0.5 is not a whole number"),
        ('system_message = ""', "", 'conditions 1: system_message: missing (it may be "")'),
        ('name = "warm"', 'name = "default"', "conditions: 'default' stands 2 times"),
        ("[[subjects]]", "[subjects]", "there must be at least one [[subjects]]"),
        ('family = "Kind"', "", "subjects 1: family: missing"),
        ('code = "demo"', 'code = "demo', "not valid TOML"),
    ],
)
def test_a_fault_names_the_key_and_the_value(written, instead, said):
    assert said in faults(PLAN.replace(written, instead, 1))


def test_every_fault_is_said_at_once():
    said = faults(PLAN.replace("trials = 3", "trials = 0").replace('"local"', '"big"'))

    assert "trials" in said
    assert "kind" in said


def test_a_subject_is_listed_once():
    again = PLAN[PLAN.index("[[subjects]]") :]
    assert "stands 2 times" in faults(PLAN + again)


def test_what_is_no_text_is_no_plan():
    with pytest.raises(PlanFileRefused, match="not UTF-8"):
        parse_plan(b"\xff")


@pytest.mark.parametrize(
    "odd",
    [
        "trials = 0x" + "f" * 5_000,
        "trials = 3\nseed2 = 99999999999999999999",
        'trials = 3\n[cost]\nceiling = 5\n[[cost.prices]]\nsnapshot = ["a"]\n',
    ],
)
def test_odd_numbers_and_lists_are_refused_and_not_stumbled_over(odd):
    with pytest.raises(PlanFileRefused):
        parse_plan(PLAN.replace("trials = 3", odd, 1).encode())
