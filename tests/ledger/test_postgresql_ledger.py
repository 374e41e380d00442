"""A ledger on a server: shared by processes, killed with its clients, refused when it is not whole."""

from __future__ import annotations

import itertools
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import verify_tail
from discreet.ledger.budget import Budget
from discreet.ledger.ledger import Charge
from discreet.ledger.ledger_kinds import backup, create, exists, head, statement, verify
from discreet.ledger.postgresql_ledger import PostgreSQLLedger
from discreet.noise.process_identity import this_process
from killable_postgresql import PASSWORD, PRESENT, KillableServer, killable_postgresql

MakeCharge = Callable[..., Charge]
Start = Callable[..., subprocess.Popen[str]]

NUMBERS = itertools.count(1)


@pytest.fixture(params=["postgresql"] if PRESENT else [])
def url(server: KillableServer) -> str:
    return server.url(f"ledger_{next(NUMBERS)}")


@pytest.fixture
def owner(url: str) -> Iterator[Any]:
    """The owner of the schema, who can do what the triggers forbid."""
    import psycopg

    address, _, schema = url.partition("#")
    with closing(psycopg.connect(address, autocommit=True)) as connection:
        connection.execute(f'SET search_path = "{schema}"')
        yield connection


def rewrite(owner: Any, *statements: str) -> None:
    for change in ("DISABLE", "ENABLE"):
        if change == "ENABLE":
            for statement_ in statements:
                owner.execute(statement_)
        for table in ("line", "meta", "head"):
            owner.execute(f"ALTER TABLE {table} {change} TRIGGER USER")


def test_what_a_ledger_says(url: str, charge: MakeCharge) -> None:
    assert not exists(url)
    create(url, Budget(epsilon=1)._level().allowance)
    assert exists(url)
    with pytest.raises(LedgerError, match="a schema where nothing is"):
        create(url, Budget(epsilon=1)._level().allowance)
    with pytest.raises(LedgerError, match="allowance of the ledger"):
        Budget(epsilon=2, ledger=url)
    budget = Budget(epsilon=1, ledger=url)
    alice = Budget(parent=budget, epsilon=0.5, name="alice")
    alice.reserve(charge(0.1)).commit(bytes(range(256)))
    told = statement(url)
    assert (told.number, told.spent.epsilon, len(told.entries), len(told.changes)) == (1, Fraction(1, 10), 1, 1)
    assert told.path.startswith("postgresql:///postgres#")
    assert statement(url, after=1).entries == ()
    assert verify(url).balances == told.balances
    for text in (told.path, repr(budget), repr(budget._ledger), str(told)):
        assert PASSWORD not in text
    again = Budget(epsilon=1, ledger=url.replace(PASSWORD, "other"))
    assert again.identity == budget.identity
    assert budget.holds(again.child("alice"))


def test_a_copy_in_a_file_is_the_same_ledger(url: str, folder: Path, charge: MakeCharge) -> None:
    """Line by line, with the same hashes; it continues the heads that were published of the server's."""
    budget = Budget(epsilon=100, ledger=url)
    alice = Budget(parent=budget, epsilon=99, name="alice")
    for number in range(120):
        alice.reserve(charge(0.1, key=f"{number:064x}")).commit(b"answer %d" % number)
    copy = folder / "copy.db"
    assert backup(url, copy).number == 120
    assert verify(copy, head(url)).number == 120
    assert Budget(epsilon=100, ledger=copy).stored(f"{7:064x}") == b"answer 7"
    assert Budget(epsilon=100, ledger=copy).entries() == budget.entries()
    with pytest.raises(LedgerError, match="a path where nothing is"):
        backup(url, copy)


def test_a_long_ledger_opens_from_its_end(url: str, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(epsilon=100, ledger=url)
    alice = Budget(parent=budget, epsilon=99, name="alice")
    for number in range(30):
        (alice if number % 3 else budget).reserve(charge(0.1)).commit(b"answer")
    for lines in (1, 7, 1000):
        monkeypatch.setattr(verify_tail, "LINES", lines)
        found = PostgreSQLLedger(url, budget._level().allowance)
        assert found.balances() == budget._ledger.balances()


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE line SET epsilon = '1/100' WHERE position = 1", "unbroken chain"),
        ("UPDATE line SET spent_epsilon = '0/1' WHERE number = 2", "unbroken chain"),
        ('UPDATE line SET totals = \'[["0/1","0/1","0/1","0/1"]]\' WHERE level <> \'\'', "unbroken chain"),
        ("UPDATE line SET answer = 'x' WHERE kind = 'answer'", "answer that was committed"),
        ("DELETE FROM line WHERE position = 1", "unbroken chain"),
        ("DELETE FROM line WHERE position = (SELECT max(position) FROM line)", "as many lines as the head says"),
        ("UPDATE head SET chain = 'x'", "as many lines as the head says"),
        ("DELETE FROM head", "as many lines|with its head"),
        ("UPDATE meta SET value = '9/1' WHERE name = 'epsilon'", "allowance of the first line"),
        ("UPDATE meta SET value = '4' WHERE name = 'format'", "upgrade discreet"),
        ("DELETE FROM line", "unbroken chain|first line"),
        ("DROP TRIGGER line_kept ON line", "with its triggers"),
        ("DROP INDEX one_charge_one_answer", "with its indexes"),
        ("DROP TABLE line CASCADE", "a schema that is a ledger|with its triggers"),
        ("ALTER TABLE line DROP COLUMN totals", "made by discreet"),
    ],
)
def test_changed_records_are_refused(url: str, owner: Any, charge: MakeCharge, change: str, why: str) -> None:
    budget = Budget(epsilon=1, ledger=url)
    budget.reserve(charge(0.1)).commit(b"answer")
    Budget(parent=budget, epsilon=0.5, name="a").reserve(charge(0.1))
    if change.startswith("DROP TABLE"):
        owner.execute(change)
    else:
        rewrite(owner, change)
    looks: list[Callable[[], object]] = [lambda: verify(url)]
    if "answer" not in change:
        looks += [lambda: Budget(epsilon=1, ledger=url), lambda: statement(url)]
    for look in looks:
        with pytest.raises(LedgerError, match=why):
            look()
    if "SET answer" in change:
        with pytest.raises(LedgerError, match=why):
            budget.stored("ab" * 32)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE line SET epsilon = '0/1'", "DELETE FROM line", "TRUNCATE line", "TRUNCATE meta", "DELETE FROM head",
        "UPDATE meta SET value = '9/1'", "DELETE FROM meta",
        "INSERT INTO line SELECT * FROM line WHERE position = 1 ON CONFLICT (position) DO UPDATE SET epsilon = '0/1'",
        "MERGE INTO line USING meta ON true WHEN MATCHED THEN DELETE",
    ],
)  # fmt: skip
def test_tables_only_grow(url: str, owner: Any, charge: MakeCharge, change: str) -> None:
    import psycopg

    Budget(epsilon=1, ledger=url).reserve(charge(0.1))
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        owner.execute(change)
    assert verify(url).number == 1


def test_a_database_put_back_is_refused_by_who_has_it_open(url: str, owner: Any, charge: MakeCharge) -> None:
    budget = Budget(epsilon=1, ledger=url)
    budget.reserve(charge(0.1))
    before = budget.head()
    budget.reserve(charge(0.1))
    after = budget.head()
    back = "UPDATE head SET (position, chain) = (SELECT position, chain FROM line WHERE position = 1)"
    rewrite(owner, "DELETE FROM line WHERE position = 2", back)
    for use in (
        lambda: budget.spent,
        lambda: budget.reserve(charge(0.1)),
        budget.verify,
        lambda: budget.verify(head=after),
    ):
        with pytest.raises(LedgerError):
            use()
    assert verify(url, before).number == 1  # whole, for who has not seen more


def test_accounts(url: str, owner: Any, charge: MakeCharge, server: KillableServer) -> None:
    """What docs/ledger.md grants is enough to charge; one that may only read is refused at once."""
    Budget(epsilon=1, ledger=url)
    schema, number = url.partition("#")[2], next(NUMBERS)
    reader, charger = f"reader_{number}", f"charger_{number}"
    for role in (reader, charger):
        owner.execute(f"CREATE ROLE {role} LOGIN")
        owner.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO {role}')
        owner.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO {role}')
    owner.execute(f"GRANT INSERT ON line TO {charger}")
    owner.execute(f"GRANT UPDATE ON head TO {charger}")
    budget = Budget(epsilon=1, ledger=server.url(schema, charger))
    budget.reserve(charge(0.1)).commit(b"answer")
    Budget(parent=budget, epsilon=0.5, name="a").close(by="x", why="y")
    with pytest.raises(LedgerError, match="can be written"):
        Budget(epsilon=1, ledger=server.url(schema, reader))
    assert verify(server.url(schema, reader)).number == 1
    with pytest.raises(LedgerError, match="can be written"):
        Budget(epsilon=1, ledger=server.url(f"{schema}_new", charger))


def test_a_foreign_schema_is_refused_and_left_alone(url: str, owner: Any) -> None:
    schema = url.partition("#")[2]
    owner.execute(f'CREATE SCHEMA "{schema}"')
    owner.execute("CREATE TABLE t (x int)")
    with pytest.raises(LedgerError, match="a schema that is a ledger, or empty"):
        Budget(epsilon=1, ledger=url)
    owner.execute("DROP TABLE t")
    assert Budget(epsilon=1, ledger=url).spent.epsilon == 0


# Many processes, killed

RACE = """
for place in sys.stdin:
    budget, won = Budget(epsilon=2, ledger=place.strip()), 0
    for _ in range(5):
        try:
            budget.reserve(charge()).commit(b"answer")
            won += 1
        except BudgetExceeded:
            pass
    print(won, flush=True)
"""


@pytest.mark.long
def test_exactly_twenty_charges_of_8_processes_win(server: KillableServer, start: Start) -> None:
    """They make the ledger together, too."""
    processes = [start(RACE) for _ in range(8)]
    for url in [server.url(f"race_{next(NUMBERS)}") for _ in range(5 if PRESENT else 0)]:
        for process in processes:
            print(url, file=process.stdin, flush=True)
        assert sum(int(process.stdout.readline()) for process in processes if process.stdout) == 20
        assert verify(url).spent.epsilon == 2


FORKS = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
budget = Budget(epsilon=10, ledger=sys.argv[1])
budget.reserve(charge())
for _ in range(3):
    if not os.fork():
        mine = Budget(epsilon=10, ledger=sys.argv[1])
        mine.reserve(charge())
        del budget, mine
        sys.exit()
for _ in range(3):
    assert os.wait()[1] == 0
budget.reserve(charge())
print(budget.spent)
"""


def test_forks_have_connections_of_their_own(url: str, start: Start) -> None:
    assert start(FORKS, url).communicate(timeout=60)[0] == "epsilon=0.5\n"


SPENDER = """
import random
chance = random.Random(os.getpid())
while True:
    try:
        level = Budget(epsilon=100, ledger=sys.argv[1])
        if chance.random() < 0.7:
            level = level.child("alice")
        while True:
            key = f"{chance.randrange(10**6):064x}"
            paid = level.reserve(charge(Fraction(1, 100), key))
            answer = f"{os.getpid()}-{paid.number}".encode()
            paid.commit(answer)
            os.write(1, f"{key} {answer.decode()}\\n".encode())
    except BudgetExceeded:
        break
    except LedgerError as problem:
        os.write(2, f"{type(problem).__name__}\\n".encode())
"""


@pytest.mark.long
@pytest.mark.parametrize("rounds", [5] if PRESENT else [])
def test_clients_and_servers_are_killed(start: Start, rounds: int) -> None:
    """Every answer that somebody saw has its own charge, at both levels; the chain is whole after each kill."""
    chance = random.Random(1)  # noqa: S311 - when to kill
    shown: list[str] = []
    with killable_postgresql() as made:
        url = made.url("spent")
        Budget(parent=Budget(epsilon=100, ledger=url), epsilon=60, name="alice")
        running = [start(SPENDER, url) for _ in range(4)]
        for _ in range(rounds):
            before = _charges(url)
            _until(lambda before=before: _charges(url) > before + 20)  # type: ignore[misc]  # bound now
            made.kill()
            victim = running.pop(chance.randrange(len(running)))
            victim.kill()
            shown += victim.communicate()[0].split("\n")
            made.start()
            running.append(start(SPENDER, url))
        for process in running:
            process.kill()
            shown += process.communicate()[0].split("\n")
        told = verify(url)
        entries = statement(url).entries
        budget = Budget(epsilon=100, ledger=url)
        seen = [line.split() for line in shown if line.count(" ") == 1 and line[-1:].isdigit()]
        assert len(seen) > 20 * rounds // 2
        charged = Counter(entry.key for entry in entries)
        answers = Counter(key for key, _ in seen)
        assert all(answers[key] <= charged[key] for key in answers)
        assert all(budget.stored(key) is not None for key in answers)
        alice = sum(entry.guarantee.epsilon for entry in entries if entry.level)
        assert told.spent.epsilon == Fraction(len(entries), 100)
        assert told.balances.levels["alice"].spent.epsilon == alice <= 60


def _charges(url: str) -> int:
    with suppress(LedgerError):
        return statement(url, entries=False).number
    return 0


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_commit_of_which_nothing_was_heard(url: str, owner: Any, charge: MakeCharge) -> None:
    """The server is lost as it commits: the charge may be made or not, no answer follows, and the ledger goes on."""
    budget = Budget(epsilon=1, ledger=url)
    ledger = budget._ledger
    assert isinstance(ledger, PostgreSQLLedger)
    commit = ledger._store._commit

    def lose(*, after: bool) -> Callable[[], None]:
        def lost() -> None:
            if after:
                commit()
            owner.execute("SELECT pg_terminate_backend(%s)", (ledger._store._connection.info.backend_pid,))
            commit()

        return lost

    for after, number in ((False, 0), (True, 1)):
        ledger._store._commit = lose(after=after)  # type: ignore[method-assign]  # to lose it just then
        with pytest.raises(LedgerError, match="a server that answers"):
            budget.reserve(charge(0.1))
        ledger._store._commit = commit  # type: ignore[method-assign]  # as it was
        assert [entry.answered for entry in budget.entries()] == [False] * number
    with pytest.raises(BudgetExceeded):
        budget.reserve(charge(1))
    assert budget.reserve(charge(0.9)).number == 2
    assert this_process() == budget._process
