from __future__ import annotations

import re
import struct
import sys
from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.models.gguffile import QuickReader, quick_reading, read

if TYPE_CHECKING:
    from pathlib import Path

ENDIANS = [gguf.GGUFEndian.LITTLE, gguf.GGUFEndian.BIG]


def written(path: Path, endian: gguf.GGUFEndian) -> Path:
    """Write a file with a field of each form: numbers, texts, arrays of both, none, and a tensor."""
    made = gguf.GGUFWriter(path, "llama", endianess=endian)
    made.add_name("a name")
    made.add_block_count(2)
    made.add_token_list(["a", "", "\u00e9\u6f22", "d"])
    made.add_token_scores([0.5, -1.0, 2.0, 0.0])
    made.add_token_types([1, 3, 4, 1])
    made.add_tensor("token_embd.weight", np.arange(64, dtype=np.float32).reshape(4, 16))
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()
    return path


@pytest.mark.parametrize("endian", ENDIANS)
def test_the_quick_reader_reads_as_that_of_gguf(tmp_path: Path, endian: gguf.GGUFEndian) -> None:
    """Every value of every field, its types, and the place of every tensor are the same, in either byte order."""
    path = written(tmp_path / "model.gguf", endian)
    quick, plain = QuickReader(path), gguf.GGUFReader(path)

    def values(reader: gguf.GGUFReader) -> dict[str, object]:
        return {
            name: (field.types, [bytes(field.parts[index]) for index in field.data])
            for name, field in reader.fields.items()
        }

    def tensors(reader: gguf.GGUFReader) -> list[object]:
        return [(tensor.name, tensor.data_offset, tensor.data.tolist()) for tensor in reader.tensors]

    assert values(plain) == values(quick)
    assert tensors(plain) == tensors(quick)


def test_the_map_of_names_is_made_once() -> None:
    """Transformers asks for it for every module of a model; afterwards, gguf's own function is back."""
    plain = gguf.get_tensor_name_map
    llama = gguf.MODEL_ARCH.LLAMA
    with quick_reading():
        assert gguf.get_tensor_name_map(llama, 2) is gguf.get_tensor_name_map(llama, 2)
        assert gguf.get_tensor_name_map(llama, 2).mapping == plain(llama, 2).mapping

    assert gguf.get_tensor_name_map is plain


def test_a_file_that_was_cut_off_anywhere_is_told_in_one_line(tmp_path: Path) -> None:
    """After each of its bytes but the last: the line has the file and the fix, and nothing of the reader's own."""
    whole = written(tmp_path / "model.gguf", gguf.GGUFEndian.LITTLE).read_bytes()
    cut = tmp_path / "cut.gguf"
    for length in range(4, len(whole)):
        cut.write_bytes(whole[:length])
        with pytest.raises(EquipoiseError) as refused:
            read(cut)

        assert str(refused.value) == f"{cut}: is damaged or incomplete: download it again"
        cut.unlink()


@pytest.mark.parametrize("count", [10**9, 2**40, 2**64 - 1])
def test_an_array_longer_than_the_file_takes_no_memory(tmp_path: Path, count: int) -> None:
    """A file of a few hundred bytes may say that it has thousands of millions of numbers."""
    whole = written(tmp_path / "model.gguf", gguf.GGUFEndian.LITTLE).read_bytes()
    # The types of four tokens, the last array: its own type, and how many values it has.
    before, head, after = whole.partition(struct.pack("<IQ", gguf.GGUFValueType.INT32, 4))
    false = tmp_path / "false.gguf"
    # Whole numbers of four bytes follow, as in any file whose tensors are numbers of four bytes.
    false.write_bytes(before + head[:4] + struct.pack("<Q", count) + after + bytes(-len(after) % 4))

    with pytest.raises(EquipoiseError, match=r"false\.gguf: is damaged or incomplete: download it again$"):
        read(false)


def test_a_file_in_the_other_byte_order_is_refused(tmp_path: Path) -> None:
    """Its tensors would be unpacked as if they were in this machine's order, and the model would answer with noise."""
    endian = gguf.GGUFEndian.BIG if sys.byteorder == "little" else gguf.GGUFEndian.LITTLE
    told = f"is {endian.name.lower()}-endian, unlike this machine: convert the model again, or take another file"

    with pytest.raises(EquipoiseError, match=rf"model\.gguf: {told}$"):
        read(written(tmp_path / "model.gguf", endian))


def test_a_file_with_any_byte_altered_is_read_or_refused_in_one_line(tmp_path: Path) -> None:
    """In the header, which ends 256 bytes before the end: 64 numbers of four bytes follow it."""
    whole = written(tmp_path / "model.gguf", gguf.GGUFEndian.LITTLE).read_bytes()
    told = set()
    for place in range(4, len(whole) - 256):
        altered = tmp_path / f"{place}.gguf"
        altered.write_bytes(whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :])
        try:
            read(altered)
        except EquipoiseError as error:
            told.add(str(error).removeprefix(f"{altered}: "))

    assert "is damaged or incomplete: download it again" in told
    assert any(line.startswith("version ") for line in told)
    assert not [line for line in told if re.search(r"Error|Type\b|np\.|\n", line)]
