// A series over time with its band, drawn from the table on the page.
import { drawBand } from "./pictures.js";

function points(column) {
  return [...document.querySelectorAll("#series-table tr[data-time]")]
    .map((row) => {
      const { value, low, high } = row.querySelector(`td[data-column="${column}"]`).dataset;
      return { time: Date.parse(row.dataset.time), value: Number(value), low: Number(low), high: Number(high) };
    })
    .filter((point) => Object.values(point).every(Number.isFinite))
    .reverse();
}

function drawAll() {
  for (const picture of document.querySelectorAll(".picture[data-column]")) {
    const host = picture.querySelector(".canvas");
    const found = points(picture.dataset.column);
    if (found.length) drawBand(host, { name: picture.dataset.name, points: found, width: host.clientWidth || 720 });
  }
}

drawAll();
addEventListener("resize", drawAll);
