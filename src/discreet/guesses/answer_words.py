"""Names that answers, receipts and budgets have in other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from discreet.errors import NoTruth
from discreet.guesses.near_names import NearNames, each

ENDS = "write .intervals(confidence=0.9); x_low and x_high of .to_pandas() are the ends at the stated confidence."
FRAME = "write .to_pandas(), which has keys, values and ends."
COST = "write .receipt.charge, which has .epsilon, .delta and .rho."

COSTS: Mapping[str, str] = dict(each(COST, "epsilon eps delta rho cost price charge spent budget guarantee privacy"))

QUANTILES = "median quantiles percentile q50 ppf"
MEANS = "mean avg average std var"
MEAN = "ask for it beside, .agg(m=_.age.mean()): bins know it up to their width."
FRAMES = "df frame pandas to_df to_dict to_numpy data iloc loc index rows columns shape head tail"
WIDTHS = "interval intervals confidence_interval conf_int ci error errors stderr bounds low high margin"
SUMS = "sum total count range value"
SHARES = "ecdf pdf share shares cumsum cumulative"

NOISE = "write .receipt.measurements, which has the noise of each total."
SORTED = "write .order_by('n', desc=True)."
KEPT = "write .to_parquet('answer.parquet'), which keeps the receipt."

ANSWER: Mapping[str, str] = {
    **dict(each(FRAME, f"{FRAMES} at iat T items iterrows itertuples iter_rows to_dicts to_records")),
    **dict(each(FRAME, "as_pandas topandas collect dataframe table numpy keys")),
    **dict(each(ENDS, f"{WIDTHS} std_err margin")),
    **COSTS,
    **{name: f"write answer['n'].{name}(); answer.columns has the names." for name in ("mean", "sum", "min", "max")},
    **dict(each(NOISE, "scale noise mechanism sensitivity")),
    **dict(each(SORTED, "sort_values sort order_by")),
    **dict(each("write .having(_.n > 100).", "query where")),
    **dict(each("write .mutate(rate=_.a / _.n).", "assign with_columns")),
    **dict(each("write .pivot('plan').", "pivot_table unstack")),
    **dict(each("write .plot(kind='bars').", "hist bar")),
    **dict(each("write print(answer), or .plot().", "show display")),
    **dict(each(KEPT, "save write")),
    "value": "write answer['n'][0] for the first value of the column n; answer.columns has the names.",
    "values": "write answer['n'] for the values of the column n; answer.columns has the names.",
    "item": "write answer['n'][0] for the first value of the column n.",
    "tolist": "write answer['n'].tolist().",
    "shape": "write len(answer) for its rows, and answer.columns for its columns.",
    "size": "write len(answer) for its rows.",
    "numrows": "write len(answer) for its rows.",
    "explain": "it is of the question, before a release; .receipt has the account of this one.",
    "release": "it is one already: the same question again is free, and fresh=True draws and pays anew.",
    "sql": "write .receipt['sql'].",
    "question": "write .receipt.question.",
    "round": "write .rounded(0).",
    "tojson": "write .to_pandas().to_json(); the receipt is a dict, ready for JSON.",
    "tohtml": "write .to_pandas().to_html(); a notebook shows the answer by itself.",
    "savefig": "write .plot(path='answer.png').",
    "groupby": "ask a question of its own: keys that were released can be added up by .to_pandas().groupby(...).",
}

RANGES: Mapping[str, str] = {
    **COSTS,
    **dict(each("write .quantile(0.5), which has .value, .low and .high.", QUANTILES)),
    **dict(each(MEAN, MEANS)),
    **dict(
        each("write .table.to_pandas(), which has bins, counts and ends.", f"{FRAMES} to_pandas to_csv values bins")
    ),
    **dict(each("write .between(18, 65), which has .value, .low and .high.", f"{SUMS} {WIDTHS}")),
    **dict(each("write .cdf(), a table of the shares below all edges.", SHARES)),
}

GROUPED_RANGES: Mapping[str, str] = {
    **COSTS,
    **dict(each("write .quantile(0.5), a table with value, low and high of each group.", QUANTILES)),
    **dict(each(MEAN, MEANS)),
    **dict(each("write .to_pandas(), which has keys, bins, counts and ends.", f"{FRAMES} bins")),
    **dict(each("write .between(18, 65), a release with the count of each group and its ends.", f"{SUMS} {WIDTHS}")),
    **dict(each("write .cdf(), a table of the shares below all edges in each group.", SHARES)),
}

TABLES: Mapping[str, str] = {
    **COSTS,
    **dict(each("write answer['by_plan'].plot(), of one of its tables.", "plot hist bar bars show display savefig")),
    **dict(each("write .to_pandas() for all tables, answer['by_plan'].to_pandas() for one.", f"{FRAMES} table")),
    **dict(
        each("write answer['by_plan']['n'] for the values of a column n.", f"{MEANS} value item result min max median")
    ),
    **dict(each("write .sum('by_plan', 'n'), which has .value, .low and .high.", "total count")),
    **dict(each("write .intervals(confidence=0.9), or answer['by_plan'].intervals(0.9).", WIDTHS)),
}

LEVELS: Mapping[str, str] = {
    **COSTS,
    **dict(each("write answer['county'] for the Arrow table of a level, or .to_pandas('county').", f"{FRAMES} table")),
    **dict(each("write .to_pandas('county').plot(), of one of its levels.", "plot hist bar bars show display savefig")),
    **dict(
        each("write .sum('county', 'n'), which has .value, .low and .high.", f"{MEANS} value item result total count")
    ),
    **dict(each("write .intervals(confidence=0.9), the tables of all levels.", WIDTHS)),
    **dict(
        each(
            "write .release(epsilon=1, integers=True), for whole numbers that add up.", "counts integers rounded round"
        )
    ),
    **dict(
        each("write answer['county'] for a table, and filter that.", "having filter query where order_by limit mutate")
    ),
    "to_pyarrow": "write answer['county'] for the Arrow table of a level.",
    "levels": "write list(answer).",
}

LEVEL_FILES: Mapping[str, str] = {
    **COSTS,
    **dict(each("leave to= out: sums of cells need their noise in memory.", "sum difference weighted intervals")),
    **dict(each("write pandas.read_parquet(files['county']).", f"{FRAMES} to_pandas to_pyarrow")),
}

COMBINATION: Mapping[str, str] = {
    **dict(each("write .interval(0.9), or .low and .high.", f"{WIDTHS} upper lower")),
    **dict(each("write .value.", "values item result answer estimate sum total count")),
}

VALUE = "item result answer get n number"
FRAME_OF_ONE = dict(each("write .to_pandas().", FRAMES))

AT_LEAST: Mapping[str, str] = {
    **COSTS,
    **FRAME_OF_ONE,
    **dict(each("write .at_least(0.95), a bound from below; there is none from above.", f"{WIDTHS} lower upper")),
    **dict(each("write .value.", f"{VALUE} count total sum nunique")),
}

CHOICE: Mapping[str, str] = {
    **COSTS,
    **FRAME_OF_ONE,
    **dict(each("write .value.", f"{VALUE} choice chosen best winner argmax candidate")),
    **dict(each("scores are not told; count the rows of .value in a question of its own.", f"{WIDTHS} score scores")),
}


class ReleasedNames(NearNames, NoTruth):
    """What a release returned: a name that it does not have is answered with the line to write."""

    __slots__ = ()
    _instead: ClassVar[Mapping[str, str]] = COSTS
    _ask: ClassVar[str] = "ask for what it holds, or for its .receipt."


BUDGET: Mapping[str, str] = {
    "epsilon": "write .allowance.epsilon; .spent.epsilon and .remaining.epsilon are the rest of it.",
    "delta": "write .allowance.delta.",
    "rho": "write .allowance.rho.",
    "total": "write .allowance.",
    "limit": "write .allowance.",
    "left": "write .remaining.",
    "available": "write .remaining.",
    "used": "write .spent.",
    "consumed": "write .spent.",
    "reset": "a budget is not given back: what was answered stays known. A larger one is a decision, .raise_to(...).",
    "refund": "a budget is not given back: what was answered stays known.",
    "clear": "a budget is not given back: what was answered stays known.",
    "add": "write .raise_to(epsilon=2, by='curator', why='...').",
    "increase": "write .raise_to(epsilon=2, by='curator', why='...').",
    "topup": "write .raise_to(epsilon=2, by='curator', why='...').",
    "spend": "a release charges it: .release(epsilon=0.1).",
    "charge": "a release charges it: .release(epsilon=0.1).",
    "consume": "a release charges it: .release(epsilon=0.1).",
    "split": "write dp.Budget(parent=budget, epsilon=0.3, name='alice') for each part.",
    "queries": "write .remaining_queries(epsilon=0.1).",
    "history": "write .entries().",
    "log": "write .entries().",
    "ledger": "write .entries(); `discreet ledger show` prints it.",
    "save": "write dp.Budget(epsilon=1, ledger='spent.db'): it is on disk from the first charge.",
    "close": "write .freeze(by='curator', why='...'), which can be undone, or .close(by=..., why=...) of a level.",
    "copy": "it cannot be copied: pass it on, or open the same ledger.",
}

RECEIPT: Mapping[str, str] = {
    **dict(each("write .charge, which has .epsilon, .delta and .rho.", "epsilon delta rho spent budget price amount")),
    **dict(each("write .measurements, which has the noise of each total.", "scale noise sensitivity mechanism law")),
    **dict(each("it is a dict: json.dumps(receipt).", "to_json json to_dict as_dict dict asdict")),
    "text": "write str(receipt).",
    "sql": "write ['sql'].",
    "guarantee": "write ['guarantee'].",
    "source": "write ['source'].",
}
