// A colour and a shape per class: either alone tells the first classes apart, and both together 24.

const SHAPES = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
  "M-3.6-3.6H3.6V3.6H-3.6Z",
  "M0-4.6L4.4 3.4H-4.4Z",
  "M0-5L5 0L0 5L-5 0Z",
  "M0 4.6L4.4-3.4H-4.4Z",
  "M-1.6-4.6H1.6V-1.6H4.6V1.6H1.6V4.6H-1.6V1.6H-4.6V-1.6H-1.6Z",
];

export const N_COLOURS = 8;

export function svg(name, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export function shape(code) {
  return SHAPES[(code + Math.floor(code / 24)) % SHAPES.length];
}

export function colour(code) {
  return `class-${code % N_COLOURS}`;
}

/** A small picture of a class, for its button. */
export function symbol(code) {
  const drawing = svg("svg", { viewBox: "-6 -6 12 12", class: `symbol ${colour(code)}`, "aria-hidden": "true" });
  drawing.append(svg("path", { d: shape(code) }));
  return drawing;
}
