// The reader's graphics card, by WebGPU: the same model and the same updates on it and on the processor.

import { make } from "./draw.js";
import { Engine } from "./engine.js";
import { explained } from "./errors.js";
import { choices, chosen } from "./train.js";
import { word } from "./words.js";

const UPDATES = 6;
/** The largest difference that the order of sums explains. */
const MOST = 1e-3;
const $ = (id) => document.getElementById(id);

function say(text, isError = false) {
  $("gpu-status").textContent = text;
  $("gpu-status").classList.toggle("error", isError);
}

/** Computes on the card when the reader asks for it. */
export function gpu() {
  $("gpu-start").addEventListener("click", async () => {
    $("gpu-start").disabled = true;
    $("gpu-table").replaceChildren();
    const start = performance.now();
    const steps = [];
    const tell = (step) => {
      steps.push(step);
      say(word("gpu-progress", { step: word(`gpu-step-${step}`), number: steps.length, seconds: Math.round((performance.now() - start) / 1000) }));
    };
    // Ending the worker gives the card's memory back.
    const engine = new Engine("gpu-worker.js");
    try {
      show(await engine.call("compare", { choices: choices(await chosen()), updates: UPDATES }, tell));
    } catch (error) {
      say(explained(error), true);
    }
    engine.end();
    $("gpu-start").disabled = false;
  });
}

function show(found) {
  if (!found) return say(word("gpu-none"), true);
  const { name, before, losses, after, speeds } = found;
  const [card, processor] = speeds.map((speed) => String(Math.round(speed)));
  const rows = { name, before: before.toExponential(1), losses: losses.toExponential(1), after: after.toExponential(1), card, processor };
  $("gpu-table").replaceChildren(make("tbody", {}, ...Object.entries(rows).map(([row, value]) =>
    make("tr", {}, make("th", { scope: "row" }, word(`gpu-${row}`, { updates: UPDATES })), make("td", {}, value)))));
  const isRight = Math.max(before, losses, after) < MOST;
  say(word(isRight ? "gpu-right" : "gpu-wrong", { most: MOST }), !isRight);
}
