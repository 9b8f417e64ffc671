// Train: a small Transformer learns to write digits backwards, to name what a pronoun stands for, or to translate 2,000 pairs
// (paper §5), and parts of the paper can be left out.

import { binder, bindings } from "./binding.js";
import { bars, curves, make, named, number } from "./draw.js";
import { Engine } from "./engine.js";
import { explained, isFatal } from "./errors.js";
import { remember } from "./state.js";
import { readAndWritten } from "./view.js";
import { word } from "./words.js";

/** The words, after `<pad>`, `<s>`, `</s>` and `<unk>`. */
const FIRST = 4;
const DIGITS = { words: [..."0123456789"], text: [], longest: 8 };
/** The names of the first numbers. */
const SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"];
/** A word with its apostrophes, or a mark. */
const WORD = /[\p{L}]+(?:['’]\p{L}+)*|\S/gu;
/** The factor of the learning rate. */
const FACTOR = 0.5;
/** How many times the weight of the other noun and its article the right ones have where a head binds. */
const BOUND = 3;
/** Milliseconds after a training was stopped in which none begins. */
const PAUSE = 700;
/** Updates in a call. */
const TOGETHER = 10;
/** Updates between two looks at the model. */
const LOOK = 50;
/** Updates in a run. */
const MOST = 2000;
/** The updates after which a task is learnt, about. */
const GOALS = { digits: 500, binding: 200, pairs: 400 };
const $ = (id) => document.getElementById(id);

let engine, now, last, pairs, bound;
let task = DIGITS;
/** The training that goes on, as a promise of its end; null if there is none. */
let running = null;
let isStopped = false;

/** Starts the part; its worker is made by the first training, so that the sentence is translated sooner. */
export function train() {
  $("start").addEventListener("click", press);
  document.querySelectorAll("#train input[type=range]").forEach((input) => {
    input.addEventListener("input", tell);
  });
  tell();
  document.querySelectorAll("#train input[type=checkbox], #task, #norm").forEach((input) => input.addEventListener("change", expect));
  $("task").addEventListener("change", suit);
  controls().forEach((input) => input.addEventListener("change", remember));
  expect();
}

/** What the reader chooses for a training. */
const controls = () => document.querySelectorAll("#train input, #train select");

/** Starts a training, or stops the one that goes on; it ends after its present updates, and until then nothing begins. */
async function press() {
  if (running) {
    isStopped = true;
    $("start").disabled = true;
    $("start").textContent = word("stopping");
    return;
  }
  isStopped = false;
  // The page describes the run that goes on.
  controls().forEach((input) => (input.disabled = true));
  $("to-binding").hidden = true;
  running = run();
  await running;
  // A second press to stop starts no new training.
  if (isStopped) await new Promise((resolve) => setTimeout(resolve, PAUSE));
  running = null;
  controls().forEach((input) => (input.disabled = false));
  $("to-binding").hidden = false;
  $("start").disabled = false;
  $("start").textContent = word("start");
}

/** The values of the sliders whose steps are doublings. */
const DOUBLED = new Set(["heads", "d_model"]);
function valueOf(id) {
  const value = Number($(id).value);
  if (DOUBLED.has(id)) return 2 ** value;
  // Without a warm-up, the first update is the largest.
  return id === "warmup" ? Math.max(value, 1) : value;
}

function tell() {
  document.querySelectorAll("#train input[type=range]").forEach((input) => {
    const text = String(valueOf(input.id));
    $(`${input.id}-value`).textContent = text;
    input.setAttribute("aria-valuetext", text);
  });
  generalFormulas();
  expect();
  const [d, heads] = [valueOf("d_model"), valueOf("heads")];
  $("heads-value").textContent = `${heads}, d_k = ${d} / ${heads} = ${d / heads}`;
  schedule();
}

/** The learning rate of the paper at an update (§5.3), times the factor of this page. */
const rateAt = (step, d, warmup) => FACTOR * d ** -0.5 * Math.min(step ** -0.5, step * warmup ** -1.5);

/** Draws the learning rate that the sliders make. */
function schedule() {
  const [d, warmup] = ["d_model", "warmup"].map(valueOf);
  const steps = Array.from({ length: MOST / TOGETHER + 1 }, (_, i) => Math.max(1, i * TOGETHER));
  const line = steps.map((step) => [step, rateAt(step, d, warmup)]);
  const title = word(warmup === 1 ? "schedule-at-once" : "schedule", { warmup, most: rateAt(warmup, d, warmup).toExponential(2) });
  $("schedule").replaceChildren(make("figure", {}, make("figcaption", {}, title), curves([line], title)));
}

/** The loss of a model without a fault: what label smoothing asks for is not certain. */
function leastLoss(smoothing, vocab) {
  const share = smoothing / vocab;
  const part = (p) => (p > 0 ? -p * Math.log(p) : 0);
  return part(1 - smoothing + share) + (vocab - 1) * part(share);
}

/** Whether all sliders are where the page begins with a task. */
function isUsual() {
  const layers = layersFor($("task").value);
  const ranges = [...document.querySelectorAll("#train input[type=range]")];
  return $("norm").value === "post" && ranges.every(({ id, value, defaultValue }) => value === (id === "layers" ? layers : defaultValue));
}

/** Says what to expect of the parts that are left out, or of a training with all of them. */
function expect() {
  const parts = ["mask", "scale", "positions"].filter((id) => !$(id).checked);
  const left = [...parts, ...(valueOf("warmup") === 1 ? ["warmup"] : [])];
  const without = left.map((id) => word(`expected-${id}`));
  const task = $("task").value;
  const whole = isUsual() ? { digits: [word("expected")], binding: [word("expected-binding")], pairs: [] }[task] : [];
  const texts = without.length ? without : whole;
  $("expected").hidden = !texts.length || (without.length > 0 && task !== "digits");
  $("expected").textContent = texts.join(" ");
}

/** The layers that a task begins with: one layer cannot find the noun without binding in the encoder. */
const layersFor = (task) => (task === "binding" ? "1" : $("layers").defaultValue);

/** A task begins with the size that shows it best. */
function suit() {
  $("layers").value = layersFor($("task").value);
  // The losses of two tasks do not compare.
  now = undefined;
  last = undefined;
  clear();
  $("runs").hidden = true;
  say("");
  tell();
}

/** Numbers for words, in the order in which they come. */
function numbering() {
  const numbers = new Map();
  return { numbers, number: (word) => numbers.set(word, numbers.get(word) ?? FIRST + numbers.size).get(word) };
}

/** The pairs of the page with numbers for words, of which the first hundred are held out. */
async function pairsOf() {
  const { numbers, number } = numbering();
  const lines = (await (await fetch(new URL("pairs.tsv", import.meta.url))).text()).trim().split("\n");
  const text = lines.map((line) => line.split("\t").map((side) => side.match(WORD).map(number)));
  return { words: [...numbers.keys()], text, longest: Math.max(...text.flat().map((side) => side.length)) };
}

/** The sentences in which a pronoun is bound, with numbers for words. */
export function bindingOf() {
  const { numbers, number } = numbering();
  const places = bindings();
  const text = places.map(({ source, target }) => [source.map(number), target.map(number)]);
  return { words: [...numbers.keys()], text, places, longest: Math.max(...text.flat().map((side) => side.length)) };
}

/** The task that the reader chose. */
export async function chosen() {
  if ($("task").value === "pairs") return (pairs ??= await pairsOf());
  return $("task").value === "binding" ? (bound ??= bindingOf()) : DIGITS;
}

/** The choices of the reader for a task, as the module takes them. */
export function choices(task) {
  const vocab = FIRST + task.words.length;
  const [d, heads, layers] = ["d_model", "heads", "layers"].map(valueOf);
  const isOn = (id) => $(id).checked;
  return {
    model: {
      source_vocab: vocab, target_vocab: vocab, d_model: d, heads, d_k: d / heads, d_v: d / heads, d_ff: 4 * d,
      encoder_layers: layers, decoder_layers: layers, dropout: 0, attention_dropout: 0, activation_dropout: 0,
      norm: $("norm").value, layer_norm_eps: 1e-5, activation: "relu", positions: "sinusoidal", max_positions: 64,
      attention_window: null, sharing: "all", pad: 0, bos: 1, eos: 2,
    },
    schedule: { warmup: valueOf("warmup"), factor: FACTOR }, label_smoothing: valueOf("smoothing"), seed: 1, batch: 64, longest: task.longest, text: task.text,
    mask: isOn("mask"), scale: isOn("scale"), positions: isOn("positions"),
  };
}

function say(text, isError = false) {
  $("progress").textContent = text;
  $("progress").classList.toggle("error", isError);
}

/** Takes away what a training showed. */
function clear() {
  ["right", "example", "charts", "lesson-maps", "bound"].forEach((id) => $(id).replaceChildren());
}

async function run() {
  $("start").textContent = word("stop");
  if (now?.loss.length) last = now;
  now = { loss: [], rate: [], share: [] };
  // What an earlier training showed would stand beside this one's numbers.
  clear();
  say(word("training-starts"));
  let report = "";
  try {
    task = await chosen();
    const made = choices(task);
    engine ??= new Engine();
    await engine.call("begin", made);
    const start = performance.now();
    for (let step = 0; !isStopped && step < MOST; step += TOGETHER) {
      for (const { step, loss, rate } of await engine.call("update", TOGETHER)) {
        now.loss.push([step, loss]);
        now.rate.push([step, rate]);
      }
      const [[count, loss], [, rate]] = [now.loss.at(-1), now.rate.at(-1)];
      const speed = count / (performance.now() - start) * 1000;
      report = word("updates", { step: count, loss: loss.toFixed(3), rate: rate.toExponential(2), speed: speed.toFixed(1) });
      say(`${report} ${ahead(count, speed)}`.trim());
      formulas(made, count, rate, loss);
      if (count % LOOK === 0) look(await engine.call("judge"));
      draw();
    }
    say(report);
  } catch (error) {
    say(explained(error), true);
    if (isFatal(error)) engine.end();
  }
}

/** The time until the update after which the task is learnt with the parts of the paper; nothing after it. */
function ahead(count, speed) {
  const goal = GOALS[$("task").value];
  return count < goal ? word("ahead", { goal, seconds: Math.ceil((goal - count) / speed) }) : "";
}

/** The formulas of the paper without numbers. */
function generalFormulas() {
  $("rate-formula").textContent = "lr = ½ · d_model^−½ · min(t^−½, t · warmup^−3/2)";
  $("loss-formula").textContent = "−(1 − ε) · log p − ε · mean(log p)";
}

/** The formulas of the paper with the numbers of the last update. */
function formulas({ model, schedule: { warmup }, label_smoothing: smoothing }, step, rate, loss) {
  $("rate-formula").textContent = `lr = ½ · ${model.d_model}^−½ · min(${step}^−½, ${step} · ${warmup}^−3/2) = ${rate.toExponential(2)}`;
  $("loss-formula").textContent = `−(1 − ${smoothing}) · log p − ${smoothing} · mean(log p) = ${loss.toFixed(3)};  ${word("least", { least: leastLoss(smoothing, model.target_vocab).toFixed(3) })}`;
}

function draw() {
  const charts = ["loss", "rate", "share"].filter((name) => now[name].length).map((name) => {
    const lines = [last?.[name], now[name]].filter((line) => line?.length);
    const [steps, value] = now[name].at(-1);
    const label = word("chart-label", { name: word(name), steps, value: String(+value.toPrecision(3)) });
    return make("figure", {}, make("figcaption", {}, word(name)), curves(lines, label, { top: name === "share" ? 100 : undefined }));
  });
  $("charts").replaceChildren(...charts);
  $("runs").hidden = false;
}

/** Shows how the model does, and where its heads look. */
function look({ step, right, shown, source, found, tables }) {
  now.share.push([step, 100 * right]);
  const words = (ids) => ids.filter((id) => id >= FIRST).map((id) => task.words[id - FIRST]).join(" ");
  $("right").textContent = word(task === DIGITS ? "right" : "right-pairs", { right: Math.round(100 * right) });
  $("example").replaceChildren(...shown.map((ids) => {
    const [from, to, expected] = ids.map(words);
    return make("div", {}, word(to === expected ? "example" : "example-other", { source: from, found: to, expected }));
  }));
  // The decoder reads what it wrote before.
  const read = [SPECIAL.indexOf("<s>"), ...found.slice(0, -1)];
  const names = (ids) => ids.map((id) => SPECIAL[id] ?? task.words[id - FIRST]);
  const [sources, inputs] = [names(source), names(read)];
  const kinds = { encoder: [sources, sources], decoder: [inputs, inputs], cross: [readAndWritten(inputs, names(found)), sources] };
  $("lesson-maps").replaceChildren(...Object.entries(kinds).flatMap(([kind, [queries, keys]]) => [
    make("h3", {}, word(kind)),
    make("div", { className: "small-maps" }, ...tables[kind].flatMap((heads, layer) => heads.map((values, head) => {
      const rows = queries.map((_, q) => values.slice(q * keys.length, (q + 1) * keys.length).map((value) => value / 1000));
      return named(word("head", { layer: layer + 1, head: head + 1 }), rows, queries, { columns: keys, most: 1 });
    }))),
  ]));
  if (task.places) binds(tables.encoder, sources);
}

/** Shows the head that binds the pronoun of the first sentence to its noun, if one does. */
function binds(layers, names) {
  const { layer, head, query, keys, weight, rest } = binder(layers, names.length, task.places[0]);
  const values = { head: word("head", { layer: layer + 1, head: head + 1 }), query: names[query], key: keys.map((key) => names[key]).join(" "), weight: number(weight, 2), rest: number(rest, 2) };
  const row = layers[layer][head].slice(query * names.length, (query + 1) * names.length).map((it) => it / 1000);
  const isBound = weight >= BOUND * rest && keys.includes(row.indexOf(Math.max(...row)));
  $("bound").replaceChildren(
    make("p", {}, word(isBound ? "bound" : "unbound", values)),
    make("table", { className: "bars", "aria-label": word("bound-label", values) }, bars(names.map((name, i) => [name, row[i]]), 1, 2)));
}
