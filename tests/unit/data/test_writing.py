"""A file is there whole or not at all, and what cannot be written is told by its own name."""

import pytest

from dialoscope.data.writing import write_atomically


def test_a_file_that_cannot_be_written_is_the_one_that_was_asked_for(tmp_path):
    place = tmp_path / "no such folder" / "figure.svg"
    with pytest.raises(FileNotFoundError) as refused:
        write_atomically(place, [b"x"])
    assert refused.value.filename == str(place)


def test_a_folder_in_its_place_leaves_nothing_beside(tmp_path):
    (tmp_path / "figure.svg").mkdir()
    with pytest.raises(IsADirectoryError) as refused:
        write_atomically(tmp_path / "figure.svg", [b"x"])
    assert refused.value.filename == str(tmp_path / "figure.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["figure.svg"]
