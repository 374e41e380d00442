"""What was explained lately, as it was sent: the same request again is answered from memory.

Claim
    What is told again is what `explain` would tell now of the same request of the same principal, and whoever may not
    be told it by now is told nothing.
Requires
    The rights of the principal are those of now: `Members.authenticate` reads them with each request, and nothing here
    stands for that. A data set does not change: one that is declared anew, or has another policy, is another object.
Relies on
    `query.explain`: an explanation follows from the question, its price and the declaration, and neither from the
    ledger nor from rows.
Proof
    What is kept is found under all that it follows from: who asked, the very data sets that they may ask, and the bytes
    that were sent. Who lost a role, or asks of a data set that is gone, may ask of other data sets than before, so
    nothing is found. That something is found is known to whoever sent the same before, and to nobody else.
Rounding
    None.
Source
    None.
Mutant
    told-in-spite-of-roles: what may be asked now is not part of what is looked for; killed by
    test_what_is_told_again_ends_with_the_role.
    told-to-others: who asks is not part of it; killed by test_what_is_told_again_is_told_to_who_asked.
"""

from __future__ import annotations

import hashlib

from discreet.service.data_sets import DataSet
from discreet.service.recently_used import RecentlyUsed

MOST, LONGEST = 1000, 1 << 16
"""How many are kept, and of how many bytes at most."""


class Explanations:
    """What was told of requests, by who sent them, what they might ask then, and the bytes."""

    def __init__(self) -> None:
        self._told: RecentlyUsed[bytes] = RecentlyUsed(MOST)

    def told(self, who: str, datasets: tuple[DataSet, ...], sent: bytes) -> bytes | None:
        """What was told of the same, if that is kept."""
        return self._told.held((who, datasets, hashlib.sha256(sent).digest()))

    def keep(self, who: str, datasets: tuple[DataSet, ...], sent: bytes, told: bytes) -> bytes:
        """Keeps what is told now, unless it is long, and returns it."""
        if len(told) > LONGEST:
            return told
        return self._told.get((who, datasets, hashlib.sha256(sent).digest()), lambda: told)
