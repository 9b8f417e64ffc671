// Train: a small Transformer learns to write digits backwards, or to translate 2,000 pairs (paper §5), and parts of the paper can be left out.

import { curves, heat, make } from "./draw.js";
import { word } from "./words.js";

/** The words, after `<pad>`, `<s>`, `</s>` and `<unk>`. */
const FIRST = 4;
const DIGITS = { words: [..."0123456789"], text: [], longest: 8 };
/** A word with its apostrophes, or a mark. */
const WORD = /[\p{L}]+(?:['’]\p{L}+)*|\S/gu;
/** Updates in a call, between two looks at the model, and in a run. */
const [TOGETHER, LOOK, MOST] = [10, 50, 2000];
const $ = (id) => document.getElementById(id);

let engine, now, last, pairs;
let task = DIGITS;
let isRunning = false;

/** Starts the part with a worker of its own. */
export function train(worker) {
  engine = worker;
  $("start").addEventListener("click", () => (isRunning ? (isRunning = false) : run()));
  document.querySelectorAll("#train input[type=range]").forEach((input) => {
    input.addEventListener("input", tell);
  });
  tell();
  document.querySelectorAll("#train input[type=checkbox], #task").forEach((input) => input.addEventListener("change", expect));
  expect();
}

/** The values of the sliders whose steps are doublings. */
const DOUBLED = new Set(["heads", "d_model"]);
const valueOf = (id) => (DOUBLED.has(id) ? 2 ** Number($(id).value) : Number($(id).value));

function tell() {
  document.querySelectorAll("#train input[type=range]").forEach(({ id }) => ($(`${id}-value`).textContent = String(valueOf(id))));
  const [d, heads] = [valueOf("d_model"), valueOf("heads")];
  $("heads-value").textContent = `${heads}, d_k = ${d} / ${heads} = ${d / heads}`;
}

function expect() {
  const without = ["mask", "scale", "positions"].find((id) => !$(id).checked);
  $("expected").hidden = $("task").value === "pairs";
  $("expected").textContent = word(without ? `expected-${without}` : "expected");
}

/** The pairs of the page with numbers for words, of which the first hundred are held out. */
async function pairsOf() {
  const numbers = new Map();
  const number = (word) => numbers.set(word, numbers.get(word) ?? FIRST + numbers.size).get(word);
  const lines = (await (await fetch(new URL("pairs.tsv", import.meta.url))).text()).trim().split("\n");
  const text = lines.map((line) => line.split("\t").map((side) => side.match(WORD).map(number)));
  return { words: [...numbers.keys()], text, longest: Math.max(...text.flat().map((side) => side.length)) };
}

/** The task that the reader chose. */
export async function chosen() {
  return $("task").value === "pairs" ? (pairs ??= await pairsOf()) : DIGITS;
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
    schedule: { warmup: valueOf("warmup"), factor: 0.5 }, label_smoothing: valueOf("smoothing"), seed: 1, batch: 64, longest: task.longest, text: task.text,
    mask: isOn("mask"), scale: isOn("scale"), positions: isOn("positions"),
  };
}

function say(text, isError = false) {
  $("progress").textContent = text;
  $("progress").classList.toggle("error", isError);
}

async function run() {
  isRunning = true;
  $("start").textContent = word("stop");
  if (now?.loss.length) last = now;
  now = { loss: [], rate: [], share: [] };
  try {
    task = await chosen();
    const made = choices(task);
    await engine.call("begin", made);
    const start = performance.now();
    for (let step = 0; isRunning && step < MOST; step += TOGETHER) {
      for (const { step, loss, rate } of await engine.call("update", TOGETHER)) {
        now.loss.push([step, loss]);
        now.rate.push([step, rate]);
      }
      const [[count, loss], [, rate]] = [now.loss.at(-1), now.rate.at(-1)];
      const speed = count / (performance.now() - start) * 1000;
      say(word("updates", { step: count, loss: loss.toFixed(3), rate: rate.toExponential(2), speed: speed.toFixed(1) }));
      formulas(made, count, rate, loss);
      if (count % LOOK === 0) look(await engine.call("judge"));
      draw();
    }
  } catch (error) {
    say(error.message, true);
  }
  isRunning = false;
  $("start").textContent = word("start");
}

/** The formulas of the paper with the numbers of the last update. */
function formulas({ model, schedule: { warmup }, label_smoothing: smoothing }, step, rate, loss) {
  $("rate-formula").textContent = `lr = ½ · ${model.d_model}^−½ · min(${step}^−½, ${step} · ${warmup}^−3/2) = ${rate.toExponential(2)}`;
  $("loss-formula").textContent = `−(1 − ${smoothing}) · log p − ${smoothing} · mean(log p) = ${loss.toFixed(3)}`;
}

function draw() {
  const charts = ["loss", "rate", "share"].filter((name) => now[name].length).map((name) => {
    const lines = [last?.[name], now[name]].filter((line) => line?.length);
    const [steps, value] = now[name].at(-1);
    const label = word("chart-label", { name: word(name), steps, value: String(+value.toPrecision(3)) });
    return make("figure", {}, make("figcaption", {}, word(name)), curves(lines, label, name === "share" ? 100 : undefined));
  });
  $("charts").replaceChildren(...charts);
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
  const kinds = { encoder: [source, source], decoder: [found, found], cross: [found, source] };
  $("lesson-maps").replaceChildren(...Object.entries(kinds).flatMap(([kind, [queries, keys]]) => [
    make("h4", {}, word(kind)),
    make("div", { className: "small-maps" }, ...tables[kind].flatMap((heads, layer) => heads.map((values, head) => {
      const rows = queries.map((_, q) => values.slice(q * keys.length, (q + 1) * keys.length).map((value) => value / 1000));
      return make("figure", {}, heat(rows, `${word(kind)}, ${word("head", { layer: layer + 1, head: head + 1 })}`), make("figcaption", {}, `${layer + 1}.${head + 1}`));
    }))),
  ]));
}
