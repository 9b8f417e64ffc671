// Why self-attention: the cost, the steps and the paths of four kinds of layers, with n, d, k and r to move (paper §4, Table 1).

import { curves, heat, make } from "./draw.js";
import { word } from "./words.js";

const $ = (id) => document.getElementById(id);
/** The points of a curve. */
const POINTS = 64;
/** The positions of the picture of a window. */
const WINDOW = 32;

/**
 * The kinds of layers: operations of a layer, operations one after another, and the longest path, by n, d, k and r, each with
 * its formula, a text or a function of the sizes. The convolution's kernels are contiguous.
 */
const LAYERS = {
  "self-attention": {
    cost: ({ n, d }) => n * n * d, steps: () => 1, path: () => 1,
    formulas: { cost: "n²·d", steps: "1", path: "1" },
  },
  recurrent: {
    cost: ({ n, d }) => n * d * d, steps: ({ n }) => n, path: ({ n }) => n,
    formulas: { cost: "n·d²", steps: "n", path: "n" },
  },
  convolution: {
    cost: ({ n, d, k }) => k * n * d * d, steps: () => 1, path: ({ n, k }) => Math.max(1, Math.ceil(n / k)),
    formulas: { cost: "k·n·d²", steps: "1", path: "n/k" },
  },
  restricted: {
    cost: ({ n, d, r }) => Math.min(r, n) * n * d, steps: () => 1, path: ({ n, r }) => Math.max(1, Math.ceil(n / r)),
    // A neighbourhood beyond the ends is the whole sequence.
    formulas: { cost: ({ n, r }) => (r < n ? "r·n·d" : "n²·d"), steps: "1", path: ({ n, r }) => (r < n ? "n/r" : "1") },
  },
};

/** A formula with its value for some sizes, or the value alone where it is one. */
function valued(given, value, at) {
  const formula = typeof given === "function" ? given(at) : given;
  const text = value.toLocaleString("en");
  return formula === text ? text : `${formula} = ${text}`;
}

/** Lets the reader move the sizes. */
export function why() {
  ["why-n", "why-d", "why-k", "why-r"].forEach((id) => $(id).addEventListener("input", draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}

/** The sizes of the sliders; n, d and r are powers of two. */
function sizes() {
  const [n, d, k, r] = ["why-n", "why-d", "why-k", "why-r"].map((id) => Number($(id).value));
  return { n: 2 ** n, d: 2 ** d, k, r: 2 ** r };
}

function draw() {
  const at = sizes();
  for (const [name, value] of Object.entries(at)) {
    $(`why-${name}-value`).textContent = String(value);
    // The sliders of n, d and r move by doublings.
    $(`why-${name}`).setAttribute("aria-valuetext", String(value));
  }
  const kinds = Object.entries(LAYERS);
  const names = kinds.map(([name]) => word(`why-${name}`));
  $("why-table").replaceChildren(
    make("thead", {}, make("tr", {}, ...["why-layer", "why-cost", "why-steps", "why-path"].map((name) => make("th", { scope: "col" }, word(name))))),
    make("tbody", {}, ...kinds.map(([, kind], i) => make("tr", {}, make("th", { scope: "row" }, names[i]),
      ...["cost", "steps", "path"].map((field) => make("td", {}, valued(kind.formulas[field], kind[field](at), at)))))));
  // Self-attention costs as much as a recurrent layer at n = d, which is therefore within the axis.
  const end = Math.max(2 * at.d, at.n);
  const line = (count) => Array.from({ length: POINTS }, (_, i) => 1 + Math.round((i / (POINTS - 1)) * (end - 1))).map((n) => [n, count({ ...at, n })]);
  $("why-curves").replaceChildren(...[["why-cost-curve", "cost"], ["why-path-curve", "path"]].map(([title, field]) => {
    const label = word(title, { d: at.d, k: at.k, r: at.r });
    return make("figure", {}, make("figcaption", {}, label), curves(kinds.map(([, kind]) => line(kind[field])), label, { names, axis: "n" }));
  }));
  const isCheaper = at.n < at.d;
  const dearer = at.r < at.n ? "why-dearer" : "why-dearer-all";
  $("why-text").textContent = word(isCheaper ? "why-cheaper" : dearer, at);
  const label = word("why-window", { r: at.r, half: at.r / 2, count: WINDOW });
  const rows = Array.from({ length: WINDOW }, (_, q) => Array.from({ length: WINDOW }, (_, k) => (Math.abs(q - k) <= at.r / 2 ? 1 : 0)));
  $("why-band").replaceChildren(make("figure", {}, make("figcaption", {}, label), heat(rows, label)));
}
