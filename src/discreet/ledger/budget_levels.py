"""The levels of a budget: opened inside of each other, raised, frozen and closed, each by an entry of its ledger."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from discreet.errors import InvalidParameter, LedgerError, expected, nearest_name
from discreet.exact.amounts import above_zero
from discreet.ledger.ledger import Ledger
from discreet.ledger.level_changes import CLOSE, FREEZE, OPEN, RAISE, UNFREEZE, LevelChange, RaisedMeanwhile, check_told
from discreet.ledger.level_names import is_below, parent_of, path_below
from discreet.ledger.lookup_arguments import checked_text, stretch
from discreet.ledger.nested_levels import Balances, BudgetLevel
from discreet.ledger.privacy_filter import Allowance
from discreet.ledger.published_head import PublishedHead
from discreet.noise.process_identity import this_process
from discreet.privacy.definitions import Guarantee

if TYPE_CHECKING:
    from discreet.ledger.budget import Budget


AMOUNTS = {"epsilon": "epsilon", "delta": "delta", "own_delta": "own", "rho": "rho"}
"""The amounts of an allowance, with what `Allowance.raised` calls them."""
PARTS = {"own_delta": "part"}
"""What an allowance itself calls them, where that is another name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelStatement:
    """How one level stood at one moment."""

    path: str
    """Empty for the whole budget."""
    allowance: Guarantee
    spent: Guarantee
    remaining: Guarantee
    """The least that it and the levels around it have left."""
    standing: str
    """``open``, ``frozen`` or ``closed``: its own, or that of a level around it."""


class LevelVerbs:
    """What a budget is in its ledger, and what may be done with its levels."""

    __slots__ = ("_asked_by", "_ledger", "_path", "_process", "_scope")

    _ledger: Ledger
    _path: str
    _asked_by: str
    _scope: str
    _process: tuple[int, int]

    def _place(self, ledger: Ledger, path: str, asked_by: str, scope: str) -> None:
        self._process = this_process()
        self._ledger, self._path, self._asked_by, self._scope = ledger, path, asked_by, scope

    @property
    def path(self) -> str:
        """The names of the levels around it and its own, such as ``staff/alice``; empty for the whole budget."""
        return self._path

    @property
    def name(self) -> str:
        """The last name of its path."""
        return self._path.rpartition("/")[2]

    @property
    def standing(self) -> str:
        """``open``, or what the outermost level of its path is that is not: ``frozen`` or ``closed``.

        >>> from discreet.ledger.budget import Budget
        >>> budget = Budget(epsilon=1)
        >>> budget.freeze(by="carol", why="a report of an attack")
        >>> budget.standing
        'frozen'
        """
        return self.standing_of(self._path)

    def standing_of(self, level: str) -> str:
        """The same of any level of the ledger, by its path."""
        return self._own().balances().standing(checked_text("level", level, "write its path, as 'staff/alice'."))

    def child(self, name: str) -> Self:
        """A level in this one that was opened before.

        >>> from discreet.ledger.budget import Budget
        >>> budget = Budget(epsilon=1)
        >>> made = Budget(parent=budget, epsilon=0.3, name="alice")
        >>> budget.child("alice").remaining
        Guarantee(epsilon=0.3)
        """
        path = path_below(self._path, name)
        self._own().balances().at(path)
        return self._handle(path, asked_by=name)

    @property
    def children(self) -> tuple[Self, ...]:
        """The levels right inside of this one, in the order in which they were opened."""
        paths = [path for path in self._own().balances().levels if path and parent_of(path) == self._path]
        return tuple(self._handle(path, asked_by=path.rpartition("/")[2]) for path in paths)

    def _opened(self, *names: str) -> tuple[Balances, list[tuple[str, Self]]]:
        """Of levels with these names, each inside of the last that is there, those that were opened; and how all stand
        at that moment.
        """
        balances, path = self._own().balances(), self._path
        found = []
        for name in names:
            below = path_below(path, name)
            if below in balances.levels:
                path = below
                found.append((name, self._handle(path, asked_by=name)))
        return balances, found

    def levels(self) -> tuple[LevelStatement, ...]:
        """How this level and all those in it stand, at one moment.

        >>> from discreet.ledger.budget import Budget
        >>> budget = Budget(epsilon=1)
        >>> staff = Budget(parent=budget, epsilon=0.5, name="staff")
        >>> alice = Budget(parent=staff, epsilon=0.8, name="alice")
        >>> [(one.path, str(one.remaining)) for one in budget.levels()]
        [('', 'epsilon=1'), ('staff', 'epsilon=0.5'), ('staff/alice', 'epsilon=0.5')]
        """
        balances = self._own().balances()
        return tuple(
            LevelStatement(
                path=path,
                allowance=level.allowance.guarantee,
                spent=level.allowance.spent(level.spent),
                remaining=balances.remaining(path),
                standing=balances.standing(path),
            )
            for path in balances.below(self._path)
            for level in [balances.at(path)]
        )

    def for_asker(self, asked_by: str, *, shared: bool = True) -> Self:
        """This level as somebody uses it: her charges say who asked.

        Args:
            asked_by: who asks.
            shared: whether she is given, for nothing, answers to the same question that other levels have paid for;
                otherwise only those charged to this level or in it.
        """
        check_told("asked_by", asked_by)
        return self._handle(self._path, asked_by=asked_by, scope="" if shared else self._path)

    def holds(self, other: Any) -> bool:
        """Whether another budget is this one, or a level in it."""
        if not isinstance(other, LevelVerbs):
            raise InvalidParameter(expected("a budget", "other", type(other).__name__, "give a dp.Budget."))
        same = other._own().identity == self._own().identity  # noqa: SLF001 - our own
        return same and is_below(other.path, self._path)

    def raise_to(
        self,
        *,
        by: str,
        why: str,
        epsilon: object = None,
        delta: object = None,
        own_delta: object = None,
        rho: object = None,
    ) -> None:
        """Lets this level spend more from now on, up to these amounts in total; those that are left out stay.

        Everybody whose rows are asked about was promised the old amounts: what is raised is what they may lose. Of the
        whole budget it is a promise anew, about all that was ever answered. It is refused where that could not be
        proved, or where an amount would become less.

        >>> from discreet.ledger.budget import Budget
        >>> budget = Budget(epsilon=1)
        >>> budget.raise_to(epsilon=1.5, by="carol", why="approved by the ethics board on 3 May")
        >>> budget.remaining
        Guarantee(epsilon=1.5)
        """
        allowance = self._level().allowance.raised(epsilon=epsilon, delta=delta, own=own_delta, rho=rho)
        self._record(RAISE, by, why, allowance)

    def raise_by(self, amounts: Mapping[str, object], *, by: str, why: str, once: str = "") -> None:
        """Lets this level spend so much more: of raises at the same time, in any processes, none is lost.

        `amounts` are those of `raise_to`, by name. All that is said there holds. `once` names this raise, at the end of
        `why`: where the level was raised under that name before, nothing happens, so that whoever was interrupted may
        ask again.

        >>> from discreet.ledger.budget import Budget
        >>> budget = Budget(epsilon=1)
        >>> budget.raise_by({"epsilon": 0.5}, by="carol", why="approved by the ethics board on 3 May")
        >>> budget.remaining
        Guarantee(epsilon=1.5)
        """
        if unknown := [name for name in amounts if name not in AMOUNTS]:
            raise InvalidParameter(
                expected("amounts of an allowance", "raised", unknown[0], nearest_name(unknown[0], AMOUNTS))
            )
        more = {name: above_zero(name, amount) for name, amount in amounts.items()}
        named = f" [{once}]" if once else ""
        while True:
            level = self._level().allowance  # before the changes are read: a raise that comes later is refused below
            if once and any(one.kind == RAISE and one.why.endswith(named) for one in self.changes()):
                return None
            found = {AMOUNTS[name]: getattr(level, PARTS.get(name, name)) + amount for name, amount in more.items()}
            allowance = level.raised(**found)
            told = f"{why}{named}"
            change = LevelChange(kind=RAISE, level=self._path, allowance=allowance, by=by, why=told, raised_from=level)
            try:
                return self._own().change(change)
            except RaisedMeanwhile:
                continue

    def freeze(self, *, by: str, why: str) -> None:
        """Has nothing charged to this level, or in it, until `unfreeze`, and no further step of a series drawn, nor
        what costs a part of a table nothing more. What was charged before is answered still, and stored answers are.
        """
        self._record(FREEZE, by, why)

    def unfreeze(self, *, by: str, why: str) -> None:
        """Ends a `freeze`."""
        self._record(UNFREEZE, by, why)

    def close(self, *, by: str, why: str) -> None:
        """Has nothing charged to this level, or in it, ever again; stored answers are given still."""
        self._record(CLOSE, by, why)

    def changes(self, after: int = 0, most: int | None = None) -> tuple[LevelChange, ...]:
        """Every opening, raise, freeze and closing of a level of the ledger, oldest first; of a long list, those behind
        number `after`, and so many at most.

        >>> from discreet.ledger.budget import Budget
        >>> budget = Budget(epsilon=1)
        >>> budget.close(by="carol", why="the study has ended")
        >>> [(one.kind, one.by, one.why) for one in budget.changes()]
        [('close', 'carol', 'the study has ended')]
        """
        return self._own().changes(*stretch(after, most))

    def head(self, key: str | os.PathLike[str] | None = None) -> PublishedHead:
        """Where the ledger's chain ends, to be published where nobody who writes the ledger can change it; signed, if
        `key` names the file of a private key, which ``discreet ledger key`` makes.

        >>> from tempfile import TemporaryDirectory
        >>> from discreet.ledger.budget import Budget
        >>> with TemporaryDirectory() as folder:
        ...     budget = Budget(epsilon=1, ledger=f"{folder}/spent.db")
        ...     head = budget.head()
        ...     budget.close(by="carol", why="the study has ended")
        ...     budget.verify(head=head)
        ...     (head.position, budget.head().position)
        (0, 1)
        """
        found = self._own().head()
        return found if key is None else found.signed(key)

    def verify(self, *, head: PublishedHead | str | None = None, public_key: str | None = None) -> None:
        """Verifies every line and answer of the ledger, and that it continues a published head: an older copy that was
        put back, and a ledger that was written anew, are refused.

        Args:
            head: what `head` gave, or its ``to_json()``.
            public_key: the key that has to have signed it.
        """
        found = PublishedHead.from_json(head) if isinstance(head, str) else head
        if found is not None and not isinstance(found, PublishedHead):
            cure = "give what budget.head() gave, or its .to_json()."
            raise InvalidParameter(expected("a published head", "head", head, cure))
        if public_key is not None and found is None:
            cure = "give the head that was published and signed, head=..."
            raise InvalidParameter(expected("a head beside its key", "head", None, cure))
        if found is not None and (public_key is not None or found.signature):
            found.check_signature(public_key)
        self._own().verify(found)

    def _record(self, kind: str, by: str, why: str, allowance: Allowance | None = None) -> None:
        self._own().change(LevelChange(kind=kind, level=self._path, allowance=allowance, by=by, why=why))

    def _level(self) -> BudgetLevel:
        return self._own().balances().at(self._path)

    def _handle(self, path: str, *, asked_by: str, scope: str | None = None) -> Self:
        """Another level of the same ledger."""
        handle = object.__new__(type(self))
        handle._place(self._own(), path, asked_by, self._scope if scope is None else scope)
        return handle

    def _own(self) -> Ledger:
        """The ledger, unless this process inherited it."""
        # Before any lock is touched: in a fork, a lock may be held by a thread that is not there.
        if this_process() != self._process:
            cure = "make the Budget in the process that uses it, on the same ledger= file, to share its allowance."
            raise LedgerError(expected("the process that made this budget", "process", os.getpid(), cure))
        return self._ledger


def opened_level(parent: Budget, name: object, allowance: Allowance, by: str, why: str) -> tuple[Ledger, str, str, str]:
    """The place of a level in a budget, which is made if it is not there."""
    if not isinstance(parent, LevelVerbs):
        cure = "give the budget around this one, as dp.Budget(...) made it; a part of a table has no levels."
        raise InvalidParameter(expected("a budget", "parent", type(parent).__name__, cure))
    path = path_below(parent.path, name)
    ledger = parent._own()  # noqa: SLF001 - our own
    ledger.change(LevelChange(kind=OPEN, level=path, allowance=allowance, by=by, why=why))
    return ledger, path, path.rpartition("/")[2], parent._scope  # noqa: SLF001 - our own
