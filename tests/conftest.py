"""What a run tries: in CI the same for a commit, new examples and cases at a desk, never for longer than stated."""

from __future__ import annotations

import functools
import gc
import os
import signal
from typing import Any

import pytest
from hypothesis import Phase, settings

from depth import FUZZ, SECONDS, SHARES, TURN, Patience, TimeIsOver, is_tried

# All cores are busy already: threads of one test would wait for those of another, at full speed.
for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
# No test opens a window, where there is a screen.
os.environ.setdefault("MPLBACKEND", "agg")

# In the background a shell has all programs ignore Ctrl-C, and whatever they start: some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A run that fails in CI must fail again for whoever looks into it; a fault caught or missed by luck helps nobody there.
# It shows the first example that fails and how to try it again: the search for the smallest may outlast all patience.
settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, print_blob=True, phases=[Phase.explicit, Phase.generate]
)
# Time limits for one example would fail on a busy machine, not on a fault.
settings.register_profile("desk", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "desk")

ATTACKS = ("tests/audit/", "tests/fuzz/", "tests/ledger/test_under_fire.py")
TRIED = "tried"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out some of many cases and of long tests, unless tests were asked for by name."""
    if any("::" in str(argument) for argument in config.args):
        return
    fixed = TURN or os.environ.get("CI")
    run = fixed or os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))

    def is_left(item: pytest.Item) -> bool:
        shares = [share for mark, share in SHARES.items() if item.get_closest_marker(mark)]
        return bool(shares) and not is_tried(item.nodeid, run, min(shares))

    left = {item for item in items if is_left(item)}
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=[*left])


def pytest_collection_finish() -> None:
    """What was loaded stays: the collector need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Puts a limit on the time of each random test, and notes what it tried."""
    handle = getattr(getattr(item, "obj", None), "hypothesis", None)
    if handle is None:
        yield
        return
    test = handle.inner_test
    patience = Patience(test)

    @functools.wraps(test)
    def bounded(*args: Any, **kwargs: Any) -> None:
        patience(*args, **kwargs)

    handle.inner_test = bounded
    outcome = yield
    handle.inner_test = test
    cut = isinstance(outcome.exception, TimeIsOver)
    item.user_properties.append((TRIED, (patience.tried, cut)))
    if cut:
        outcome.force_result(None)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What the random tests tried, and how long the attacks on ourselves took, all processes together."""
    reports = [one for name in ("passed", "failed", "error", "") for one in terminalreporter.stats.get(name, [])]
    _say_what_was_tried(terminalreporter, reports)
    spent = sum(getattr(one, "duration", 0.0) for one in reports if getattr(one, "nodeid", "").startswith(ATTACKS))
    if spent >= 1:
        terminalreporter.write_line(f"attacks (tests of audit and fuzz, ledgers under fire): {spent:.0f} s of tests")
        if (cache := getattr(terminalreporter.config, "cache", None)) is not None:
            cache.set("discreet/attacks", spent)  # scripts/mutants.py adds its own


def _say_what_was_tried(terminalreporter: Any, reports: list[Any]) -> None:
    calls = [one for one in reports if getattr(one, "when", "") == "call"]
    tried = [(one.nodeid, *value) for one in calls for name, value in one.user_properties if name == TRIED]
    if not tried:
        return
    cut = sorted(((seen, nodeid) for nodeid, seen, is_cut in tried if is_cut))
    terminalreporter.write_line(
        f"random tests: {sum(one[1] for one in tried):,} examples in {len(tried)} tests (FUZZ={FUZZ}); "
        f"{len(cut)} reached their {SECONDS:.0f} s" + ", among them:" * bool(cut)
    )
    for seen, nodeid in cut[:10]:
        terminalreporter.write_line(f"  {nodeid}: {seen} tried")
