// The map of the latent space, and accuracy by labels: plain SVG.

import { colour, shape, svg } from "./symbols.js";

/** Draw rows of both tables; the current one gets a large ring. */
export function drawMap(element, points, current) {
  const source = svg("g", { class: "source" });
  for (const [x, y, code] of points.source) source.append(mark(x, y, code, 0.45));
  const target = svg("g", { class: "target" });
  const labelled = svg("g", { class: "labelled" });
  for (const [row, x, y, guess, probability, label] of points.target) {
    const known = label !== null;
    const point = mark(x, y, known ? label : guess, known ? 0.9 : 0.6);
    if (!known) point.setAttribute("fill-opacity", (0.25 + 0.65 * probability).toFixed(2));
    (known ? labelled : target).append(point);
  }
  element.replaceChildren(source, target, labelled);
  moveRing(element, points, current);
}

/** Put the large ring around the current row. */
export function moveRing(element, points, current) {
  element.querySelector(".here")?.remove();
  const found = points.target.find(([row]) => row === current);
  if (found) element.append(svg("circle", { cx: 100 * found[1], cy: -100 * found[2], r: 8, class: "here" }));
}

function mark(x, y, code, size) {
  return svg("path", {
    d: shape(code),
    class: colour(code),
    transform: `translate(${(100 * x).toFixed(1)} ${(-100 * y).toFixed(1)}) scale(${size})`,
  });
}

/** Draw how the estimate and its interval moved. */
export function drawChart(element, history) {
  const known = history.filter((each) => each.value !== undefined);
  element.toggleAttribute("hidden", known.length < 2);
  if (known.length < 2) return;
  const first = known[0].labels, last = Math.max(known.at(-1).labels, first + 1);
  const across = (labels) => 34 + (256 * (labels - first)) / (last - first);
  const low = Math.max(0, Math.min(...known.map((each) => each.low)) - 0.02);
  const high = Math.min(1, Math.max(...known.map((each) => each.high)) + 0.02);
  const up = (share) => 72 - (64 * (share - low)) / (high - low || 1);
  const line = (points) => points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
  const upper = known.map((each) => [across(each.labels), up(each.high)]);
  const lower = known.map((each) => [across(each.labels), up(each.low)]).reverse();
  const middle = known.map((each) => [across(each.labels), up(each.value)]);
  const text = (x, y, anchor, content) => {
    const element = svg("text", { x, y, "text-anchor": anchor });
    element.textContent = content;
    return element;
  };
  const [endX, endY] = middle.at(-1);
  element.replaceChildren(
    svg("path", { d: `M${line([...upper, ...lower])}Z`, class: "band" }),
    svg("path", { d: `M${line(middle)}`, class: "line" }),
    svg("circle", { cx: endX, cy: endY, r: 3.5, class: "end" }),
    text(28, up(high) + 8, "end", `${Math.round(100 * high)}%`),
    text(28, up(low), "end", `${Math.round(100 * low)}%`),
    text(34, 87, "start", `${first}`),
    text(290, 87, "end", `${last} labels`),
  );
}
