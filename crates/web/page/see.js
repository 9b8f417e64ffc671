// See: the reader's sentence, step by step through the model (paper §3 and §6.1).

import { attention, looking, ofLayer } from "./attention.js";
import { batch } from "./batch.js";
import { treeOf } from "./beam.js";
import { copyText } from "./clipboard.js";
import { make, number, shown } from "./draw.js";
import { explained, isFatal } from "./errors.js";
import { EXAMPLES, GREEDY_LOSES, PRONOUNS, sentenceFor } from "./examples.js";
import { figure, stand, startFigure } from "./figure.js";
import { cached, filesOf } from "./files.js";
import { Folders } from "./folders.js";
import { clearHeads, logProbOf, startHeads } from "./heads.js";
import { languagesOf, otherLanguage, saysOther } from "./language.js";
import { PARTS } from "./parts.js";
import { embedding, tokens } from "./pieces.js";
import { positions } from "./positions.js";
import { softmax, startSoftmax, tree } from "./softmax.js";
import { POSITIONS, headName, headsOff, leaveOnly, networksOff, remember, state } from "./state.js";
import { namesOf, networkOf, residual, sublayersOf } from "./sublayers.js";
import { pauseTour, resumeTour, startTour, tellTour } from "./tour.js";
import { hasHead, hasNetwork, inputs, offOf, view } from "./view.js";
import { word } from "./words.js";

const PAUSE = 300;
/** The least weight from a pronoun to its noun in a head that is shown for it. */
const BOUND = 0.3;
const $ = (id) => document.getElementById(id);

/** The models that the reader opened. */
const opened = new Folders($("model"));
/** The name of the model that is open, and of the last one that could be opened. */
let present = "";
let lastOpened = "";
let pause;
let running = 0;
let example = 0;
/** Whether the worker began anew and must open the model again. */
let isClosed = false;

/** Starts the part with a worker and the models beside the page. */
export async function see(worker, models) {
  view.engine = worker;
  models.forEach((name) => $("model").add(new Option(word(name), name)));
  if (models.includes(state.model)) $("model").value = state.model;
  if ($("sentence").value === $("sentence").defaultValue) $("sentence").value = EXAMPLES[$("model").value][0];
  new ResizeObserver(() => $("seen").style.setProperty("--bar", `${$("bar").offsetHeight}px`)).observe($("bar"));
  $("model").addEventListener("change", turn);
  $("folder").addEventListener("change", addFolder);
  ["sentence", "beam", "alpha", "temperature"].forEach((id) => $(id).addEventListener("input", soon));
  $("off").addEventListener("change", () => switchOff([headName(state.kind, state.layer, state.head)], $("off").checked));
  $("layer-off").addEventListener("click", () => switchOff(ofLayer(state.layer), true));
  $("only").addEventListener("click", () => {
    leaveOnly(ofLayer(state.layer), headName(state.kind, state.layer, state.head));
    run();
  });
  $("on").addEventListener("click", () => switchOff(headsOff(), false));
  $("no-positions").addEventListener("change", () => switchOff([POSITIONS], $("no-positions").checked));
  $("sublayer-off").addEventListener("change", () => switchOff(namesOf(sublayersOf(state.side)[state.sublayer]), $("sublayer-off").checked));
  $("network-off").addEventListener("change", () => switchOff(namesOf(networkOf()), $("network-off").checked));
  $("copy-link").addEventListener("click", copyLink);
  $("figure5").addEventListener("click", bind);
  $("batch-set").addEventListener("toggle", () => view.seen && batch());
  $("greedy-loses").addEventListener("click", loseGreedily);
  $("to-binding").addEventListener("click", chooseBinding);
  startSoftmax();
  startHeads(choose);
  startFigure(visit);
  startTour({ choose, run, nextExample, loseGreedily });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view.seen && show());
  tellValues();
  await open();
  if (view.seen) resumeTour();
}

function say(text, isError = false) {
  $("status").textContent = text;
  $("status").classList.toggle("error", isError);
}

/** Says what went wrong, and takes away what was shown before. */
function fail(error) {
  view.seen = null;
  view.whole = null;
  $("seen").hidden = true;
  $("figure").hidden = true;
  pauseTour();
  say(explained(error), true);
  if (!isFatal(error)) return;
  view.engine.end();
  isClosed = true;
}

async function copyLink() {
  remember();
  await copyText(location.href);
  say(word("link-copied"));
}

/** Shows the sentences to begin with for the model that is chosen. */
function examples() {
  const all = EXAMPLES[$("model").value] ?? [];
  const [lang] = languagesOf($("model").value);
  $("examples").replaceChildren(...all.map((text, index) => make("button", { type: "button", className: "chip", lang, onclick: () => take(index) }, text)));
  $("sentence").lang = lang;
  $("figure5-set").hidden = !PRONOUNS[$("model").value];
  $("greedy-loses").hidden = !all.length;
  $("figure5-text").textContent = "";
}

function take(index) {
  example = index;
  $("sentence").value = EXAMPLES[$("model").value][index];
  return run();
}

/** Shows the head that looks from a pronoun at its noun (Figure 5), in the example if the sentence has none. */
async function bind() {
  const { example, from, to } = PRONOUNS[$("model").value];
  const binds = () => view.seen && looking(from, to)?.weight >= BOUND;
  if (!binds()) await take(example);
  if (!binds()) return;
  const found = looking(from, to);
  choose({ kind: "encoder", layer: found.layer, head: found.head, side: 0, piece: found.query });
  const head = word("head", { layer: found.layer + 1, head: found.head + 1 });
  $("figure5-text").textContent = word("figure5-found", { head, query: from, key: to, weight: number(found.weight, 2) });
}

/** Takes the example that greedy search loses, with greedy search, and with a beam the next time. */
function loseGreedily() {
  const isLost = $("beam").value === "1" && $("sentence").value === EXAMPLES[$("model").value]?.[GREEDY_LOSES];
  $("beam").value = isLost ? "4" : "1";
  tellValues();
  return EXAMPLES[$("model").value] ? take(GREEDY_LOSES) : run();
}

/** Chooses the task of the pronouns, in which a head must bind. */
function chooseBinding() {
  $("task").value = "binding";
  $("task").dispatchEvent(new Event("change"));
}

function nextExample() {
  const all = EXAMPLES[$("model").value];
  return all ? take((example + 1) % all.length) : run();
}

/** Opens the model that the reader chose, with a sentence in its language. */
function turn() {
  const name = $("model").value;
  const sentence = $("sentence").value;
  const translation = view.whole?.text === sentence ? view.whole.found.text : "";
  $("sentence").value = sentenceFor(name, { sentence, before: present, translation });
  state.off.clear();
  return open();
}

/** Puts a folder among the models and opens it. */
function addFolder() {
  const files = [...$("folder").files];
  if (!files.length) return;
  opened.add(files);
  state.off.clear();
  open();
}

/** Opens the chosen model. A folder that is no model leaves the menu. */
async function open() {
  const value = $("model").value;
  if (!value) return fail(new Error("no model is open"));
  // A sentence that was typed before waits for this model, and a run of the model before it ends.
  clearTimeout(pause);
  running++;
  present = value;
  state.model = value === Object.keys(EXAMPLES)[0] || opened.has(value) ? "" : value;
  say(word("loading"));
  view.whole = null;
  view.parameters.clear();
  examples();
  try {
    const source = opened.get(value) ?? new URL(`models/${value}/`, document.baseURI);
    await view.engine.call("open", await filesOf(source, { cache: cached() }));
    isClosed = false;
    lastOpened = value;
    if ($("model").value === value) await run();
  } catch (error) {
    fail(error);
    goBack(value);
  }
}

/** Chooses the last model that could be opened instead of `value`. The next sentence opens it. A folder that is no model leaves the menu. */
function goBack(value) {
  opened.remove(value);
  if (lastOpened === value) return;
  $("model").value = lastOpened;
  if (!lastOpened) return;
  present = lastOpened;
  isClosed = true;
  examples();
}

function tellValues() {
  ["beam", "alpha", "temperature"].forEach((id) => ($(`${id}-value`).textContent = $(id).value));
}

function soon() {
  tellValues();
  say(word("computing"));
  clearTimeout(pause);
  pause = setTimeout(run, PAUSE);
}

/** Switches heads or the positions off, or on again. */
function switchOff(names, isOff) {
  names.forEach((name) => (isOff ? state.off.add(name) : state.off.delete(name)));
  return run();
}

/** Asks the model, and shows its answer; what was chosen stays chosen where it can. */
async function run() {
  if (isClosed) return open();
  const text = $("sentence").value;
  const start = performance.now();
  running++;
  const current = running;
  $("figure5-text").textContent = "";
  const temperature = Number($("temperature").value);
  const search = { beam_size: Number($("beam").value), length_penalty: { gnmt: Number($("alpha").value) } };
  const ask = (off) => view.engine.call("see", { text, question: { search, off, temperature } });
  remember();
  try {
    const question = JSON.stringify([text, search, temperature]);
    if (view.whole?.question !== question) {
      const found = await ask({});
      if (current !== running) return;
      view.whole = { question, text, found, logProb: totalOf(found) };
      view.seen = found;
      // A link may name heads of another model.
      headsOff().filter((name) => !hasHead(name)).forEach((name) => state.off.delete(name));
      networksOff().filter((name) => !hasNetwork(name)).forEach((name) => state.off.delete(name));
      clearHeads();
    }
    const { whole } = view;
    const off = [...state.off];
    const found = off.length ? await ask(offOf(off)) : whole.found;
    const kept = off.length ? await logProbOf(text, whole.found.tokens, off) : whole.logProb;
    if (current !== running) return;
    view.seen = found;
    view.tree = treeOf(found);
    $("seen").hidden = false;
    $("figure").hidden = false;
    translation(kept);
    show();
    const seconds = word("seen", { seconds: ((performance.now() - start) / 1000).toFixed(2) });
    say([seconds, isUnreadable() ? word("unreadable") : ""].join(" ").trim());
    $("drawn").textContent = "";
    const drawn = await view.engine.call("draw", { text, options: { sampling: { temperature, seed: 1 }, n_best: 3 }, off: offOf(off) });
    if (current !== running) return;
    $("drawn").textContent = word("drawn", { texts: drawn.join(" | ") });
    const other = isUnreadable() ? null : await otherLanguage(text, present, detect);
    if (other && current === running) say(`${seconds} ${saysOther(other, present)}`);
  } catch (error) {
    if (current === running) fail(error);
  }
}

/** The language of a text, by the module for documents where this folder has it. */
async function detect(text) {
  if (!PARTS.includes("documents")) return null;
  const documents = await import("./burnformer_documents.js");
  await documents.default();
  return JSON.parse(documents.detect(text, Object.keys(EXAMPLES).map((name) => languagesOf(name)[0])));
}

/** Whether most pieces of the sentence are bytes, because the model does not know its script. */
function isUnreadable() {
  const pieces = inputs(0);
  return 2 * pieces.filter((piece) => /^<0x[0-9A-F]{2}>$/.test(piece)).length > pieces.length;
}

/** The sum of the log-probabilities of a translation. */
const totalOf = ({ score, divisors, tokens }) => score * divisors[tokens.length - 1];

/** Writes the translation, which stays in view, and what it changes that parts are off: words, and the probability of the first. */
function translation(kept) {
  const { seen } = view;
  const total = totalOf(seen);
  const { found, logProb } = view.whole;
  $("translation").replaceChildren(...marked(found.text, seen.text));
  $("score").textContent = `log\u00a0P\u00a0=\u00a0${number(total, 2)}`;
  const values = { text: found.text, before: number(logProb, 2), now: number(kept, 2), change: number(kept - logProb, 2), off: whatIsOff() };
  $("before").textContent = state.off.size ? `${word("was", values)} ${otherPiece()}`.trim() : "";
}

/** Says that the chosen place of the translation has another piece than with all parts on. */
function otherPiece() {
  const [was, now] = [view.whole.found, view.seen].map(({ pieces, tokens }) => shown(pieces[tokens[state.piece - 1]] ?? ""));
  return state.side && was !== now ? word("piece-changed", { was, now }) : "";
}

/** The parts that are off, in words. */
function whatIsOff() {
  const count = headsOff().length;
  const parts = count ? [word("heads-off", { count })] : [];
  const networks = networksOff().length;
  if (networks) parts.push(word("networks-off", { count: networks }));
  if (state.off.has(POSITIONS)) parts.push(word("positions-off"));
  return parts.join(" ");
}

/** The words of a text, of which those are marked that are not in the text before. */
function marked(before, text) {
  const [old, words] = [before.split(" "), text.split(" ")];
  // lengths[i][j]: of the longest common part of the words from i and of the old ones from j.
  const lengths = Array.from({ length: words.length + 1 }, () => Array(old.length + 1).fill(0));
  for (let i = words.length - 1; i >= 0; i--) {
    for (let j = old.length - 1; j >= 0; j--) {
      lengths[i][j] = words[i] === old[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const nodes = [];
  let j = 0;
  words.forEach((text, i) => {
    while (j < old.length && words[i] !== old[j] && lengths[i][j + 1] >= lengths[i + 1][j]) j++;
    const isKept = words[i] === old[j];
    if (isKept) j++;
    nodes.push(isKept ? text : make("mark", {}, text), " ");
  });
  return nodes.slice(0, -1);
}

/** Changes the choices, and draws what depends on them. */
function choose(change) {
  Object.assign(state, change);
  show();
  remember();
}

/** Goes to a part of the page through a door of the figure. */
function visit(part, change) {
  choose(change);
  $(`part-${part}`).scrollIntoView({ block: "start" });
  $(`part-${part}`).querySelector("h3").focus({ preventScroll: true });
  stand(part);
}

function show() {
  state.piece = Math.min(state.piece, inputs(state.side).length - 1);
  figure();
  tokens((side, piece) => choose({ side, piece }));
  embedding();
  positions();
  attention(choose);
  batch();
  residual(choose);
  softmax();
  tree();
  tellTour();
}
