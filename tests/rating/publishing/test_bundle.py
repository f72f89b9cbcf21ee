"""Bundles: the same bytes each time, everything again without a database, and no key in public."""

import io
import json
import zipfile
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from rating.publishing import bundle
from rating.publishing.bundle import BadBundle, internal_bundle, public_bundle, reproduce
from rating.publishing.data import DeclaredRow
from tests.rating.publishing.made import QUICK, index_data, parity_data, report


@pytest.fixture(scope="module")
def data():
    return index_data({"a": 4.0, "b": 4.0, "c": 2.0}, items=3)


@pytest.fixture(scope="module")
def internal(data):
    return internal_bundle(data, QUICK)


@pytest.fixture(scope="module")
def public(data):
    return public_bundle(report(data), data)


def kept(tmp_path, body):
    path = tmp_path / "bundle.zip"
    path.write_bytes(body)
    return path


def files_in(body):
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def changed(body, name, change):
    """The bundle with one file changed, and no hash."""
    files = files_in(body)
    files[name] = change(files[name])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for one, text in files.items():
            archive.writestr(one, text)
    return out.getvalue()


def test_a_bundle_is_the_same_byte_for_byte(data, internal, public):
    assert internal_bundle(data, QUICK) == internal
    assert public_bundle(report(data), data) == public


def test_the_internal_bundle_gives_every_figure_again_without_a_database(tmp_path, internal):
    found = reproduce(kept(tmp_path, internal))

    assert (found.kind, found.differences, found.same_code) == ("internal", (), True)
    assert found.figures > 150


def test_a_wave_of_pairs_is_computed_again_too(tmp_path):
    body = internal_bundle(parity_data({"a": 0.3}, pairs=3), QUICK)

    assert reproduce(kept(tmp_path, body)).identical


def test_the_rows_come_back_as_they_went_in(data, internal):
    assert bundle.data_in(files_in(internal)) == data


def test_a_rating_changed_by_someone_who_mends_the_hashes_gives_other_figures(
    tmp_path, data, internal
):
    """What the manifest cannot tell, the figures do."""
    other = internal_bundle(
        replace(data, ratings=tuple(replace(one, level=1) for one in data.ratings[:40])), QUICK
    )
    mixed = files_in(other) | {
        name: text
        for name, text in files_in(internal).items()
        if name in ("report.json", "figures.csv")
    }
    manifest = json.loads(mixed["manifest.json"])
    manifest["files"] = {
        name: bundle._hash(text) for name, text in mixed.items() if name != "manifest.json"
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in mixed.items():
            archive.writestr(name, json.dumps(manifest) if name == "manifest.json" else text)

    found = reproduce(kept(tmp_path, out.getvalue()))

    assert not found.identical
    assert any("was said" in one for one in found.differences)


@pytest.mark.parametrize("name", ["ratings.csv", "report.json", "figures.csv", "README.txt"])
def test_a_changed_file_is_found(tmp_path, public, name):
    body = changed(public, name, lambda text: text + " ")

    with pytest.raises(BadBundle, match=f"{name} was changed"):
        reproduce(kept(tmp_path, body))


def test_what_is_no_bundle_is_told_so(tmp_path):
    with pytest.raises(BadBundle, match="is no bundle"):
        reproduce(kept(tmp_path, b"not a zip file"))
    with pytest.raises(BadBundle, match="is no bundle"):
        reproduce(tmp_path / "missing.zip")


def test_the_public_bundle_gives_its_agreement_again(tmp_path, public):
    found = reproduce(kept(tmp_path, public))

    assert (found.kind, found.identical) == ("public", True)
    assert found.figures > 10


def test_the_public_bundle_holds_no_key(data, public):
    files = files_in(public)

    rows = files["ratings.csv"].splitlines()
    assert rows[0] == "response,dimension,rater,slot,level"
    assert len(rows) == 1 + len(data.ratings)
    for hidden in (
        *(reply.code for reply in data.replies),
        *(run.subject + "-" for run in data.runs),
        *(item.code for item in data.items),
        *(rating.rater for rating in data.ratings),
        *(rating.rated_at for rating in data.ratings),
        "there is no need to carry it alone",
    ):
        assert hidden not in files["ratings.csv"], hidden
    assert "data.json" not in files


def test_public_ratings_are_left_out_where_they_would_give_a_withheld_point_away(tmp_path):
    data = index_data({"a": 3.0, "b": 4.5, "lossy": 3.5}, items=3, lost={"lossy": 13})
    content = report(data)
    assert len(content["results"]["alone"]) == 2

    body = public_bundle(content, data)

    assert "ratings.csv" not in files_in(body)
    assert "could be worked out" in files_in(body)["manifest.json"]
    assert reproduce(kept(tmp_path, body)).identical


def test_the_command_says_what_came_out(tmp_path, internal, public, capsys):
    call_command("reproduce", str(kept(tmp_path, internal)))
    assert "every hash is right" in capsys.readouterr().out

    body = changed(public, "ratings.csv", lambda text: text.replace("r001", "r002"))
    with pytest.raises(CommandError, match="was changed"):
        call_command("reproduce", str(kept(tmp_path, body)))


def test_a_text_that_a_spreadsheet_would_run_is_inert_and_comes_back(data):
    rows = (replace(data.ratings[0], quotes=("=cmd()", 'a,b\n"c"')), *data.ratings[1:])
    odd = replace(data, ratings=rows)

    files = files_in(internal_bundle(odd, QUICK))

    assert bundle.data_in(files) == odd


def ratings_are_told(data):
    return "ratings.csv" in files_in(public_bundle(report(data), data))


@pytest.mark.parametrize(
    "data",
    [
        index_data({"only": 3.4}, trials=2),
        index_data({"lossy": 3.4}, lost={"lossy": 20}),
        index_data({"only": 3.4}, declared=DeclaredRow(agreement_floor=0.999)),
        parity_data({"only": 0.4}, pairs=3, trials=2),
    ],
    ids=["few trials", "above a tenth lost", "below the floor", "pairs with few trials"],
)
def test_the_ratings_of_one_run_whose_points_are_not_told_are_left_out(data):
    assert not ratings_are_told(data)


def test_of_two_withheld_runs_the_ratings_are_told_only_where_both_have_some_in_each_dimension():
    data = index_data({"a": 3.0, "b": 3.1}, items=5, trials=2)
    one_sided = [row for row in data.ratings if not row.response.startswith("b-default-SYS")]
    few_left = [
        row
        for row in data.ratings
        if not row.response.startswith("b-default-SYS") or row.response == "b-default-SYS-0-1"
    ]

    assert ratings_are_told(data)
    assert not ratings_are_told(replace(data, ratings=tuple(one_sided)))
    assert not ratings_are_told(replace(data, ratings=tuple(few_left)))


def test_the_only_run_is_told_where_its_points_are():
    assert ratings_are_told(index_data({"only": 3.4}))


def test_nobody_who_knows_a_code_name_can_look_for_its_public_code(data):
    """The codes depend on the random codes of the responses, which are told nowhere."""
    anew = {reply.code: f"{number:05}" for number, reply in enumerate(data.replies)}
    other = replace(
        data,
        replies=tuple(replace(reply, code=anew[reply.code]) for reply in data.replies),
        ratings=tuple(replace(one, response=anew[one.response]) for one in data.ratings),
    )

    def rated_by(rows):
        return {name: sum(row[2] == name for row in rows) for name in ("r001", "r002", "r003")}

    assert rated_by(bundle.public_ratings(other)) != rated_by(bundle.public_ratings(data))
