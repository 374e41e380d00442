// The page of an answer: the wait until its public moment, and then its picture.
import { drawIntervals } from "./pictures.js";

const waiting = document.querySelector("#waiting");
const said = document.querySelector("#said");

if (waiting) {
  const from = Date.now();
  const until = from + 1000 * Number(waiting.dataset.seconds);
  const bar = waiting.querySelector("progress");
  const left = waiting.querySelector("#left");
  const tick = () => {
    const seconds = Math.max(0, (until - Date.now()) / 1000);
    bar.value = Math.min(1, (Date.now() - from) / Math.max(1, until - from));
    left.textContent = seconds > 0.5 ? `about ${Math.ceil(seconds)} s` : "any moment";
  };
  tick();
  setInterval(tick, 200);
  const ask = async () => {
    try {
      const found = await fetch(waiting.dataset.state, { credentials: "same-origin", cache: "no-store" });
      const { finished } = await found.json();
      if (finished) {
        said.textContent = "The answer has arrived.";
        sessionStorage.setItem("acted", "yes");
        location.reload();
        return;
      }
    } catch {
      left.textContent = "the server cannot be reached; trying again";
    }
    setTimeout(ask, 1000);
  };
  ask();
}

/** The rows of the table on the page, which holds all numbers that are drawn. */
function rowsOf(table, column) {
  return [...table.querySelectorAll("tbody tr")].map((row) => {
    const cell = row.querySelector(`td[data-column="${column}"]`);
    return {
      label: [...row.querySelectorAll("th")].map((key) => key.textContent.trim()).join(", "),
      value: Number(cell.dataset.value),
      low: Number(cell.dataset.low),
      high: Number(cell.dataset.high),
    };
  });
}

function drawAll() {
  const table = document.querySelector("#answer-table");
  for (const picture of document.querySelectorAll(".picture[data-column]")) {
    const host = picture.querySelector(".canvas");
    drawIntervals(host, {
      name: picture.dataset.name,
      rows: rowsOf(table, picture.dataset.column).slice(0, 40),
      width: host.clientWidth || 560,
    });
  }
}

if (document.querySelector("#answer-table")) {
  drawAll();
  addEventListener("resize", drawAll);
}
