// The curator's picture of what has been spent, drawn from the table on the page.
import { drawSpending } from "./pictures.js";

const host = document.querySelector("#spending");

function draw() {
  const steps = [...document.querySelectorAll("tr[data-time]")]
    .map((row) => ({ time: Date.parse(row.dataset.time), spent: Number(row.dataset.spent) }))
    .filter((step) => Number.isFinite(step.time) && Number.isFinite(step.spent))
    .sort((a, b) => a.time - b.time);
  if (steps.length) drawSpending(host, { steps, allowance: Number(host.dataset.allowance), width: host.clientWidth || 720 });
}

if (host) {
  draw();
  addEventListener("resize", draw);
}
