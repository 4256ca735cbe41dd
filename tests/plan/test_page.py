"""A design's own document says what holds, and while what."""

from partita.plan.page import page
from tests.store.gallery import design


def test_a_promise_with_a_condition_is_told_with_it() -> None:
    told = page(design, "# Gallery")
    assert "sums `price` of Work, while `state` = published, exactly" in told
    assert "counts Work, exactly" in told
    assert "- expires 30 days after `updated_at`, while `state` = draft" in told
    assert "- `country` and `handle`: no two items hold the same, compared without case\n" in told
