"""Read GGUF files in less time than `gguf` and transformers do; the results are the same.

For each of a model's configuration, tokenizer and tensors, transformers has `gguf` parse the file, which makes an array
of every number and string of the vocabulary; and for each module it makes the map of the tensors' names anew.

What cannot be read, or not be loaded by transformers, is refused in one line before it starts.
"""

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from equipoise.core.errors import EquipoiseError
from equipoise.core.visible import line

LOADED = frozenset({"llama", "qwen2", "qwen3", "gemma3"})
"""Kinds of model that transformers loads from GGUF files; for any other it is asked, which takes seconds."""
TYPES = "take a file of another type, such as Q4_K_M, Q8_0 or BF16"
ELSEWHERE = "serve it with llama.cpp, and use --server llama.cpp"
DAMAGED = "is damaged or incomplete: download it again"
UNKNOWN_TYPE = re.compile(r"(\d+)\)? is not a valid GGMLQuantizationType")
"""gguf's complaint of a tensor whose type it does not know."""
UNKNOWN_VERSION = re.compile(r"appears to be version (\d+)")
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
            if row.size < count:
                raise EOFError  # before as many places are listed as the file says, which may be any number
            # Rows of a map of a file would cost a hundred times as much as those of an array.
            values, end = list(np.asarray(row).reshape(-1, 1)), start + row.nbytes
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
    """Parse a file, once until it changes.

    Raises:
        EquipoiseError: The file is damaged, or transformers does not load such a file.
    """
    return _parse(str(path), Path(path).stat().st_mtime_ns)


def require_loadable(reader: gguf.GGUFReader) -> None:
    """Refuse a file that is not a model, tensors that are not unpacked, and models that transformers does not load.

    Raises:
        EquipoiseError: The file cannot be loaded; the message lacks the file's name.
    """
    if reader.byte_order != NATIVE:
        # gguf and transformers would unpack its numbers as if they were in this order.
        fix = "convert the model again, or take another file"
        raise EquipoiseError(f"is {reader.endianess.name.lower()}-endian, unlike this machine: {fix}")
    kind, holds = field(reader, "general.architecture"), field(reader, "general.type") or "model"
    if (parts := field(reader, "split.count") or 1) != 1:
        raise EquipoiseError(f"is one of {line(str(parts))} parts: join them with `llama-gguf-split --merge`")
    if not isinstance(kind, str) or not reader.tensors:
        raise EquipoiseError(DAMAGED)
    if holds != "model":
        raise EquipoiseError(
            f"holds no whole model (its type is {line(str(holds))}): give the file of the model itself"
        )
    for tensor_type in sorted({tensor.tensor_type for tensor in reader.tensors}):
        try:
            gguf.dequantize(np.zeros(gguf.GGML_QUANT_SIZES[tensor_type][1], np.uint8), tensor_type)
        except NotImplementedError as error:
            raise EquipoiseError(f"a tensor's type is not supported ({tensor_type.name}): {TYPES}") from error
    if kind not in LOADED:
        from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

        # The names of llama.cpp have other marks, or none: gpt-oss, qwen3moe.
        known = {name.replace("_", "") for name in GGUF_SUPPORTED_ARCHITECTURES}
        if kind.replace("-", "").replace("_", "") not in known:
            raise EquipoiseError(f"transformers does not load {line(kind)} models from GGUF files: {ELSEWHERE}")


def field(reader: gguf.GGUFReader, name: str) -> Any:  # noqa: ANN401  (a value of the file)
    """Return a value of a file's metadata; None if the file does not have it."""
    entry = reader.get_field(name)
    return entry.contents() if entry else None


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
    where = line(path)
    try:
        reader = QuickReader(path)
        require_loadable(reader)
    except EquipoiseError as error:
        raise EquipoiseError(f"{where}: {error}") from error
    except OSError:
        raise
    except Exception as error:
        # The reader raises its own errors, and those of numpy and struct where the file ends early.
        raise EquipoiseError(f"{where}: {_fault(str(error))}") from error
    return reader


def _fault(told: str) -> str:
    """Say what is wrong with a file about which gguf's reader complains."""
    if unknown := UNKNOWN_TYPE.search(told):
        return f"a tensor's type is not supported (number {unknown[1]}): {TYPES}"
    if version := UNKNOWN_VERSION.search(told):
        return f"version {version[1]} of GGUF is not supported: convert the model again, or take another file"
    return DAMAGED
