// Residual connections, norms and the feed-forward network (paper §3.1, §3.3).

import { bars, heat, largest, make, named, number } from "./draw.js";
import { headName, networkName, state } from "./state.js";
import { hasDecoderAttention, headsOf, inputs, nameOf, networkParameter, networkWidth, parameter, size, termsOf, times, view } from "./view.js";
import { word } from "./words.js";

const $ = (id) => document.getElementById(id);
/** The features that the table of a norm shows. */
const FEATURES = 6;
/** The hidden units that the table of the feed-forward network shows. */
const UNITS = 8;

/** The sub-layers of a side, in order: the layer, what it is, and the name of its norm among the parameters. */
export function sublayersOf(side) {
  const kinds = side ? ["self", "cross", "ffn"] : ["self", "ffn"];
  const attention = side ? "decoder" : "encoder";
  return view.seen.tables.residuals[side].map((_, i) => {
    const [layer, kind] = [Math.floor(i / kinds.length), kinds[i % kinds.length]];
    const names = { self: nameOf(attention, layer), cross: nameOf("cross", layer), ffn: networkParameter(side, layer) };
    return { layer, kind, side, name: names[kind], index: i };
  });
}

/** The names of what is off if a sub-layer is: its heads, or its network. */
export function namesOf({ layer, kind, side }) {
  if (kind === "ffn") return [networkName(side, layer)];
  const attention = kind === "cross" ? "cross" : ["encoder", "decoder"][side];
  return view.seen.tables[attention].length ? Array.from({ length: headsOf(attention) }, (_, head) => headName(attention, layer, head)) : [];
}

/** Whether all of a sub-layer is off. */
const isOff = (sublayer) => namesOf(sublayer).length > 0 && namesOf(sublayer).every((name) => state.off.has(name));

/** The name of a sub-layer as readers see it. */
export function titleOf({ layer, kind }) {
  const names = { self: word(state.side && !hasDecoderAttention() ? "box-recurrent" : "self"), cross: word("cross").split(/[:：]/)[0].toLowerCase(), ffn: word("ffn") };
  return `${layer + 1}. ${names[kind]}`;
}

/** Draws the table of all sub-layers; `choose` is called with changes of the choices. */
export function residual(choose) {
  const all = sublayersOf(state.side);
  state.sublayer = Math.min(state.sublayer, all.length - 1);
  const rows = all.map((sublayer) => {
    const [x, f] = termsOf(state.side, sublayer.index, state.piece);
    return [titleOf(sublayer), size(x), size(f), size(x.map((value, i) => value + f[i]))];
  });
  const body = bars(rows, Math.max(...rows.flatMap(([, ...values]) => values)));
  [...body.rows].forEach((row, index) => {
    const press = () => {
      choose({ sublayer: index });
      $("sizes").querySelector("[aria-pressed=true]").focus();
    };
    row.cells[0].replaceChildren(make("button", { type: "button", className: "chip", "aria-pressed": index === state.sublayer, onclick: press }, rows[index][0]));
  });
  $("sizes").replaceChildren(
    make("thead", {}, make("tr", {}, ...[word("sublayer"), "x", "f", "x + f"].map((name) => make("th", { scope: "col" }, name)))), body);
  const isPre = view.seen.config.norm === "pre";
  const norm = NORMS[normKind()];
  const [, x, f, sum] = rows[state.sublayer];
  $("residual-order").textContent = word(isPre ? "residual-pre" : "residual-post");
  $("residual-formula").textContent = `${isPre ? `x + f(${norm}(x))` : `${norm}(x + f(x))`};  “${inputs(state.side)[state.piece]}”: |x| = ${number(x)}, |f| = ${number(f)}, |x + f| = ${number(sum)}`;
  $("sublayer-off").checked = isOff(all[state.sublayer]);
  $("sublayer-off").disabled = !namesOf(all[state.sublayer]).length;
  $("network-off").checked = isOff(networkOf());
  drawNorm();
  feedForward();
}

/** The names of the norms, by their kind. */
const NORMS = { layer: "LayerNorm", rms: "RMSNorm", scale: "ScaleNorm" };
const normKind = () => view.seen.config.norm_kind ?? "layer";

/** A normalised vector with the numbers behind it. ScaleNorm has one gain for all features, and only LayerNorm takes the mean away. */
function normalised(values, gain, offset) {
  const epsilon = view.seen.config.layer_norm_eps;
  const kind = normKind();
  const mean = kind === "layer" ? values.reduce((a, b) => a + b, 0) / values.length : 0;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  const unit = values.map((value) => (value - mean) / Math.sqrt(variance + epsilon));
  const gains = values.map((_, i) => (kind === "scale" ? (gain?.[0] ?? 1) / Math.sqrt(values.length) : gain?.[i] ?? 1));
  const offsets = values.map((_, i) => offset?.[i] ?? 0);
  return { mean, variance, unit, gains, offsets, output: unit.map((value, i) => value * gains[i] + offsets[i]) };
}

/** The norm of a sub-layer at the chosen piece: before the sub-layer or after the sum, as the model has it. */
async function normOf({ name, index }) {
  const [gain, offset] = await Promise.all([parameter(`${name}_norm.weight`), parameter(`${name}_norm.bias`)]);
  const [x, f] = termsOf(state.side, index, state.piece);
  const values = view.seen.config.norm === "pre" ? x : x.map((value, i) => value + f[i]);
  return { ...normalised(values, gain, offset), values };
}

/** Whether the choices are still those of an answer that was waited for. */
const isCurrent = ({ seen, side, piece, sublayer }) => seen === view.seen && side === state.side && piece === state.piece && sublayer === state.sublayer;
const now = () => ({ seen: view.seen, side: state.side, piece: state.piece, sublayer: state.sublayer });

async function drawNorm() {
  const asked = now();
  const sublayer = sublayersOf(state.side)[state.sublayer];
  const { mean, variance, values, unit, output, gains, offsets } = await normOf(sublayer);
  if (!isCurrent(asked)) return;
  const kind = normKind();
  const formulas = {
    layer: `γ·(x − mean) / √(variance + ε) + β;  mean = ${number(mean)}, variance = ${number(variance)}`,
    rms: `γ·x / √(mean(x²) + ε);  mean(x²) = ${number(variance)}`,
    scale: `g·x / ‖x‖;  g = ${number(gains[0] * Math.sqrt(values.length))}`,
  };
  $("norm-text").textContent = word(kind === "layer" ? "norm-text" : "norm-other");
  $("norm-formula").textContent = `${NORMS[kind]}(x) = ${formulas[kind]}, |x| = ${number(size(values))} → ${number(size(output))}`;
  const titles = [word("feature"), "x", kind === "layer" ? "(x − mean) / σ" : "x / |x|", "γ", "β", word("norm-output")];
  const rows = values.slice(0, FEATURES).map((value, i) => [value, unit[i], gains[i], offsets[i], output[i]]);
  $("norm-table").replaceChildren(
    make("thead", {}, make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, ...rows.map((row, i) => make("tr", {}, make("th", { scope: "row" }, String(i)), ...row.map((value) => make("td", {}, number(value)))))));
}

/** The feed-forward network that follows the chosen sub-layer, or is it. */
export const networkOf = () => sublayersOf(state.side).slice(state.sublayer).find(({ kind }) => kind === "ffn");

/** The hidden units of the feed-forward network at the chosen piece, after their activation; null if the network is another one. */
async function hiddenUnits() {
  const { config } = view.seen;
  const network = networkOf();
  const [matrix, bias, gate] = await Promise.all(["inner.weight", "inner.bias", "gate.weight"].map((part) => parameter(`${network.name}.${part}`)));
  if (!matrix || gate || config.activation !== "relu") return null;
  const { output } = await normOf(network);
  const [x] = termsOf(state.side, network.index, state.piece);
  return times(matrix, config.norm === "pre" ? output : x, bias).map((value) => Math.max(0, value));
}

/** How many hidden units there are, and how many the ReLU leaves at work; a dash for a network of another kind. */
export async function awake() {
  const units = await hiddenUnits();
  const count = units?.filter((value) => value > 0).length ?? "–";
  return { all: networkWidth(state.side), count };
}

async function feedForward() {
  const asked = now();
  const network = networkOf();
  const { d_model: d, activation } = view.seen.config;
  const wide = networkWidth(state.side);
  const bend = activation === "relu" ? "max(0, x·W₁ + b₁)" : `${activation}(x·W₁ + b₁)`;
  const [, f] = termsOf(state.side, network.index, state.piece);
  $("ffn-formula").textContent = `FFN(x) = ${bend}·W₂ + b₂,  ${d} → ${wide} → ${d};  |FFN| = ${number(size(f))}`;
  const units = await hiddenUnits();
  if (!isCurrent(asked)) return;
  $("units-set").hidden = !units;
  if (!units) return;
  const count = units.filter((value) => value > 0).length;
  $("units-text").textContent = word("units-text", { layer: network.layer + 1, piece: inputs(state.side)[state.piece], all: units.length, count, share: Math.round((100 * count) / units.length) });
  const width = 64;
  const rows = Array.from({ length: Math.ceil(units.length / width) }, (_, i) => units.slice(i * width, (i + 1) * width));
  const title = word("units-title", { all: units.length });
  $("units").replaceChildren(make("figure", {}, make("figcaption", {}, title), heat(rows, title, largest(rows))),
    named(word("units-output"), [f], [inputs(state.side)[state.piece]]));
  const strongest = units.map((value, i) => [value, i]).sort(([a], [b]) => b - a).slice(0, UNITS);
  $("units-table").replaceChildren(bars(strongest.map(([value, i]) => [word("unit", { unit: i }), value]), strongest[0][0] || 1));
}
