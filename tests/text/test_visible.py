from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from equipoise.text.visible import visible


@given(st.text(alphabet=st.characters()))
def test_every_character_keeps_its_place(text: str) -> None:
    """Whatever a text holds, positions in it stay, and nothing steers the terminal but line ends and tabs."""
    shown = visible(text).plain

    assert len(shown) == len(text)
    assert not any(one < " " and one not in "\n\t" for one in shown)
    assert not any("\x7f" <= one < "\xa0" for one in shown)
    shown.encode()


def test_markup_is_text() -> None:
    """Square brackets are not taken for styles."""
    assert visible("[red]x[/red]").plain == "[red]x[/red]"
    assert visible("[red]x[/red]").spans == []
