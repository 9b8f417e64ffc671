// Tokens, embeddings and positions (paper §3.4, §3.5, §5.1).

import { bars, curves, heat, make, named, number } from "./draw.js";
import { state } from "./state.js";
import { dot, inputs, size, view } from "./view.js";
import { word } from "./words.js";

/** The positions that are drawn as waves. */
const PLACES = 50;
const $ = (id) => document.getElementById(id);

/** Draws the pieces of both sides; `choose` is called with a side and a position. */
export function tokens(choose) {
  const chips = (side) => inputs(side).map((piece, position) => make("button", {
    type: "button", className: "chip", "aria-pressed": state.side === side && state.piece === position,
    onclick: () => {
      choose(side, position);
      chipsOf(side).children[position].focus();
    },
  }, piece));
  for (const side of [0, 1]) chipsOf(side).replaceChildren(...chips(side));
  const [source, target] = [0, 1].map((side) => inputs(side).length);
  $("tokens-formula").textContent = word("tokens-formula", { source, target, vocab: view.seen.config.source_vocab });
}

const chipsOf = (side) => $(side ? "target-chips" : "source-chips");

/** One number of the positions that the paper adds. */
export const sinusoid = (position, feature, d) => (feature % 2 ? Math.cos : Math.sin)(position / 10000 ** ((feature - (feature % 2)) / d));

/** Whether the model has the positions of the paper. */
export const hasSinusoids = () => view.seen.config.positions === "sinusoidal" && !view.seen.config.conventions;

/** The vectors of a side that enter its first layer, and their two terms where the positions are the paper's. */
export function embedded(side) {
  const d = view.seen.config.d_model;
  const sums = view.seen.tables.residuals[side][0][0].map((row) => row.map((value) => value / 1000));
  if (!hasSinusoids()) return { sums };
  const places = sums.map((row, position) => row.map((_, feature) => sinusoid(position, feature, d)));
  const scaled = sums.map((row, p) => row.map((value, i) => value - places[p][i]));
  return { sums, places, scaled };
}

export function embedding() {
  const d = view.seen.config.d_model;
  const isPapers = hasSinusoids();
  const { sums, places, scaled } = embedded(state.side);
  const names = inputs(state.side);
  $("embedding-text").textContent = word(isPapers ? "embedding-text" : "embedding-none", { d });
  const maps = isPapers ? [["embedding-e", scaled], ["embedding-p", places], ["embedding-x", sums]] : [["embedding-x", sums]];
  $("maps").replaceChildren(...maps.map(([name, rows]) => named(word(name, { d }), rows, names)));
  $("places").replaceChildren(...(isPapers ? waves(d) : []));
  const rows = maps.map(([name, all]) => [word(name, { d }), size(all[state.piece])]);
  if (isPapers) rows.unshift([word("embedding-bare"), size(scaled[state.piece]) / Math.sqrt(d)]);
  $("embedding-sizes").replaceChildren(bars(rows, Math.max(...rows.map(([, value]) => value))));
  const p = state.piece;
  $("embedding-formula").textContent = isPapers ? `E·√d + PE,  √${d} = ${number(Math.sqrt(d), 2)}` : "";
  $("positions-formula").textContent = isPapers
    ? `PE(pos, 2i) = sin(pos / 10000^(2i/${d}));  PE(${p}, 0) = sin(${p}) = ${number(sinusoid(p, 0, d))},  PE(${p}, 1) = cos(${p}) = ${number(sinusoid(p, 1, d))}`
    : "";
  const [[, bare], , [, place]] = isPapers ? rows : [[], [], []];
  $("embedding-why").textContent = isPapers ? word("embedding-why", { d, bare: number(bare, 2), place: number(place, 2) }) : "";
}

/** The positions of the paper: some features as curves, and which positions are alike. */
function waves(d) {
  const positions = [...Array(PLACES).keys()];
  const features = [0, d / 16, d / 8, d / 4].map((feature) => 2 * Math.floor(feature / 2));
  const lines = features.map((feature) => positions.map((p) => [p, sinusoid(p, feature, d)]));
  const names = features.map((feature) => word("wave", { feature, length: number(2 * Math.PI * 10000 ** (feature / d), 1) }));
  const rows = positions.map((p) => Array.from({ length: d }, (_, feature) => sinusoid(p, feature, d)));
  const alike = rows.map((a) => rows.map((b) => (2 / d) * dot(a, b)));
  const [of, like] = [word("embedding-curves"), word("embedding-alike", { count: PLACES })];
  return [[of, curves(lines, of, { names })], [like, heat(alike, like)]].map(([name, drawn]) => make("figure", {}, make("figcaption", {}, name), drawn));
}
