// The pages in headless Chromium and Firefox, light and dark: what they show to a reader who types, opens models and
// documents, and goes offline. Where a browser is missing, its tests say so and pass.

import assert from "node:assert/strict";
import { test } from "node:test";

import { BROWSERS, found, inChromium, told } from "./browsers.mjs";

for (const [name, scheme] of Object.keys(BROWSERS).flatMap((name) => [[name, "light"], [name, "dark"]])) {
  const browser = found(BROWSERS[name].programs);
  const skip = browser ? false : `no ${name} in PATH`;
  const opening = (profile) => BROWSERS[name].opening(profile, scheme === "dark");

  test(`${name}: the page translates, opens models and documents, and works offline, ${scheme}`, { skip }, async () => {
    const lines = await told(browser, opening, "steps.js");
    assert.deepEqual(lines, [
      "typed: Good morning! The house is small.",
      "",
      "I'm hungry.",
      "page.en.html: <p>The <b>house</b> is small.</p>",
      "film.en.srt: 1",
      "00:00:01,000 --> 00:00:02,000",
      "I'm hungry.",
      "",
      "broken.docx: The file is damaged, or not what its extension says. Save it again with its program.",
      "song.mp3: This page does not read files of the kind “mp3”. It reads text, web pages, Markdown, subtitles, office files and books.",
      "english.en.txt: All the time you go to Sea.",
      "noticed: The text seems to be English; this model reads German. Take English → German",
      "empty.txt has no sentence to translate.",
      "noticed: ",
      "noticed: The text seems to be English; this model reads German. Take English → German",
      "other way: Das Haus ist klein.",
      "turned: Das Haus ist klein. The house is small. de-en",
      "confidence: true",
      "broken: model/model.safetensors is missing or was changed. Open the whole folder of a model as the program wrote it. 2 models, no old translation",
      "opened: I'm hungry.",
      "390: fits",
      "768: fits",
      "1440: fits",
      "1920: fits",
      "without a label: ",
      "too faint: ",
      "in place, the same element: Das Haus ist klein. Der Hund schläft im Garten.",
      "undone: true, the reader's texts stay",
      'element: <p title="Das Haus ist klein.">Das <b>Haus</b> ist klein.<br>Ich <a href="#x">habe Hunger</a>.</p><pre translate="no">The house</pre>',
      "kept: true",
      "shadow roots: Das Haus ist klein. | Das Haus ist klein. | The house is small. | The house is small. | true | 2/2",
      "offline: I'm hungry.",
      "the paper offline: true",
    ]);
  });

  test(`${name}: the paper is seen and trained, ${scheme}`, { skip }, async () => {
    const lines = await told(browser, opening, "paper-steps.js");
    assert.deepEqual(lines, [
      "translation: The small house is on the lake.",
      "the best path is the translation",
      "heads off: another translation with its words marked, the one before, and what it lost",
      "kept: layer 2, head 4, 8 off",
      "heads on: the translation",
      "only this head, and this layer",
      "network off: log P falls by more than 0.05",
      "greedy: 1 in each step",
      "grown: 2",
      "last step: </s>",
      "step: the second, with both temperatures",
      "the tree grows",
      "a piece: chosen",
      "a head looks most: where its weights are largest",
      "neurons: 3 maps, whose sums are the weights",
      "without √d_k: the softmax of q·k",
      "positions: 4 waves, 1 map",
      "maps: a name for each row",
      "values: 4 heads, the model's output",
      "norm: γ times the normalised, plus β",
      "hidden units: some of 1024",
      "heads: the worst to lose first",
      "padding: 3 positions of the shorter sentence, 3 weights of 0, the others as alone",
      "greedy search: Tom hasn't opened yet.",
      "a beam: Tom isn't up yet. The heads are not measured.",
      "a door: decoder, You are here: Masked self-attention",
      "a pronoun: its noun has most of the weight",
      "the task: binding",
      "heads: 2, d_k = 32 / 2 = 16",
      "losses fall",
      "the rate is the formula's",
      "Without √d_k",
      "Without positions",
      "without the mask: the loss is nothing, and nothing is right",
      "sentences: Tom hat mir nichts gesagt . → … (written: Tom didn't tell me anything .)",
      "binding: 1 layer",
      "pressed three times: no training goes on",
      "maps of training: with their words",
      "why: n = 8192 is not below d = 512",
      "390: fits",
      "768: fits",
      "1440: fits",
      "1920: fits",
      "without a label: ",
      "too faint: ",
      "the other model: The small house is by the lake. 4 examples",
      "empty: The field is empty. Type a sentence. Nothing stands.",
      "long: The sentence has … pieces; give 1 to 59.",
      "another script: seen",
      "broken: is missing or was changed. Open the whole folder of a model as the program wrote it. 2 models",
      "the next try works",
    ]);
  });
}

const chromium = found(BROWSERS.Chromium.programs);
const skip = chromium ? false : "no Chromium in PATH";

test("Chromium: the pages can be installed", { skip }, async () => {
  for (const page of ["index.html", "paper.html"]) {
    const errors = await inChromium(chromium, page, ({ call }) => call("Page.getInstallabilityErrors"));
    assert.deepEqual(errors, { installabilityErrors: [] });
  }
});

test("Chromium: a graphics card computes as the processor does", { skip }, async (t) => {
  // A card made of software, where there is no other.
  const opening = (profile) => [...BROWSERS.Chromium.opening(profile, false), "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
  const [status, ...lines] = await told(chromium, opening, "gpu-steps.js");
  if (status.startsWith("This browser gives no graphics card")) return t.skip(status);
  lines.forEach((line) => t.diagnostic(line));
  assert.match(status, /^The card computes as the processor does/, lines.join("\n"));
  assert.deepEqual(lines.slice(-6), ["390: fits", "768: fits", "1440: fits", "1920: fits", "without a label: ", "too faint: "]);
});
