"""What the cache gives back is what its name says, or an error."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tileport_skill.capture import stubs
from tileport_skill.capture.cache import bytecode_path, cache_folder, read_bytecode
from tileport_skill.errors import MachineryError

CONTENT = b"bytecode"
NAME = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEPORT_CACHE", str(tmp_path / "cache"))


def test_bytecode_is_read_back_and_changed_bytecode_is_not() -> None:
    bytecode_path(NAME).write_bytes(CONTENT)
    assert read_bytecode(NAME) == CONTENT
    bytecode_path(NAME).write_bytes(b"spoilt")
    with pytest.raises(MachineryError, match="was not what its name says"):
        read_bytecode(NAME)
    with pytest.raises(MachineryError, match="is not in the cache"):
        read_bytecode(NAME)


def test_a_cache_that_cannot_be_made_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEPORT_CACHE", str(tmp_path / "file"))
    with pytest.raises(MachineryError, match="Set TILEPORT_CACHE to another"):
        cache_folder("ir")


def test_two_threads_that_need_the_stand_in_driver_at_once_both_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container the cache is empty, and both architectures are captured from the first moment on."""
    monkeypatch.setenv("TILEPORT_CACHE", str(tmp_path))
    source = Path(stubs.__file__).parent / "driver.c"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: stubs._built(source, "libcuda.so.1"), range(8)))
    assert set(made) == {made[0]}
    assert [path.name for path in made[0].parent.iterdir()] == ["libcuda.so.1"]
