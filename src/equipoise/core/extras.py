"""The extras of the package: which modules each installs, and an error that names it where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from equipoise.core.errors import EquipoiseError

EXTRAS: dict[str, tuple[str, ...]] = {
    "judge": ("onnx", "onnxruntime", "tokenizers"),
    "run": (
        *("accelerate", "dvc", "dvc_render", "gguf", "huggingface_hub", "jinja2", "markupsafe", "pyarrow"),
        *("safetensors", "torch", "transformers", "vl_convert"),
    ),
    "api": ("openai",),
    "vllm": ("vllm",),
    "ray": ("ray",),
    "bitsandbytes": ("bitsandbytes",),
}
"""The smallest extra that installs each module which is not always there."""


@contextmanager
def extras_named() -> Iterator[None]:
    """Turn the error of a missing module that an extra installs into an EquipoiseError that names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        extra = next((name for name, modules in EXTRAS.items() if module in modules), None)
        if extra is None:
            raise
        raise EquipoiseError(f"{module} is not installed: run `pip install 'equipoise[{extra}]'`") from error
