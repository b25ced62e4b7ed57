"""The device that vLLM found."""

from __future__ import annotations


class Platform:
    """A GPU of Hopper's kind."""

    capability = 90

    @classmethod
    def has_device_capability(cls, capability: tuple[int, int] | int, device_id: int = 0) -> bool:  # noqa: ARG003
        """Whether the device can do what a compute capability stands for."""
        wanted = capability if isinstance(capability, int) else capability[0] * 10 + capability[1]
        return cls.capability >= wanted


current_platform = Platform()
