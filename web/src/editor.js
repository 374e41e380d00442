// The SQL editor: CodeMirror in a shadow root, where its style sheets are adopted and need no inline style.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, startCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder, tooltips } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const look = EditorView.theme({
  "&": { backgroundColor: "var(--field)", color: "var(--ink)", fontSize: "0.9375rem", borderRadius: "var(--round)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontVariantLigatures: "none", lineHeight: "1.6", minHeight: "11rem" },
  ".cm-content": { caretColor: "var(--ink)", padding: "0.75rem 0" },
  ".cm-line": { padding: "0 0.875rem" },
  ".cm-cursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "none" },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--round)",
    boxShadow: "var(--shadow)",
    overflow: "hidden",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "0.875rem", maxHeight: "14rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.3rem 0.75rem", color: "var(--ink)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-tooltip li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", marginLeft: "0.75rem" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionIcon": { display: "none" },
  ".cm-tooltip.cm-completionInfo": { padding: "0.5rem 0.75rem", fontFamily: "var(--sans)", maxWidth: "20rem" },
});

const colors = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.operator, tags.punctuation], color: "var(--muted)" },
]);

// What the service accepts, and nothing else, so that nothing else is offered.
const dialect = SQLDialect.define({
  keywords:
    "all and any as asc between by case cast cube current desc distinct else end exists false filter following from full " +
    "group grouping having if ilike in inner interval is join last left like limit not null nulls offset on or order outer " +
    "right rollup select semi sets then true union using when where with within",
  builtin:
    "abs avg ceil coalesce concat contains corr count count_if covar_pop covar_samp date_diff date_part date_trunc exp " +
    "extract floor greatest least length ln log10 lower max median min mod nullif percentile_cont pow quantile_cont " +
    "regr_intercept regr_slope replace round sign sqrt starts_with stddev stddev_pop substring sum trim trunc upper " +
    "var_pop var_samp variance year month day hour",
  types: "bigint boolean date double integer timestamp varchar",
  doubleQuotedStrings: false,
});

/** Puts an editor in the place of a textarea, which keeps its text and is what the form sends. */
export function editorFor(textarea, { schema, changed, entered }) {
  const host = document.createElement("div");
  host.className = "editor";
  textarea.after(host);
  textarea.hidden = true;
  const root = host.attachShadow({ mode: "open" });
  const tables = Object.keys(schema);
  const submit = Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (entered(), true) }]));
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: textarea.value,
      extensions: [
        submit,
        history(),
        closeBrackets(),
        bracketMatching(),
        autocompletion({ icons: false, activateOnTyping: true }),
        keymap.of([
          { key: "Ctrl-Space", run: startCompletion },
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...historyKeymap,
          ...completionKeymap,
        ]),
        sql({ dialect, schema, defaultTable: tables[0], upperCaseKeywords: true }),
        syntaxHighlighting(colors),
        look,
        tooltips({ position: "absolute" }),
        placeholder(`SELECT COUNT(*) FROM ${tables[0] ?? "people"}`),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({
          "aria-label": textarea.getAttribute("aria-label") ?? "Question in SQL",
          spellcheck: "false",
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) {
            textarea.value = update.state.doc.toString();
            changed();
          }
        }),
      ],
    }),
  });
  const label = document.querySelector(`label[for="${textarea.id}"]`);
  label?.addEventListener("click", (event) => {
    event.preventDefault();
    view.focus();
  });
  return {
    insert(text) {
      view.dispatch(view.state.replaceSelection(text));
      view.focus();
    },
  };
}
