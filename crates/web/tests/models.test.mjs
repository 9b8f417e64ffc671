// The paper's page shows a model as it is: its norms before or after the sub-layers, its positions learned or computed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { BROWSERS, found, give, inChromium, until } from "./browsers.mjs";
import { configured, files, remade, tensors, written } from "./common.mjs";

const chromium = found(BROWSERS.Chromium.programs);
const skip = chromium ? false : "no Chromium in PATH";

/** The model in the box with its norms after the sub-layers, where stacks have no closing norm. */
function postNorm() {
  const all = files();
  const parts = tensors(all);
  for (const name of parts.all.keys()) if (/^(en|de)coder\.norm\./.test(name)) parts.all.delete(name);
  return remade(all, parts, { norm: "post" });
}

/** The model in the box with learned positions: the number at a row and a column is a function of both. */
function learned(positions, width) {
  const all = files();
  const parts = tensors(all);
  const values = Float32Array.from({ length: positions * width }, (_, i) => learnedAt(Math.floor(i / width), i % width));
  for (const side of ["source", "target"]) {
    parts.all.set(`${side}_position.weight`, { dtype: "F32", shape: [positions, width], data: new Uint8Array(values.buffer) });
  }
  return remade(all, parts, { positions: "learned", max_positions: positions });
}

const learnedAt = (row, column) => ((row * 7 + column * 3) % 11) / 10 - 0.5;

/** What the page shows of a model that its reader opens. */
function opened(model, use, query = "") {
  return inChromium(chromium, `paper.html?lang=en${query}`, async (page) => {
    await until(page.evaluate, `/^Seconds/.test(document.getElementById("status").textContent)`);
    await give(page, "folder", written(model));
    await until(page.evaluate, `document.getElementById("model").value.startsWith("model 1") && /^Seconds/.test(document.getElementById("status").textContent)`);
    return use(page);
  });
}

/** The titles of the boxes of the figure from the bottom to the top, of the encoder and of the decoder. */
const TITLES = `[8, 220].map((x) => [...document.querySelectorAll("#figure-picture a")]
  .filter((box) => Number(box.querySelector("rect").getAttribute("x")) === x)
  .map((box) => box.dataset.title))`;

test("a post-norm model is drawn as Figure 1 of the paper", { skip }, async () => {
  await opened(postNorm(), async ({ evaluate }) => {
    const sublayer = (title) => [title, "Add & norm"];
    const encoder = ["Source", "Embedding · √d", "+ positions", ...sublayer("Self-attention"), ...sublayer("Feed-forward")];
    const decoder = ["Translation, shifted right", "Embedding · √d", "+ positions", ...sublayer("Masked self-attention"),
      ...sublayer("Cross-attention"), ...sublayer("Feed-forward"), "Linear and softmax", "Beam search"];
    assert.deepEqual(await evaluate(TITLES), [encoder, decoder]);
    assert.match(await evaluate(`document.getElementById("figure-caption").textContent`), /norm after \(the paper\)/);
    assert.match(await evaluate(`document.getElementById("residual-formula").textContent`), /^LayerNorm\(x \+ f\(x\)\)/);
  });
});

test("the norm of a post-norm model, and its hidden units, are what the model computes", { skip }, async () => {
  await opened(postNorm(), async ({ evaluate }) => {
    await until(evaluate, `document.querySelectorAll("#norm-table tbody tr").length && document.querySelectorAll("#units canvas").length`);
    // The output of the first norm is the input of the next sub-layer.
    const apart = await evaluate(`import("./view.js").then(({ termsOf }) => {
      const rows = [...document.querySelectorAll("#norm-table tbody tr")].map((row) => Number(row.lastChild.textContent.replace("−", "-")));
      const [next] = termsOf(0, 1, 0);
      return Math.max(...rows.map((value, i) => Math.abs(value - next[i])));
    })`);
    assert.ok(apart < 0.005, `${apart}`);
    assert.match(await evaluate(`document.getElementById("units-text").textContent`), /^Layer 1, .*: \d+ of 1024 hidden units/);
  });
});

test("learned positions are shown as what the model has learned, and no sines", { skip }, async () => {
  await opened(learned(64, 256), async ({ evaluate }) => {
    await until(evaluate, `document.querySelectorAll("#places canvas").length === 2`);
    const shown = await evaluate(`["positions-text", "positions-formula", "tour-text", "tour-number"].map((id) => document.getElementById(id).textContent)`);
    const row = [0, 1, 2].map((column) => learnedAt(2, column).toFixed(3).replace("-", "−")).join(", ");
    assert.match(shown[0], /has learnt a vector for each of its 64 positions/);
    assert.ok(shown[1].startsWith("PE(pos) = P[pos],  P: 64 × 256;") && shown[1].includes(`PE(2) = (${row}, …)`), shown[1]);
    assert.match(shown[2], /has learnt for each position/);
    assert.ok(shown[3].includes(`The first number of its vector is ${learnedAt(2, 0).toFixed(3).replace("-", "−")}`), shown[3]);
    assert.equal(await evaluate(`document.querySelectorAll("#places polyline").length`), 0);
  }, "&piece=2&tour=2");
});

test("sines and cosines stand in the order of the model's own system", { skip }, async () => {
  await opened(configured(files(), { conventions: { sinusoids: "halves_to_end", position_offset: 2 } }), async ({ evaluate }) => {
    const formula = await evaluate(`document.getElementById("positions-formula").textContent`);
    const [sine, cosine] = [Math.sin(2), Math.cos(2)].map((value) => value.toFixed(3).replace("-", "−"));
    assert.equal(formula, `PE(pos, i) = sin(pos / 10000^(i/127));  PE(2, 0) = sin(2) = ${sine},  PE(2, 128) = cos(2) = ${cosine}`);
    // Without the positions, the vectors are the rows of the embedding matrix, which a piece has at every place.
    const bare = await evaluate(`import("./positions.js").then(({ embedded }) => embedded(0)).then(({ scaled }) => Math.max(...scaled.flat().map(Math.abs)))`);
    assert.ok(bare > 0 && bare < 20, `${bare}`);
  });
});

test("without positions, a sentence in another order is the same to the encoder", { skip }, async () => {
  const scores = [];
  for (const sentence of ["Hund Katze", "Katze Hund"]) {
    await inChromium(chromium, `paper.html?lang=en&off=positions&sentence=${encodeURIComponent(sentence)}`, async ({ evaluate }) => {
      await until(evaluate, `/^Seconds/.test(document.getElementById("status").textContent)`);
      assert.match(await evaluate(`document.getElementById("before").textContent`), /^Positions off\. Before: /);
      scores.push(await evaluate(`document.getElementById("translation").textContent + document.getElementById("score").textContent`));
    });
  }
  assert.equal(scores[0], scores[1]);
});
