"""[tool.kvlint] and kvlint.toml: which file holds, and what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kvlint.project.settings import Settings, SettingsError, SettingsFinder, line_of, schema, shown

EVERY_KEY = """\
[project]
name = "x"

[tool.kvlint]
select = ["KV1", "KV2"]
ignore = ["KV105"]
exclude = ["vendor"]
extend-exclude = ["*_pb2.py"]
sglang = "0.5.19"
extend-rules = ["rules"]
baseline = "kvlint-baseline.json"
output-format = "concise"
require-reason = true

[tool.kvlint.per-file-ignores]
"tests/**" = ["KV203"]
"""


def settings_at(folder: Path) -> Settings:
    return SettingsFinder().at(folder)


def test_every_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(EVERY_KEY)
    settings = settings_at(tmp_path)
    assert settings.file == tmp_path / "pyproject.toml"
    assert settings.select == ("KV1", "KV2")
    assert settings.ignore == ("KV105",)
    assert settings.exclude == ("vendor",)
    assert settings.extend_exclude == ("*_pb2.py",)
    assert settings.sglang == "0.5.19"
    assert settings.extend_rules == (tmp_path / "rules",)
    assert settings.baseline == tmp_path / "kvlint-baseline.json"
    assert settings.output_format == "concise"
    assert settings.require_reason is True
    assert settings.per_file_ignores == (("tests/**", ("KV203",)),)


def test_a_path_for_sglang_counts_from_the_settings(tmp_path: Path) -> None:
    (tmp_path / "kvlint.toml").write_text('sglang = "../sglang"\n')
    assert settings_at(tmp_path).sglang == str(tmp_path / "../sglang")


def test_the_closest_file_wins_as_a_whole(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "kvlint.toml").write_text('ignore = ["KV1"]\nrequire-reason = true\n')
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.kvlint]\nselect = ["KV2"]\n')
    settings = settings_at(inner)
    assert settings.root == tmp_path / "a"
    assert (settings.select, settings.ignore, settings.require_reason) == (("KV2",), (), False)


def test_a_pyproject_without_the_table_is_passed_over(tmp_path: Path) -> None:
    inner = tmp_path / "a"
    inner.mkdir()
    (tmp_path / "kvlint.toml").write_text('ignore = ["KV1"]\n')
    (inner / "pyproject.toml").write_text('[project]\nname = "kvlint-user"\n')
    assert settings_at(inner).file == tmp_path / "kvlint.toml"


def test_of_two_in_one_folder_kvlint_toml_wins(tmp_path: Path) -> None:
    (tmp_path / "kvlint.toml").write_text('ignore = ["KV1"]\n')
    (tmp_path / "pyproject.toml").write_text('[tool.kvlint]\nignore = ["KV2"]\n')
    assert settings_at(tmp_path).ignore == ("KV1",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\nselct = ["KV1"]\n', ":2: unknown key 'selct', did you mean select?"),
        ("\n\nper_file_ignores = {}\n", ":3: unknown key 'per_file_ignores', did you mean"),
        ("colour = true\n", ":1: unknown key 'colour'; known: select, ignore,"),
        ('select = "KV1"\n', ':1: select must be a list of texts, not "KV1"'),
        ("ignore = [1]\n", ":1: ignore must be a list of texts, not [1]"),
        ('output-format = "xml"\n', ":1: output-format must be one of text, concise, json,"),
        ('require-reason = "yes"\n', ':1: require-reason must be true or false, not "yes"'),
        ("sglang = 0.5\n", ":1: sglang must be a text, not 0.5"),
        ('per-file-ignores = ["KV1"]\n', ":1: per-file-ignores must be a table of patterns"),
        ("select = [\n", ":2: is not valid TOML: Invalid value at the end"),
        ("a = 1\nb = = 2\n", ":2: is not valid TOML: Invalid value (column 5)"),
    ],
)
def test_an_error_names_the_file_and_the_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "kvlint.toml").write_text(text)
    with pytest.raises(SettingsError) as error:
        settings_at(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'kvlint.toml'}{message}")


def test_bytes_that_are_no_utf8_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "kvlint.toml").write_bytes(b"# x\nsglang = '\xff'\n")
    with pytest.raises(SettingsError, match=r"kvlint\.toml:2: is not valid UTF-8"):
        settings_at(tmp_path)


def test_lines_of_keys_in_a_pyproject() -> None:
    assert line_of(EVERY_KEY, "select") == 5
    assert line_of(EVERY_KEY, "per-file-ignores") == 15
    assert line_of(EVERY_KEY, "per-file-ignores", "KV203") == 16
    assert line_of('[tool]\nkvlint.sglang = "1"\n', "sglang") == 1


def test_shown_tells_where_each_value_comes_from(tmp_path: Path) -> None:
    (tmp_path / "kvlint.toml").write_text('# words\nsglang = "0.5.19"\n')
    values = {key: (value, origin) for key, value, origin in shown(settings_at(tmp_path))}
    assert values["sglang"] == ("0.5.19", f"{tmp_path / 'kvlint.toml'}:2")
    assert values["select"] == (["ALL"], "default")
    assert values["baseline"] == (None, "default")
    assert ".venv" in values["exclude"][0]


def test_the_schema_takes_what_kvlint_takes() -> None:
    jsonschema.Draft7Validator.check_schema(schema())
    good = {"select": ["KV1"], "per-file-ignores": {"tests/**": ["KV203"]}, "require-reason": True}
    jsonschema.validate(good, schema())
    for bad in ({"selct": []}, {"select": "KV1"}, {"output-format": "xml"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema())


def test_the_schema_for_editors_is_the_one_in_docs() -> None:
    path = Path(__file__).parent.parent / "docs" / "kvlint.schema.json"
    assert json.loads(path.read_text()) == schema()
