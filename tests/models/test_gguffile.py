from __future__ import annotations

from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest

from equipoise.models.gguffile import QuickReader, quick_reading

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
            name: (field.types, [bytes(field.parts[one]) for one in field.data])
            for name, field in reader.fields.items()
        }

    def tensors(reader: gguf.GGUFReader) -> list[object]:
        return [(one.name, one.data_offset, one.data.tolist()) for one in reader.tensors]

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
