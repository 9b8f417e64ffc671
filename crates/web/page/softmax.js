// The softmax over the pieces, and the beam search as a tree (paper §3.4, §6.1).

import { bars, make, number, shown } from "./draw.js";
import { remember, state } from "./state.js";
import { WIDTH, finished, picture } from "./tree.js";
import { view } from "./view.js";
import { word } from "./words.js";

const $ = (id) => document.getElementById(id);
/** The label smoothing ε of the paper (§5.4). */
const SMOOTHING = 0.1;
/** The number of pieces that the table of a step shows. */
const SHOWN = 10;
let growing;
let grown = 0;

/** Lets the reader choose a step, and grow the tree. */
export function startSoftmax() {
  $("step").addEventListener("input", () => {
    state.step = Number($("step").value);
    softmax();
    remember();
  });
  $("grown").addEventListener("input", () => grow(Number($("grown").value)));
  $("play").addEventListener("click", play);
}

/**
 * The likeliest pieces of the chosen step, and all others together: names, probabilities, those at the temperature, and what
 * training would ask for.
 */
export function likeliest() {
  const { steps, pieces, tokens, config } = view.seen;
  const { candidates } = steps[state.step];
  const best = candidates[bestRow(state.step)] ?? candidates[0];
  const share = SMOOTHING / config.target_vocab;
  const asked = (id) => share + (id === tokens[state.step] ? 1 - SMOOTHING : 0);
  const rows = best.slice(0, SHOWN).map(([id, logProb, tempered]) => [shown(pieces[id]), Math.exp(logProb), tempered, asked(id)]);
  const rest = [1, 2, 3].map((column) => Math.max(0, 1 - rows.reduce((sum, row) => sum + row[column], 0)));
  return [...rows, [word("all-others", { count: config.target_vocab - rows.length }), ...rest]];
}

export function softmax() {
  const { tokens, pieces, config } = view.seen;
  // The search may go on after the step that ended the translation.
  state.step = Math.min(state.step, tokens.length - 1);
  $("step").max = tokens.length - 1;
  $("step").value = state.step;
  const t = Number($("temperature").value);
  $("softmax-text").textContent = word("softmax-text", { vocab: config.target_vocab });
  $("step-value").textContent = `${state.step + 1} / ${tokens.length}`;
  $("prefix").textContent = word("after", { prefix: tokens.slice(0, state.step).map((id) => shown(pieces[id])).join("") || "<s>" });
  // At T = 1 both columns would be equal.
  const isTempered = t !== 1;
  const titles = [...(isTempered ? ["T = 1", `T = ${t}`] : ["T = 1"]), word("asked", { smoothing: SMOOTHING })];
  const rows = likeliest().map(([name, p, tempered, asked]) => [name, p, ...(isTempered ? [tempered] : []), asked]);
  $("likeliest").replaceChildren(
    make("thead", {}, make("tr", {}, make("td"), ...titles.map((name) => make("th", { scope: "col" }, name)))), bars(rows, 1));
  $("asked-text").textContent = word("asked-text", { smoothing: SMOOTHING, most: 1 - SMOOTHING, vocab: config.target_vocab });
  const [name, p, tempered] = rows[0];
  const shownP = isTempered ? tempered : p;
  $("softmax-formula").textContent = `p = exp(z / T) / Σ exp(z / T);  T = ${t}: p(${name}) = ${number(shownP)},  log p = ${number(Math.log(shownP))}`;
}

/** The row of the translation in a step of the search. */
function bestRow(step) {
  let row = 0;
  for (let i = 1; i <= step; i++) {
    const next = view.seen.steps[i].rows.findIndex(([from, token]) => from === row && token === view.seen.tokens[i - 1]);
    if (next < 0) return 0;
    row = next;
  }
  return row;
}

/** Draws the whole tree. */
export function tree() {
  clearInterval(growing);
  $("grown").max = view.seen.steps.length;
  grow(view.seen.steps.length);
}

function grow(count) {
  const { steps, search, tokens, divisors, score } = view.seen;
  grown = count;
  $("grown").value = count;
  $("grown-value").textContent = `${count} / ${steps.length}`;
  const k = search.beam_size;
  $("tree-text").textContent = k === 1 ? word("tree-text-greedy") : word("tree-text", { k, two: 2 * k });
  $("tree").replaceChildren(picture(view.tree, count));
  // The newest step is in view.
  $("tree").scrollLeft = (count + 2) * WIDTH - $("tree").clientWidth;
  $("finished").replaceChildren(finished(view.tree, count));
  const [n, alpha] = [tokens.length, search.length_penalty.gnmt];
  const lp = divisors[n - 1];
  $("tree-formula").textContent = `log P / lp,  lp = ((5 + n) / 6)^α;  n = ${n}, α = ${alpha}: lp = ${number(lp)};  ${number(score * lp)} / ${number(lp)} = ${number(score)}`;
}

function play() {
  clearInterval(growing);
  grow(0);
  growing = setInterval(() => {
    if (grown >= view.seen.steps.length) return clearInterval(growing);
    grow(grown + 1);
  }, 500);
}
