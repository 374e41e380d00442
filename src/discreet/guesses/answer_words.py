"""Names that answers, receipts and budgets have in other libraries."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.guesses.near_names import each

ENDS = "write .intervals(confidence=0.9); x_low and x_high of .to_pandas() are the ends at the stated confidence."
FRAME = "write .to_pandas(), which has keys, values and ends."
COST = "write .receipt.charge, which has .epsilon, .delta and .rho."


ANSWER: Mapping[str, str] = {
    **dict(each(FRAME, "iloc loc at iat index T items iterrows itertuples iter_rows rows to_dict to_dicts to_records")),
    **dict(
        each(FRAME, "df frame pandas as_pandas topandas collect dataframe to_df data table to_numpy numpy tail keys")
    ),
    **dict(each(ENDS, "interval confidence_interval conf_int ci error errors stderr std_err bounds low high margin")),
    **dict(each(COST, "epsilon eps delta rho cost price charge spent budget guarantee privacy")),
    "value": "write answer['n'][0] for the first value of the column n; answer.columns has the names.",
    "values": "write answer['n'] for the values of the column n; answer.columns has the names.",
    "item": "write answer['n'][0] for the first value of the column n.",
    "tolist": "write answer['n'].tolist().",
    "mean": "write answer['n'].mean(); answer.columns has the names.",
    "sum": "write answer['n'].sum(); answer.columns has the names.",
    "min": "write answer['n'].min(); answer.columns has the names.",
    "max": "write answer['n'].max(); answer.columns has the names.",
    "scale": "write .receipt.measurements, which has the noise of each total.",
    "noise": "write .receipt.measurements, which has the noise of each total.",
    "mechanism": "write .receipt.measurements, which has the noise of each total.",
    "sensitivity": "write .receipt.measurements, which has the noise of each total.",
    "shape": "write len(answer) for its rows, and answer.columns for its columns.",
    "size": "write len(answer) for its rows.",
    "numrows": "write len(answer) for its rows.",
    "explain": "it is of the question, before a release; .receipt has the account of this one.",
    "release": "it is one already: the same question again is free, and fresh=True draws and pays anew.",
    "sql": "write .receipt['sql'].",
    "question": "write .receipt.question.",
    "sortvalues": "write .order_by('n', desc=True).",
    "sort": "write .order_by('n', desc=True).",
    "orderby": "write .order_by('n', desc=True).",
    "query": "write .having(_.n > 100).",
    "where": "write .having(_.n > 100).",
    "assign": "write .mutate(rate=_.a / _.n).",
    "withcolumns": "write .mutate(rate=_.a / _.n).",
    "round": "write .rounded(0).",
    "pivottable": "write .pivot('plan').",
    "unstack": "write .pivot('plan').",
    "hist": "write .plot(kind='bars').",
    "bar": "write .plot(kind='bars').",
    "show": "write print(answer), or .plot().",
    "display": "write print(answer), or .plot().",
    "save": "write .to_parquet('answer.parquet'), which keeps the receipt.",
    "write": "write .to_parquet('answer.parquet'), which keeps the receipt.",
    "tojson": "write .to_pandas().to_json(); the receipt is a dict, ready for JSON.",
    "tohtml": "write .to_pandas().to_html(); a notebook shows the answer by itself.",
    "savefig": "write .plot(path='answer.png').",
    "groupby": "ask a question of its own: keys that were released can be added up by .to_pandas().groupby(...).",
}

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
