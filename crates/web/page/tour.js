// The guided tour: ten steps that move the page, each with a sentence, a number of the reader's sentence and something to change.

import { bareWeights, chosen, clampHead, hiddenCount, joined, mostDifferent, mostScaled, ofLayer, strongest } from "./attention.js";
import { stand } from "./figure.js";
import { number } from "./draw.js";
import { embedded, isLearned } from "./positions.js";
import { likeliest } from "./softmax.js";
import { POSITIONS, headName, leaveOnly, remember, state } from "./state.js";
import { awake, namesOf, networkOf, sublayersOf, titleOf } from "./sublayers.js";
import { dot, inputs, piecesOf, size, termsOf, view } from "./view.js";
import { word } from "./words.js";

const $ = (id) => document.getElementById(id);
let actions;

const nextHead = () => actions.choose({ head: (state.head + 1) % ofLayer(state.layer).length });

/** Switches heads or the positions off, or on again if they are all off. */
function toggle(names) {
  const areOff = names.every((name) => state.off.has(name));
  names.forEach((name) => (areOff ? state.off.delete(name) : state.off.add(name)));
  return actions.run();
}

/** Leaves only the chosen head in its layer, or switches all of them on again. */
function toggleOthers() {
  const heads = ofLayer(state.layer);
  const areOff = heads.every((name) => state.off.has(name) || name === ownHead());
  if (areOff) heads.forEach((name) => state.off.delete(name));
  else leaveOnly(heads, ownHead());
  return actions.run();
}

/** Sets the temperature to 2, or back to 1. */
function swing() {
  $("temperature").value = $("temperature").value === "1" ? "2" : "1";
  $("temperature").dispatchEvent(new Event("input"));
}

/** Where each head of the chosen layer looks most from the chosen piece. */
function strongestOfLayer() {
  return ofLayer(state.layer).map((_, head) => {
    const { weight, key } = strongest({ ...state, head });
    return `${word("head-short", { head: head + 1 })}: “${key}” ${number(weight, 2)}`;
  }).join(", ");
}

const ownHead = () => headName(state.kind, state.layer, state.head);

/** The steps: their part of the page, what they choose when the reader comes to them, what they open, a number of the sentence, and what can be changed. */
const STEPS = [
  { name: "tokens", part: "tokens", tell: () => ({ count: inputs(0).length, written: view.seen.tokens.length }), change: () => actions.nextExample() },
  { name: "positions", part: "positions", begin: () => ({ piece: Math.max(state.piece, 1) }), text: () => (isLearned() ? "tour-positions-learned" : "tour-positions-text"), tell: positionOf, change: () => toggle([POSITIONS]) },
  { name: "scores", part: "attention", begin: () => mostScaled("cross"), opens: "neurons-set", at: "scores", tell: scoreOf, change: nextHead },
  { name: "mask", part: "attention", begin: () => ({ kind: "decoder" }), at: "map-title", tell: hiddenOf, change: () => actions.choose({ kind: state.kind === "decoder" ? "encoder" : "decoder" }) },
  { name: "weights", part: "attention", begin: () => ({ kind: "cross" }), opens: "values-set", tell: () => ({ ...strongest(), weight: number(strongest().weight, 2), query: chosen().queries[chosen().query] }), change: () => toggle([ownHead()]) },
  { name: "heads", part: "attention", begin: mostDifferent, opens: "values-set", tell: () => ({ layer: state.layer + 1, heads: joined().length, width: joined()[0].length, all: joined().flat().length, query: chosen().queries[chosen().query], looks: strongestOfLayer() }), change: () => toggleOthers() },
  { name: "residual", part: "residual", at: "residual-formula", tell: residualOf, change: () => actions.choose({ sublayer: (state.sublayer + 1) % sublayersOf(state.side).length }) },
  { name: "ffn", part: "ffn", tell: awake, change: () => toggle(namesOf(networkOf())) },
  { name: "softmax", part: "softmax", tell: shareOf, change: swing },
  { name: "beam", part: "beam", tell: () => ({ k: view.seen.search.beam_size, steps: view.seen.steps.length, score: number(view.seen.score) }), change: () => actions.loseGreedily() },
];

async function positionOf() {
  const [side, place] = [state.side, state.piece];
  const { sums, places } = await embedded(side);
  const [added, whole] = [places, sums].map((rows) => number(size(rows[place]), 2));
  return { piece: inputs(side)[place], place, first: number(places[place][0]), added, size: whole };
}

function scoreOf() {
  clampHead();
  const { q, k, keys, queries, query, weights } = chosen();
  const best = weights.indexOf(Math.max(...weights));
  const sum = dot(q, k[best]);
  return { query: queries[query], key: keys[best], sum: number(sum, 2), width: q.length, score: number(sum / Math.sqrt(q.length), 2), weight: number(weights[best]), bare: number(bareWeights()[best]) };
}

function residualOf() {
  const [x, f] = termsOf(state.side, state.sublayer, state.piece);
  const name = titleOf(sublayersOf(state.side)[state.sublayer]);
  return { name, piece: inputs(state.side)[state.piece], x: number(size(x)), f: number(size(f)) };
}

/** How many scores the mask hides in the attention that is shown. */
function hiddenOf() {
  const isMasked = state.kind === "decoder";
  const [queries, keys] = piecesOf(state.kind);
  return { count: isMasked ? hiddenCount() : 0, all: queries.length * keys.length };
}

function shareOf() {
  const [piece, , tempered] = likeliest()[0];
  return { piece, t: $("temperature").value, share: number(100 * tempered, 1) };
}

/** Starts the part: `given` has `choose`, `run`, `nextExample` and `loseGreedily`. */
export function startTour(given) {
  actions = given;
  $("tour-start").addEventListener("click", () => walk(1));
  $("tour-next").addEventListener("click", () => walk(state.tour === STEPS.length ? 0 : state.tour + 1));
  $("tour-back").addEventListener("click", () => walk(state.tour - 1));
  $("tour-end").addEventListener("click", () => walk(0));
  $("tour-change").addEventListener("click", () => STEPS[state.tour - 1].change());
  $("tour").addEventListener("keydown", ({ key }) => {
    if (key === "Escape") walk(0);
  });
}

/** Goes to a step of the tour; 0 ends it. */
function walk(step) {
  state.tour = step;
  remember();
  if (!step) {
    $("tour").hidden = true;
    document.body.classList.remove("touring");
    return $("tour-start").focus();
  }
  const { begin } = STEPS[step - 1];
  if (begin) actions.choose(begin());
  enter();
  $("tour-title").focus({ preventScroll: true });
}

/** Moves the page to the present step. */
function enter() {
  const { part, opens, at } = STEPS[state.tour - 1];
  if (opens) $(opens).open = true;
  document.body.classList.add("touring");
  $("tour").hidden = false;
  ($(at) ?? $(opens) ?? $(`part-${part}`)).scrollIntoView({ block: "start" });
  stand(part);
  tellTour();
}

/** Writes the present step of the tour for what is shown now. */
export async function tellTour() {
  const step = STEPS[state.tour - 1];
  if (!step || $("tour").hidden) return;
  const { name, text = () => `tour-${name}-text` } = step;
  $("tour-title").textContent = `${state.tour} / ${STEPS.length}: ${word(`tour-${name}-title`)}`;
  $("tour-text").textContent = word(text());
  $("tour-change").textContent = word(`tour-${name}-change`);
  $("tour-back").disabled = state.tour === 1;
  $("tour-more").hidden = state.tour !== STEPS.length;
  $("tour-next").textContent = word(state.tour === STEPS.length ? "tour-done" : "tour-next");
  const values = await step.tell();
  if (STEPS[state.tour - 1] === step) $("tour-number").textContent = word(`tour-${name}-number`, values);
}

/** Goes to the step of the address, once there is something to show. */
export function resumeTour() {
  if (state.tour > STEPS.length) state.tour = 0;
  if (state.tour) enter();
}

/** Hides the tour while there is nothing to show. */
export function pauseTour() {
  $("tour").hidden = true;
}
