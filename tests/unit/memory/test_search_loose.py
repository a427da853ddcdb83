"""The words of a question: what says nothing, their forms, and passages that have them together."""

from __future__ import annotations

import pytest

from reverie.memory.search.loose import Group, loose_words, passage, stem
from reverie.memory.search.query import parse_query
from reverie.memory.search.words import folded


def words(text: str) -> list[str]:
    return [word for word, _goes_on in loose_words(parse_query(text))]


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("how do I run the migrations on staging?", ["run", "migrations", "staging"]),
        ("wie wird die Datenbank auf dem Server gesichert", ["datenbank", "server", "gesichert"]),
        ("comment déployer le service sur le serveur", ["deployer", "service", "serveur"]),
        ("¿dónde están las claves de la base?", ["claves", "base"]),
        ("как запустить миграции на сервере", ["запустить", "миграции", "сервере"]),
        ("数据库在哪里", ["数据", "据库", "库在", "在哪", "哪里"]),
        ("テストを実行する", ["テス", "スト", "トを", "を実", "実行", "行す"]),
        ("the of and", []),
        ('"exactly this" retry', ["retry"]),
        ("max_retries scope:global", ["max_retries"]),
    ],
)
def test_what_says_nothing_is_not_asked_for(question: str, kept: list[str]) -> None:
    assert words(question) == kept


def test_only_the_last_word_may_be_unfinished() -> None:
    assert loose_words(parse_query("retry cach")) == [("retry", False), ("cach", True)]
    assert loose_words(parse_query("retry cach ")) == [("retry", False), ("cach", False)]


def test_of_a_word_one_letter_says_nothing_yet_and_takes_no_finished_one_away() -> None:
    assert loose_words(parse_query("retry c")) == [("retry", False)]
    assert loose_words(parse_query("c c")) == [("c", False)]
    assert loose_words(parse_query("retry c ")) == [("retry", False), ("c", False)]


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", ("deploy", "deploys", "deployed", "deploying", "deployment", "deployments")),
        ("en", ("migrate", "migrated", "migration", "migrations", "migrating")),
        ("en", ("cache", "caches", "cached", "caching")),
        ("en", ("retry", "retries", "retried", "retrying")),
        ("en", ("run", "runs", "running", "runner")),
        ("en", ("address", "addresses")),
        ("de", ("einstellung", "einstellungen")),
        ("fr", ("configuration", "configurations")),
        ("es", ("configuracion", "configuraciones")),
        ("ru", ("миграция", "миграции", "миграций", "миграцию")),
    ],
)
def test_forms_of_a_word_have_one_stem(language: str, forms: tuple[str, ...]) -> None:
    stems = [stem(folded(form), language) for form in forms]
    assert len(set(stems)) == 1, stems


@pytest.mark.parametrize(
    ("one", "other"), [("string", "strong"), ("data", "date"), ("status", "state"), ("key", "kernel")]
)
def test_other_words_have_other_stems(one: str, other: str) -> None:
    assert stem(one, "en") != stem(other, "en")


def test_a_passage_with_all_counts_more_than_words_far_apart() -> None:
    groups = [Group("retry", ("retry",), 3, 2.0), Group("queue", ("queue",), 3, 2.0)]
    near, far = passage("The retry queue is full.", groups), passage(f"retry {'x ' * 400} queue", groups)
    assert near.together == near.anywhere == far.anywhere == 1.0
    assert far.together == 0.5
    assert [("The retry queue is full."[start:end]) for start, end in near.hits] == ["retry", "queue"]
    assert passage("nothing of it", groups).anywhere == 0.0


def test_a_name_stands_over_every_passage() -> None:
    groups = [Group("retry", ("retry",), 3, 2.0), Group("queue", ("queue",), 3, 2.0)]
    assert passage("How the retry works.", groups, called="ledger queue.md").together == 1.0


def test_only_whole_words_count() -> None:
    groups = [Group("app", ("app",), 3, 1.0)]
    assert passage("mapping", groups).anywhere == 0.0
    assert passage("the app", groups).anywhere == 1.0
