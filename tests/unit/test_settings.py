"""Settings: typed, tolerant, edited by people too."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.links import circle, endless_link
from reverie.clock import fixed_clock
from reverie.errors import UserError
from reverie.settings import (
    ProviderSettings,
    ProvidersSettings,
    Settings,
    change_settings,
    load_settings,
    save_settings,
)

COMMENTED = """\
# mine
[watch]
quiet_ms = 200  # slow disk
polling = "never"

[later]
new = true
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "config.toml"


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def changed(settings: Settings, section: str, **values: Any) -> Settings:
    return settings.model_copy(update={section: getattr(settings, section).model_copy(update=values)})


def test_without_a_file_the_defaults_count_and_nothing_is_created(file: Path) -> None:
    settings, problems = load_settings(file)
    assert problems == ()
    assert (settings.watch.quiet_ms, settings.watch.cap_ms, settings.watch.reconcile_minutes) == (
        150,
        1000,
        5,
    )
    assert (settings.dream.engine, settings.dream.time_limit_s) == ("auto", 300)
    assert (settings.dream.max_loss_percent, settings.watch.polling) == (20, "auto")
    assert not file.parent.exists()


def test_values_in_the_file_count(file: Path) -> None:
    settings, problems = load_settings(
        write(file, '[dream]\nengine = "openai:gpt-x"\n[watch]\nreconcile_minutes = 1')
    )
    assert problems == ()
    assert settings.dream.engine == "openai:gpt-x"
    assert settings.watch.reconcile_minutes == 1


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ('quiet_ms = "200"', "watch.quiet_ms"),
        ("quiet_ms = true", "watch.quiet_ms"),
        ("quiet_ms = -1", "watch.quiet_ms"),
        ("quiet_ms = 1.5", "watch.quiet_ms"),
        ('polling = "sometimes"', "watch.polling"),
        ("reconcile_minutes = nan", "watch.reconcile_minutes"),
        ("quiet_ms = {a = 1}", "watch.quiet_ms"),
    ],
)
def test_a_bad_value_is_dropped_alone_and_named(file: Path, bad: str, name: str) -> None:
    settings, problems = load_settings(write(file, f"[watch]\ncap_ms = 2000\n{bad}\n"))
    assert settings == changed(Settings(), "watch", cap_ms=2000)
    assert len(problems) == 1
    assert name in problems[0]


def test_every_bad_value_is_named(file: Path) -> None:
    settings, problems = load_settings(write(file, 'dream = 5\n[watch]\nquiet_ms = ""\ncap_ms = ""\n'))
    assert settings == Settings()
    assert len(problems) == 3


def test_an_unknown_key_is_named_and_kept(file: Path) -> None:
    settings, problems = load_settings(write(file, COMMENTED + "[dream]\nengin = 1\n"))
    assert settings == changed(Settings(), "watch", quiet_ms=200, polling="never")
    assert [problem.split()[0] for problem in problems] == ["later", "dream.engin"]


@pytest.mark.parametrize("damage", [b"[watch", b"\xff", b"a = 1\na = 2", b"\x00"])
def test_what_is_no_toml_gives_the_defaults_and_one_problem(file: Path, damage: bytes) -> None:
    write(file, "").write_bytes(damage)
    settings, problems = load_settings(file)
    assert settings == Settings()
    assert len(problems) == 1


def test_a_file_that_cannot_be_read_gives_the_defaults_and_is_not_saved_over(file: Path) -> None:
    file.mkdir(parents=True)
    settings, problems = load_settings(file)
    assert settings == Settings()
    assert len(problems) == 1
    with pytest.raises(UserError):
        save_settings(file, changed(settings, "watch", quiet_ms=300))


def test_saving_keeps_comments_order_and_what_it_does_not_know(file: Path) -> None:
    settings, _ = load_settings(write(file, COMMENTED))
    save_settings(file, changed(settings, "watch", quiet_ms=300))
    assert file.read_text() == COMMENTED.replace("200", "300")


def test_saving_what_is_already_there_writes_nothing(file: Path) -> None:
    settings, _ = load_settings(write(file, COMMENTED))
    before = file.stat().st_mtime_ns
    save_settings(file, settings)
    assert file.stat().st_mtime_ns == before


def test_saving_defaults_makes_no_file(file: Path) -> None:
    save_settings(file, Settings())
    assert not file.parent.exists()


def test_a_first_save_writes_only_what_differs_from_the_defaults(file: Path) -> None:
    save_settings(file, changed(Settings(), "dream", max_loss_percent=50))
    assert file.read_text() == "[dream]\nmax_loss_percent = 50\n"
    assert file.parent.stat().st_mode & 0o077 == 0


def test_going_back_to_the_default_is_saved(file: Path) -> None:
    write(file, COMMENTED)
    save_settings(file, Settings())
    assert load_settings(file)[0] == Settings()
    assert "# mine" in file.read_text()


def test_a_bad_value_stays_as_written_until_it_is_changed(file: Path) -> None:
    settings, _ = load_settings(write(file, "[watch]\nquiet_ms = 'soon'\n"))
    save_settings(file, changed(settings, "dream", time_limit_s=60))
    assert "quiet_ms = 'soon'" in file.read_text()
    save_settings(file, changed(settings, "watch", quiet_ms=400))
    assert load_settings(file)[0].watch.quiet_ms == 400


def test_a_damaged_file_is_kept_beside_the_new_one(file: Path) -> None:
    write(file, "[watch")
    save_settings(file, changed(Settings(), "watch", quiet_ms=300), clock=fixed_clock(7))
    assert file.with_name("config.toml.unreadable-7").read_text() == "[watch"
    assert load_settings(file) == (changed(Settings(), "watch", quiet_ms=300), ())


def test_a_linked_file_is_changed_where_it_lies(file: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir(mode=0o755)
    real = tmp_path / "dotfiles" / "reverie.toml"
    real.write_text(COMMENTED)
    file.parent.mkdir()
    file.symlink_to(real)
    save_settings(file, Settings())
    assert file.is_symlink()
    assert load_settings(real)[0] == Settings()
    assert (tmp_path / "dotfiles").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("make", [circle, endless_link])
def test_settings_behind_links_that_cannot_be_followed_are_refused_in_words(
    file: Path, make: Callable[[Path], object]
) -> None:
    file.parent.mkdir()
    make(file)
    before = sorted(file.parent.iterdir())
    with pytest.raises(UserError, match="could not be saved"):
        save_settings(file, changed(Settings(), "watch", quiet_ms=300))
    assert sorted(file.parent.iterdir()) == before


PROVIDERS = """\
[providers.work]  # the proxy of the office
base_url = "https://models.example/v1"
headers = { X-Team = "blue" }
"""


def with_providers(settings: Settings, **providers: ProviderSettings) -> Settings:
    return settings.model_copy(update={"providers": ProvidersSettings({**providers})})


def test_a_provider_of_ones_own_counts(file: Path) -> None:
    settings, problems = load_settings(write(file, PROVIDERS))
    work = settings.providers.root["work"]
    assert problems == ()
    assert (work.base_url, work.headers, work.max_retries) == (
        "https://models.example/v1",
        {"X-Team": "blue"},
        3,
    )


def test_the_values_of_headers_are_not_in_what_gets_printed(file: Path) -> None:
    assert "blue" not in repr(load_settings(write(file, PROVIDERS))[0])


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ('wire = "soap"', "providers.work.wire"),
        ('base_url = "models.example"', "providers.work.base_url"),
        ("headers = { X-Team = 5 }", "providers.work.headers"),
        ('key_env = "MY KEY"', "providers.work.key_env"),
    ],
)
def test_a_bad_value_of_a_provider_is_dropped_alone_and_named(file: Path, bad: str, name: str) -> None:
    settings, problems = load_settings(write(file, f"[providers.work]\nmax_retries = 1\n{bad}\nkey = 'x'\n"))
    assert settings == with_providers(Settings(), work=ProviderSettings(max_retries=1))
    assert sorted(problem.split()[0] for problem in problems) == sorted([name, "providers.work.key"])


def test_a_provider_that_is_no_table_is_dropped_alone(file: Path) -> None:
    settings, problems = load_settings(write(file, "[providers]\nwork = 5\n[providers.other]\n"))
    assert settings == with_providers(Settings(), other=ProviderSettings())
    assert [problem.split()[0] for problem in problems] == ["providers.work"]


def test_saving_a_provider_writes_only_what_differs_from_its_defaults(file: Path) -> None:
    save_settings(file, with_providers(Settings(), home=ProviderSettings(wire="anthropic")))
    assert file.read_text() == '[providers.home]\nwire = "anthropic"\n'


def test_changing_one_provider_keeps_the_others_and_the_comments(file: Path) -> None:
    settings, _ = load_settings(write(file, PROVIDERS))
    work = settings.providers.root["work"].model_copy(update={"base_url": "", "max_retries": 0})
    wanted = with_providers(settings, work=work, home=ProviderSettings())
    save_settings(file, wanted)
    assert load_settings(file) == (wanted, ())
    assert "# the proxy of the office" in file.read_text()
    assert "base_url" not in file.read_text()


def test_a_removed_provider_leaves_the_file(file: Path) -> None:
    settings, _ = load_settings(write(file, PROVIDERS + COMMENTED))
    save_settings(file, with_providers(settings))
    assert load_settings(file)[0] == with_providers(settings)
    assert "blue" not in file.read_text()


toml_values = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=5)),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3)
    ),
    max_leaves=5,
)
keys = st.one_of(
    st.sampled_from(
        [name for field in Settings.model_fields.values() for name in type(field.default).model_fields]
        + [*ProviderSettings.model_fields]
    ),
    st.text(max_size=5),
)
sections = st.one_of(st.sampled_from([*Settings.model_fields]), st.text(max_size=5))


@given(
    st.dictionaries(
        sections,
        st.one_of(
            toml_values,
            st.dictionaries(
                keys, st.one_of(toml_values, st.dictionaries(keys, toml_values, max_size=3)), max_size=4
            ),
        ),
        max_size=4,
    )
)
def test_whatever_is_in_the_file_loads_and_saves_what_was_asked(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]
) -> None:
    import tomlkit

    file = tmp_path_factory.mktemp("settings") / "config.toml"
    write(file, tomlkit.dumps(data))
    settings, _ = load_settings(file)
    wanted = changed(settings, "watch", quiet_ms=321)
    save_settings(file, wanted)
    assert load_settings(file)[0] == wanted


def test_two_who_change_the_settings_at_once_both_have_their_way(file: Path, tmp_path: Path) -> None:
    both_began = threading.Barrier(2)
    locks = tmp_path / "locks"

    def first(settings: Settings) -> Settings:
        both_began.wait()
        time.sleep(0.1)  # the other one loads and saves now, if it can
        return changed(settings, "watch", quiet_ms=300)

    def second() -> None:
        both_began.wait()
        change_settings(file, lambda settings: changed(settings, "dream", time_limit_s=60), locks)

    other = threading.Thread(target=second)
    other.start()
    change_settings(file, first, locks)
    other.join()
    settings, problems = load_settings(file)
    assert (settings.watch.quiet_ms, settings.dream.time_limit_s, problems) == (300, 60, ())


@given(st.binary(max_size=40))
def test_no_bytes_keep_the_settings_from_loading(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.mktemp("settings") / "config.toml"
    file.write_bytes(content)
    load_settings(file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
def test_what_is_no_regular_file_is_never_waited_for(tmp_path: Path) -> None:
    device, pipe, folder = (tmp_path / name for name in ("device.toml", "pipe.toml", "folder.toml"))
    device.symlink_to("/dev/zero")
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (device, pipe, folder):
        settings, problems = load_settings(path)
        assert settings == Settings()
        assert "it is not a regular file" in problems[0]
        with pytest.raises(UserError):
            save_settings(path, settings.model_copy(deep=True))
