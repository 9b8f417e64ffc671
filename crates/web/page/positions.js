// Positions: sines and cosines, or learned vectors (paper §3.5; Table 3, row E).

import { curves, heat, make, number } from "./draw.js";
import { POSITIONS, state } from "./state.js";
import { dot, inputs, parameter, size, view } from "./view.js";
import { word } from "./words.js";

/** The most positions that are drawn. */
const PLACES = 50;
/** The names of the learned vectors among the parameters, by the side. */
const TABLES = ["source_position.weight", "target_position.weight"];
const $ = (id) => document.getElementById(id);

/** Whether the model has learned its positions. */
export const isLearned = () => view.seen.config.positions === "learned";

/** The layout of the sines and cosines: the paper's, or that of another system. */
const layout = () => view.seen.config.conventions?.sinusoids ?? "interleaved";

/** The position that the first piece has in the model. */
const first = () => view.seen.config.conventions?.position_offset ?? 0;

/** The pair of sine and cosine of a feature, and whether the feature is the cosine. */
function pairOf(feature, d) {
  if (layout() === "interleaved") return [feature >> 1, feature % 2 === 1];
  return feature < d / 2 ? [feature, false] : [feature - d / 2, true];
}

/** How many positions a wave of a pair has, divided by 2π. */
const period = (pair, d) => 10000 ** (layout() === "halves_to_end" ? pair / (d / 2 - 1) : (2 * pair) / d);

/** One number of the sines and cosines of the model. */
export function sinusoid(position, feature, d) {
  const [pair, isCosine] = pairOf(feature, d);
  return (isCosine ? Math.cos : Math.sin)(position / period(pair, d));
}

/** The vectors of the first `count` positions of a side, which the model adds to the embeddings. */
export async function positionsOf(side, count) {
  const { d_model: d } = view.seen.config;
  const places = Array.from({ length: count }, (_, i) => i + first());
  if (!isLearned()) return places.map((place) => Array.from({ length: d }, (_, feature) => sinusoid(place, feature, d)));
  const table = await parameter(TABLES[side]);
  return places.map((place) => Array.from(table.slice(place * d, (place + 1) * d)));
}

/** The vectors of a side that enter its first layer, and the positions in them: zeros if they are off. */
export async function embedded(side) {
  const sums = view.seen.tables.residuals[side][0][0].map((row) => row.map((value) => value / 1000));
  const places = state.off.has(POSITIONS) ? sums.map((row) => row.map(() => 0)) : await positionsOf(side, sums.length);
  const scaled = sums.map((row, p) => row.map((value, i) => value - places[p][i]));
  return { sums, places, scaled };
}

/** Draws the positions: as waves, or as the table that the model has learned, and which of them are alike. */
export async function positions() {
  const { seen } = view;
  const [side, piece] = [state.side, state.piece];
  const { d_model: d, max_positions: most } = seen.config;
  const count = isLearned() ? Math.min(PLACES, most - first()) : PLACES;
  const rows = await positionsOf(side, count);
  if (seen !== view.seen || side !== state.side || piece !== state.piece) return;
  $("positions-text").textContent = word(isLearned() ? "positions-learned" : "positions-text", { count: most - first() });
  $("positions-formula").textContent = isLearned() ? learnedFormula(rows[piece]) : waveFormula(d);
  $("no-positions").checked = state.off.has(POSITIONS);
  const drawn = isLearned() ? [table(rows), alikeOf(rows)] : [waves(d), alikeOf(rows)];
  $("places").replaceChildren(...drawn);
}

/** The formula of the waves with the numbers of the chosen piece. */
function waveFormula(d) {
  const place = state.piece + first();
  const formulas = { interleaved: `sin(pos / 10000^(2i/${d}))`, halves: `sin(pos / 10000^(2i/${d}))`, halves_to_end: `sin(pos / 10000^(i/${d / 2 - 1}))` };
  const [sine, cosine] = layout() === "interleaved" ? ["2i", "1"] : ["i", d / 2];
  return `PE(pos, ${sine}) = ${formulas[layout()]};  PE(${place}, 0) = sin(${place}) = ${number(sinusoid(place, 0, d))},  PE(${place}, ${cosine}) = cos(${place}) = ${number(sinusoid(place, Number(cosine), d))}`;
}

/** What the chosen piece gets from the learned table. */
function learnedFormula(row) {
  const { d_model: d, max_positions: most } = view.seen.config;
  const place = state.piece + first();
  return `PE(pos) = P[pos],  P: ${most} × ${d};  PE(${place}) = (${row.slice(0, 3).map((value) => number(value)).join(", ")}, …),  |PE(${place})| = ${number(size(row))}`;
}

const titled = (title, drawn) => make("figure", {}, make("figcaption", {}, title), drawn);

/** Some features as curves over the positions. */
function waves(d) {
  const places = [...Array(PLACES).keys()];
  const features = [0, d / 16, d / 8, d / 4].map((feature) => 2 * Math.floor(feature / 2));
  const lines = features.map((feature) => places.map((place) => [place, sinusoid(place, feature, d)]));
  const length = (feature) => number(2 * Math.PI * period(pairOf(feature, d)[0], d), 1);
  const names = features.map((feature) => word("wave", { feature, length: length(feature) }));
  const title = word("embedding-curves");
  return titled(title, curves(lines, title, { names }));
}

/** The learned vectors, a row for each position. */
function table(rows) {
  const most = Math.max(...rows.map(size)) * 3;
  const title = word("positions-table", { last: rows.length - 1, most: number(most, 2) });
  return titled(title, heat(rows, title, most));
}

/** How alike the positions are: the cosine of the angle between their vectors. */
function alikeOf(rows) {
  const sizes = rows.map((row) => Math.sqrt(dot(row, row)) || 1);
  const alike = rows.map((a, i) => rows.map((b, j) => dot(a, b) / (sizes[i] * sizes[j])));
  const title = word(isLearned() ? "positions-alike" : "embedding-alike", { count: rows.length });
  return titled(title, heat(alike, title));
}
