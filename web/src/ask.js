// The page that asks: the editor, the form, and the price that follows both while they change.
import { editorFor } from "./editor.js";
import { drawFunnel, shown } from "./pictures.js";

const form = document.querySelector("#ask");
const panel = document.querySelector("#price");
const said = document.querySelector("#said");
const epsilon = document.querySelector("#epsilon");
const slider = document.querySelector("#epsilon-slider");
const pay = document.querySelector("#pay");

const QUIET = 220; // milliseconds without a change before the price is asked for
let timer = 0;
let asked = 0;
let priced = "";
let current = "";

/** The slider's scale is logarithmic, from a hundredth of what is left to all of it. */
const least = Number(slider?.dataset.least ?? 0.001);
const most = Number(slider?.dataset.most ?? 1);
const span = Math.log(most / least);
const priceAt = (place) => (place >= 1000 ? slider.dataset.most : String(Number((least * Math.exp((span * place) / 1000)).toPrecision(2))));
const placeOf = (price) => Math.max(0, Math.min(1000, Math.round((1000 * Math.log(price / least)) / span)));

function cards() {
  return [...panel.querySelectorAll(".error-card[data-curve]")];
}

/** Between the prices that the server has computed, errors follow a straight line in logarithms. */
function between(curve, price) {
  const after = curve.findIndex((point) => point.epsilon >= price);
  if (after <= 0) return curve[after === 0 ? 0 : curve.length - 1].amount;
  const [a, b] = [curve[after - 1], curve[after]];
  const share = Math.log(price / a.epsilon) / Math.log(b.epsilon / a.epsilon);
  return a.amount * (b.amount / a.amount) ** share;
}

function draw() {
  const price = Number(epsilon.value);
  if (!(price > 0)) return;
  for (const card of cards()) {
    const curve = JSON.parse(card.dataset.curve);
    if (curve.length < 2) continue;
    const exact = Number(card.dataset.epsilon) === price;
    const amount = exact ? Number(card.dataset.amount) : between(curve, price);
    const host = card.querySelector(".funnel");
    drawFunnel(host, { curve, epsilon: price, amount, width: host.clientWidth || 280 });
    if (!exact) card.querySelector(".amount").textContent = shown(amount);
  }
}

/** What is not to be pressed yet keeps the focus, and says so: a disabled button loses it. */
function hold(held) {
  pay?.setAttribute("aria-disabled", String(held));
}

function stale() {
  panel.classList.toggle("stale", true);
  hold(true);
}

/** What a price depends on. */
function stated() {
  const sent = new FormData(form);
  for (const name of ["plan", "priced"]) sent.delete(name);
  return new URLSearchParams(sent).toString();
}

/** Puts other content in the place of a panel, in which the focus stays where it was, and what is open stays open. */
function renew(nodes) {
  const stops = () => [...panel.querySelectorAll("a, summary")];
  const before = document.activeElement;
  const place = stops().indexOf(before);
  const inside = panel.contains(before);
  const open = panel.querySelector("details")?.open;
  panel.replaceChildren(...nodes);
  for (const one of panel.querySelectorAll("details")) one.open = Boolean(open);
  if (!inside) return;
  const next = stops()[place];
  (next?.localName === before.localName ? next : panel).focus();
}

async function price() {
  clearTimeout(timer);
  current = stated();
  const sent = new FormData(form);
  sent.set("do", "price");
  const question = ++asked;
  let answer;
  try {
    answer = await fetch(form.action, {
      method: "POST",
      body: new URLSearchParams(sent),
      headers: { "X-Fragment": "price" },
      credentials: "same-origin",
    });
  } catch {
    current = "";
    said.textContent = "The server could not be reached. The price is not up to date.";
    return;
  }
  if (question !== asked) return;
  if (answer.redirected || answer.status === 401) {
    location.reload();
    return;
  }
  const text = await answer.text();
  if (question !== asked) return;
  const parsed = new DOMParser().parseFromString(text, "text/html");
  renew(parsed.body.childNodes);
  panel.classList.toggle("stale", false);
  if (pay) {
    hold(panel.querySelector("[data-payable]") === null);
    pay.querySelector(".amount-to-pay").textContent = epsilon.value;
  }
  const told = panel.querySelector("[data-said]")?.dataset.said ?? "";
  if (told !== priced) said.textContent = priced = told;
  draw();
}

function changed() {
  if (stated() === current) return; // a field was left as it is
  stale();
  clearTimeout(timer);
  timer = setTimeout(price, QUIET);
}

const textarea = document.querySelector("#sql");
const editor = textarea
  ? editorFor(textarea, {
      schema: JSON.parse(textarea.dataset.schema),
      changed,
      entered: () => (pay && pay.getAttribute("aria-disabled") !== "true" ? pay.focus() : price()),
    })
  : null;

for (const button of document.querySelectorAll("[data-insert]")) {
  button.addEventListener("click", () => editor?.insert(button.dataset.insert));
}

slider?.addEventListener("input", () => {
  epsilon.value = priceAt(Number(slider.value));
  slider.setAttribute("aria-valuetext", `epsilon ${epsilon.value}`);
  draw();
  changed();
});
epsilon?.addEventListener("input", () => {
  if (Number(epsilon.value) > 0) slider.value = String(placeOf(Number(epsilon.value)));
  draw();
  changed();
});
form?.addEventListener("change", (event) => {
  if (event.target !== epsilon && event.target !== slider) changed();
});
form?.addEventListener("input", (event) => {
  if (event.target.closest("[data-watched]")) changed();
});

// Of the lines of the form, those that are in use are shown, and one more when it is asked for.
for (const more of document.querySelectorAll("[data-more]")) {
  const lines = [...document.querySelectorAll(more.dataset.more)];
  const used = (line) => [...line.querySelectorAll("[data-used]")].some((field) => field.value !== "");
  lines.forEach((line, place) => (line.hidden = place > 0 && !used(line)));
  more.hidden = lines.every((line) => !line.hidden);
  more.addEventListener("click", () => {
    const next = lines.find((line) => line.hidden);
    next.hidden = false;
    next.querySelector("select, input").focus();
    more.hidden = lines.every((line) => !line.hidden);
  });
}

form?.addEventListener("submit", (event) => {
  if (event.submitter === pay && pay.getAttribute("aria-disabled") !== "true") {
    pay.classList.add("busy");
    return;
  }
  event.preventDefault(); // Enter in a field asks for the price, which is shown here
  if (event.submitter !== pay) price();
  else said.textContent = "There is no price to pay yet.";
});

if (matchMedia("(max-width: 60rem)").matches) document.querySelector("#columns")?.removeAttribute("open");

if (pay) {
  hold(pay.disabled);
  pay.disabled = false;
}

if (slider && form) {
  slider.value = String(placeOf(Number(epsilon.value)));
  slider.setAttribute("aria-valuetext", `epsilon ${epsilon.value}`);
  addEventListener("resize", draw);
  if (panel.querySelector("[data-payable]")) draw();
  else if (panel.querySelector("[data-focus]") === null && (textarea?.value.trim() || form.dataset.by === "form")) price();
}
