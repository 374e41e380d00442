// Pictures of error bars, as SVG whose colors come from the style sheet. Each has its numbers in a table beside it.
import { axisBottom, axisLeft } from "d3-axis";
import { scaleBand, scaleLinear, scaleLog, scalePow, scaleUtc } from "d3-scale";
import { select } from "d3-selection";
import { area, curveStepAfter, line } from "d3-shape";

const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, notation: "compact" });
const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

/** A number as a person reads it: 12,345 and 0.00123. */
export function shown(number) {
  return Math.abs(number) >= 1e6 || (number !== 0 && Math.abs(number) < 1e-4)
    ? number.toPrecision(3)
    : exact.format(Number(number.toPrecision(Math.abs(number) >= 1000 ? 5 : 3)));
}

function sheet(host, width, height, label) {
  host.replaceChildren();
  return select(host)
    .append("svg")
    .attr("viewBox", `0 0 ${width} ${height}`)
    .attr("width", width)
    .attr("height", height)
    .attr("role", "img")
    .attr("aria-label", label);
}

function grid(svg, scale, ticks, from, to) {
  svg
    .append("g")
    .attr("class", "grid")
    .selectAll("line")
    .data(ticks)
    .join("line")
    .attr("x1", (tick) => scale(tick))
    .attr("x2", (tick) => scale(tick))
    .attr("y1", from)
    .attr("y2", to);
}

/** How wide the error bar of one column is at every price, with the bar of the price that is chosen. */
export function drawFunnel(host, { curve, epsilon, amount, width }) {
  const height = 132;
  const [top, bottom, left, right] = [6, 106, 20, width - 14];
  const svg = sheet(host, width, height, `Error bar at epsilon ${epsilon}: plus or minus ${shown(amount)}`);
  const prices = curve.map((point) => point.epsilon);
  const x = scaleLog([prices[0], prices[prices.length - 1]], [left, right]).clamp(true);
  const most = Math.max(...curve.map((point) => point.amount));
  // The square root keeps small errors visible beside large ones; the labels say which they are.
  const y = scalePow([-most, most], [bottom, top]).exponent(0.5).clamp(true);
  const shape = (spread) =>
    area()
      .x((point) => x(point.epsilon))
      .y0((point) => y(-point.amount * spread))
      .y1((point) => y(point.amount * spread))(curve);
  svg.append("path").attr("class", "band").attr("d", shape(1));
  for (const sign of [-1, 1]) {
    const edge = line()
      .x((point) => x(point.epsilon))
      .y((point) => y(sign * point.amount));
    svg.append("path").attr("class", "band-edge").attr("d", edge(curve));
  }
  const decade = 10 ** Math.floor(Math.log10(most * 0.8));
  for (const sign of [1, -1]) {
    const at = y(sign * decade);
    svg.append("line").attr("class", "level-line").attr("x1", left).attr("x2", right).attr("y1", at).attr("y2", at);
    const text = `${sign > 0 ? "+" : "−"}${short.format(decade)}`;
    svg.append("text").attr("class", "level-label").attr("x", right).attr("y", at - 4).text(text);
  }
  const whole = x.ticks().filter((tick) => Number.isInteger(Number(Math.log10(tick).toFixed(9))));
  svg
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(0,${bottom + 4})`)
    .call(axisBottom(x).tickValues(whole).tickFormat((tick) => `ε ${tick}`).tickSizeOuter(0));
  svg.append("line").attr("class", "zero").attr("x1", left).attr("x2", right).attr("y1", y(0)).attr("y2", y(0));
  whisker(svg, x(epsilon), y(-amount), y(amount), y(0), true);
}

function whisker(svg, x, low, high, middle, upright, room = 6) {
  const bar = svg.append("g").attr("class", "whisker");
  const draw = (x1, y1, x2, y2) => {
    const [a, b, c, d] = upright ? [x1, y1, x2, y2] : [y1, x1, y2, x2];
    bar.append("line").attr("x1", a).attr("y1", b).attr("x2", c).attr("y2", d);
  };
  draw(x, low, x, high);
  draw(x - room, low, x + room, low);
  draw(x - room, high, x + room, high);
  bar
    .append("circle")
    .attr("cx", upright ? x : middle)
    .attr("cy", upright ? middle : x)
    .attr("r", 4.5);
}

/** Values with their intervals, one line for each group. */
export function drawIntervals(host, { name, rows, width }) {
  const each = 30;
  const longest = Math.max(0, ...rows.map((row) => row.label.length));
  const left = Math.min(Math.max(24, longest * 7.4 + 14), width * 0.38);
  const right = width - 16;
  const bottom = 10 + rows.length * each;
  const svg = sheet(host, width, bottom + 30, `${name}, with intervals; the numbers are in the table below`);
  const drawable = rows.filter((row) => [row.value, row.low, row.high].every(Number.isFinite));
  if (drawable.length === 0) return;
  const low = Math.min(...drawable.map((row) => row.low));
  const high = Math.max(...drawable.map((row) => row.high));
  const reach = low >= 0 && low < high * 0.6 ? 0 : low - (high - low) * 0.05;
  const x = scaleLinear([reach, high === reach ? reach + 1 : high], [left, right]).nice(5);
  const y = scaleBand(rows.map((_, place) => place), [10, bottom]);
  const many = width < 480 ? 4 : 6;
  grid(svg, x, x.ticks(many), 6, bottom);
  svg
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(0,${bottom})`)
    .call(axisBottom(x).ticks(many).tickFormat((tick) => short.format(tick)).tickSizeOuter(0));
  rows.forEach((row, place) => {
    const middle = y(place) + y.bandwidth() / 2;
    const text = row.label.length * 7.4 > left - 12 ? `${row.label.slice(0, Math.floor((left - 20) / 7.4))}…` : row.label;
    const label = svg.append("text").attr("class", "label").attr("x", left - 10).attr("y", middle).text(text);
    label.append("title").text(row.label);
    if (!drawable.includes(row)) return;
    whisker(svg, middle, x(row.low), x(row.high), x(row.value), false);
  });
}

/** An axis of moments in UTC, as the tables have them: days by name, and hours from 00 to 23. */
function timeline(x, width) {
  const [days, minutes, seconds] = [x.tickFormat(), x.tickFormat(null, "%H:%M"), x.tickFormat(null, "%H:%M:%S")];
  const shown = (at) => (at % 60_000 ? seconds(at) : at % 86_400_000 ? minutes(at) : days(at));
  return axisBottom(x).ticks(width < 480 ? 3 : 6).tickFormat(shown).tickSizeOuter(0);
}

/** What has been spent, as a staircase over time, below the allowance. */
export function drawSpending(host, { steps, allowance, width }) {
  const height = 240;
  const [top, bottom, left, right] = [14, height - 30, 52, width - 16];
  const svg = sheet(host, width, height, "Epsilon spent over time; the numbers are in the table below");
  const first = steps[0].time;
  const last = Math.max(steps[steps.length - 1].time, first + 60_000);
  const x = scaleUtc([first, last], [left, right]);
  const y = scaleLinear([0, allowance], [bottom, top]);
  const spent = [...steps, { time: last, spent: steps[steps.length - 1].spent }];
  const path = { x: (step) => x(step.time), y: (step) => y(step.spent) };
  svg
    .append("g")
    .attr("class", "grid")
    .selectAll("line")
    .data(y.ticks(4))
    .join("line")
    .attr("x1", left)
    .attr("x2", right)
    .attr("y1", (tick) => y(tick))
    .attr("y2", (tick) => y(tick));
  svg.append("path").attr("class", "band").attr("d", area().curve(curveStepAfter).x(path.x).y0(y(0)).y1(path.y)(spent));
  svg.append("path").attr("class", "spent-line").attr("d", line().curve(curveStepAfter).x(path.x).y(path.y)(spent));
  svg.append("line").attr("class", "limit").attr("x1", left).attr("x2", right).attr("y1", y(allowance)).attr("y2", y(allowance));
  svg.append("text").attr("class", "limit-label").attr("x", right).attr("y", y(allowance) + 15).text("allowance");
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`).call(timeline(x, width));
  svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`).call(axisLeft(y).ticks(4).tickSizeOuter(0));
}


/** Numbers over time, with the band that the exact ones lie in. */
export function drawBand(host, { name, points, width }) {
  const height = 260;
  const [top, bottom, left, right] = [12, height - 30, 58, width - 26];
  const svg = sheet(host, width, height, `${name} over time, with intervals; the numbers are in the table below`);
  const first = points[0].time;
  const last = Math.max(points[points.length - 1].time, first + 60_000);
  const low = Math.min(...points.map((point) => point.low));
  const high = Math.max(...points.map((point) => point.high));
  const reach = low >= 0 && low < high * 0.6 ? 0 : low;
  const x = scaleUtc([first, last], [left, right]);
  const y = scaleLinear([reach, high === reach ? reach + 1 : high], [bottom, top]).nice(5);
  svg
    .append("g")
    .attr("class", "grid")
    .selectAll("line")
    .data(y.ticks(5))
    .join("line")
    .attr("x1", left)
    .attr("x2", right)
    .attr("y1", (tick) => y(tick))
    .attr("y2", (tick) => y(tick));
  const at = (point) => x(point.time);
  const band = area()
    .x(at)
    .y0((point) => y(point.low))
    .y1((point) => y(point.high));
  const middle = line()
    .x(at)
    .y((point) => y(point.value));
  svg.append("path").attr("class", "band").attr("d", band(points));
  svg.append("path").attr("class", "spent-line").attr("d", middle(points));
  if (points.length === 1) whisker(svg, at(points[0]), y(points[0].low), y(points[0].high), y(points[0].value), true);
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`).call(timeline(x, width));
  svg
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(${left},0)`)
    .call(axisLeft(y).ticks(5).tickFormat((tick) => short.format(tick)).tickSizeOuter(0));
}
