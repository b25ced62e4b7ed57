"""Read GGUF files in less time than `gguf` and transformers do; the results are the same.

For each of a model's configuration, tokenizer and tensors, transformers has `gguf` parse the file, which makes an array
of every number and string of the vocabulary; and for each module it makes the map of the tensors' names anew.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np

HEAD = 12
"""Bytes of an array before its values: their type and their number."""
NATIVE = "I"
"""gguf's mark of a file in this machine's byte order."""


class QuickReader(gguf.GGUFReader):
    """gguf's reader, except that it takes the values of an array together: strings as bytes, numbers as rows."""

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> tuple[int, list[Any], list[int], list[Any]]:
        """Return the size of a field, its parts, which of them are values, and its types."""
        if raw_type != gguf.GGUFValueType.ARRAY or self.byte_order != NATIVE:
            return super()._get_field_parts(orig_offs, raw_type)
        start = orig_offs + HEAD
        head = [self._get(orig_offs, np.uint32), self._get(orig_offs + 4, np.uint64)]
        kind, count = gguf.GGUFValueType(head[0][0]), int(head[1][0])
        if kind == gguf.GGUFValueType.STRING:
            values, end = _strings(self.data, start, count)
        elif (number := self.gguf_scalar_to_np.get(kind)) is None:
            return super()._get_field_parts(orig_offs, raw_type)
        else:
            row = self._get(start, number, count)
            values, end = list(row.reshape(-1, 1)), start + row.nbytes
        types = [gguf.GGUFValueType.ARRAY, *([kind] if count else [])]
        return end - orig_offs, head + values, list(range(len(head), len(head) + count)), types


def _strings(data: Any, start: int, count: int) -> tuple[list[bytes], int]:  # noqa: ANN401  (a buffer)
    """Return some strings, each of which follows its length, and where they end."""
    view, strings = memoryview(data), []
    for _ in range(count):
        (length,) = struct.unpack_from("Q", view, start)
        end = start + 8 + length
        strings.append(bytes(view[start + 8 : end]))
        start = end
    return strings, start


def read(path: Path | str) -> QuickReader:
    """Parse a file, once until it changes; errors are those of gguf's own reader."""
    return _parse(str(path), Path(path).stat().st_mtime_ns)


def field(reader: gguf.GGUFReader, name: str) -> Any:  # noqa: ANN401  (a value of the file)
    """Return a value of a file's metadata; None if the file does not have it."""
    found = reader.get_field(name)
    return found.contents() if found else None


@contextmanager
def quick_reading() -> Iterator[None]:
    """Within the block, parse a file once until it changes, make each map of names once, and show no progress."""
    from transformers import modeling_gguf_pytorch_utils as loader

    plain = gguf.GGUFReader, gguf.get_tensor_name_map, loader.tqdm
    gguf.GGUFReader = read  # type: ignore[assignment,misc]
    gguf.get_tensor_name_map = cache(gguf.get_tensor_name_map)
    # The one bar of transformers that its own switch leaves on.
    loader.tqdm = lambda tensors, **_: tensors
    try:
        yield
    finally:
        gguf.GGUFReader, gguf.get_tensor_name_map, loader.tqdm = plain  # type: ignore[misc]


@lru_cache(maxsize=1)
def _parse(path: str, _changed: int) -> QuickReader:
    return QuickReader(path)
