from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from builders import prompt
from equipoise.models.registry import Generation
from servers import ask, entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Exported

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(smollm2: Exported) -> Iterator[tuple[str, Path]]:
    """`transformers serve` with SmolLM2, offline: its address and the checkpoint."""
    for module in ("fastapi", "uvicorn"):
        pytest.importorskip(module, reason=f"transformers serve needs {module}")
    # The server takes no GGUF file.
    folder = smollm2.checkpoint
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", "--host", "127.0.0.1", "--port", str(port)]
    child = subprocess.Popen(
        [*command, "--device", "cpu", "--log-level", "error"],
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            assert child.poll() is None, "transformers serve ended"
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1", folder
    finally:
        # Not terminate: a request that hangs would hold it back.
        child.kill()
        child.wait()


def test_a_real_server_gives_what_its_model_gives(served: tuple[str, Path]) -> None:
    """Replies of `transformers serve` equal greedy generation with the same checkpoint in this process."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    url, folder = served
    system = "You are a clinician."
    prompts = [
        prompt(f"{age}", f"A patient of {age} has chest pain. Why?", "What is it?", system=system)
        for age in range(30, 32)
    ]
    model = entry(
        url,
        model=str(folder),
        key_env=None,
        stream=True,
        concurrency=1,
        timeout=600.0,
        generation=Generation(reasoning_tokens=12, answer_tokens=6),
    )
    responses = ask(model, prompts)

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    reference = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    for asked in prompts:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": asked.turns[0]}]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            output = reference.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=12)
        reply = tokenizer.decode(output[0, ids.shape[1] :], skip_special_tokens=True).strip()
        # The second turn the server continues from its own tokens, which the text of random weights does not give back.
        assert (reply, 2) == (responses[asked.key].replies[0], len(responses[asked.key].replies))
