"""What this machine has: the facts that decide whether a model can run here. Tests put their own in its place."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
from contextlib import suppress
from importlib import metadata
from pathlib import Path

GB = 1e9
CGROUP = Path("/sys/fs/cgroup/memory.max")
"""Where Linux tells the memory of a container."""
PATIENCE = 10.0
"""Seconds that the hub is waited for."""


class Machine:
    """This machine, its environment and its network."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._unreachable: str | None = None

    def memory(self) -> float | None:
        """Memory in GB, the container's where there is one; None where it cannot be told."""
        try:
            size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, OSError, ValueError):
            return None
        with suppress(OSError, ValueError):  # no container, or one without a limit
            size = min(size, int(CGROUP.read_text(encoding="ascii")))
        return size / GB

    def gpu_memory(self) -> float:
        """Memory of all CUDA devices in GB; 0 without one."""
        import torch

        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        return float(sum(torch.cuda.get_device_properties(device).total_memory for device in range(count))) / GB

    def disk(self, folder: Path) -> float:
        """Free disk in GB, where a folder is or will be."""
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        return shutil.disk_usage(there).free / GB

    def has_module(self, name: str) -> bool:
        """Whether a Python module can be imported."""
        return importlib.util.find_spec(name) is not None

    def package_version(self, name: str) -> str | None:
        """The installed version of a package, if any."""
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    def is_set(self, variable: str) -> bool:
        """Whether an environment variable has a value."""
        return bool(os.environ.get(variable))

    def has_token(self) -> bool:
        """Whether a token for the hub is at hand."""
        from huggingface_hub import get_token

        return get_token() is not None

    def hub_folder(self) -> Path:
        """The folder in which the hub's client keeps what it fetched."""
        from huggingface_hub import constants

        return Path(constants.HF_HUB_CACHE)

    def has_fetched(self, repo: str, revision: str) -> bool:
        """Whether the weights of a commit lie in the hub's cache."""
        from huggingface_hub import snapshot_download

        try:
            folder = snapshot_download(repo, revision=revision, local_files_only=True)
        except Exception:  # noqa: BLE001  (the client raises its own errors and others; each means no)
            return False
        return any(Path(folder).glob("*.safetensors"))

    def hub_fault(self, repo: str, revision: str) -> str | None:
        """What keeps the hub from giving a commit, if anything; an unreachable hub is tried once."""
        from huggingface_hub import HfApi
        from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

        if self._unreachable:
            return self._unreachable
        try:
            HfApi().model_info(repo, revision=revision, timeout=PATIENCE)
        except GatedRepoError:
            return f"the hub gives {repo} only to accounts that accepted its terms: accept them and set HF_TOKEN"
        except RepositoryNotFoundError:
            return f"the hub has no {repo}, or hides it from this account: check the id and HF_TOKEN"
        except HfHubHTTPError as error:
            return f"the hub refuses {repo} ({' '.join(str(error).split())[:100]}): check the id and the commit"
        except Exception as error:  # noqa: BLE001  (the transport's errors have no common type)
            kind = type(error).__name__
            self._unreachable = f"the Hugging Face Hub cannot be reached ({kind}): check the network and HF_ENDPOINT"
            return self._unreachable
        return None

    def listens(self, host: str, port: int) -> bool:
        """Whether a server on this machine takes connections."""
        try:
            with socket.create_connection((host, port), timeout=1):
                return True
        except OSError:
            return False
