"""Tests of what is noted about a response in place of its texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builders import REASON, response
from equipoise.figures.responses import note


@given(
    replies=st.lists(st.sampled_from(["", "No.", REASON, f"{REASON} "]), min_size=2, max_size=2),
    likelihoods=st.lists(st.dictionaries(st.sampled_from("AB"), st.sampled_from([-1.0, -2.0])), min_size=2, max_size=2),
    free_text=st.booleans(),
)
def test_digests_are_equal_where_results_are(
    replies: list[str], likelihoods: list[dict[str, float]], *, free_text: bool
) -> None:
    """Two digests are one exactly where the texts or the likelihoods are, and only what tells has one."""
    first, second = (
        note(response("k", reply, log_likelihood=likelihood), free_text=free_text)
        for reply, likelihood in zip(replies, likelihoods, strict=True)
    )

    # A letter's study has no digest of its words; one likelihood alone tells nothing, nor do fewer than 50 words.
    tell = free_text and all(replies)
    assert [note_.wording is None for note_ in (first, second)] == [not free_text or not reply for reply in replies]
    assert not tell or (first.wording == second.wording) == (replies[0] == replies[1])
    sure = [
        {*([str(sorted(likelihood.items()))] if len(likelihood) == 2 else ()), *([reply] if REASON in reply else ())}
        for reply, likelihood in zip(replies, likelihoods, strict=True)
    ]
    assert len({*first.sure} & {*second.sure}) == len(sure[0] & sure[1])


def test_tags_alone_are_no_words() -> None:
    """A reply is empty where there is nothing outside its tags; a failed run has no reply that could be."""
    empty = [
        note(response("k", *replies), free_text=True).empty for replies in (("A.", "<think></think>"), ("A.",), ())
    ]

    assert empty == [True, False, False]
