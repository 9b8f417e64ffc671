// The tour of the paper's page, walked by keyboard and read as a screen reader reads it, in Chromium.

import assert from "node:assert/strict";
import { test } from "node:test";

import { BROWSERS, found, inChromium, until } from "./browsers.mjs";

const chromium = found(BROWSERS.Chromium.programs);
const skip = chromium ? false : "no Chromium in PATH";

/** Presses a key as a hand does. */
async function press(call, key, modifiers = 0) {
  const codes = { Tab: 9, Enter: 13, Escape: 27 };
  const event = { key, code: key, windowsVirtualKeyCode: codes[key], modifiers, ...(key === "Enter" ? { text: "\r" } : {}) };
  await call("Input.dispatchKeyEvent", { type: "keyDown", ...event });
  await call("Input.dispatchKeyEvent", { type: "keyUp", ...event });
}

/** Moves with the Tab key to the element with this id. */
async function tabTo({ call, evaluate }, id) {
  for (let i = 0; i < 80; i++) {
    if (await evaluate("document.activeElement.id") === id) return;
    await press(call, "Tab");
  }
  throw new Error(`no way to ${id} by the Tab key`);
}

/** The names of the nodes of a role in the tree of a screen reader. */
async function namesOf(call, role) {
  const { nodes } = await call("Accessibility.getFullAXTree");
  return nodes.filter((node) => !node.ignored && node.role?.value === role).map((node) => node.name?.value);
}

test("the tour is walked by keyboard, and a screen reader hears each step", { skip }, async () => {
  await inChromium(chromium, "paper.html?lang=en", async (page) => {
    const { call, evaluate } = page;
    await until(evaluate, `/^Seconds/.test(document.getElementById("status").textContent)`);
    await tabTo(page, "tour-start");
    await press(call, "Enter");
    const titles = [];
    for (let step = 1; step <= 10; step++) {
      await until(evaluate, `document.getElementById("tour-title").textContent.startsWith("${step} /") && document.getElementById("tour-number").textContent`);
      assert.equal(await evaluate("document.activeElement.id"), "tour-title", `step ${step} has the focus`);
      const [title, text, number] = await evaluate(`["tour-title", "tour-text", "tour-number"].map((id) => document.getElementById(id).textContent)`);
      assert.ok((await namesOf(call, "region")).includes(title), `${title} is a region`);
      assert.ok((await namesOf(call, "heading")).includes(title), `${title} is a heading`);
      assert.match(text, /\.$/, title);
      assert.match(number, /\d/, title);
      assert.ok(!number.includes("undefined") && !number.includes("NaN"), number);
      // A tree, whose nodes are drawn here, says where the reader is.
      assert.ok(await evaluate(`document.querySelectorAll("#figure-picture [aria-current]").length`) > 0, title);
      titles.push(title);
      await tabTo(page, "tour-next");
      await press(call, "Enter");
    }
    assert.equal(new Set(titles).size, 10);
    assert.equal(await evaluate(`document.getElementById("tour").hidden`), true);
    assert.equal(await evaluate("document.activeElement.id"), "tour-start");
  });
});

test("each step of the tour changes something that is seen, and Escape ends it", { skip }, async () => {
  const number = `document.getElementById("tour-number").textContent`;
  const all = `["sentence", "temperature", "beam"].map((id) => document.getElementById(id).value).join() + location.search + ${number}`;
  for (const step of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
    await inChromium(chromium, `paper.html?lang=en&tour=${step}`, async (page) => {
      const { call, evaluate } = page;
      await until(evaluate, `/^Seconds/.test(document.getElementById("status").textContent) && document.getElementById("tour-number").textContent`);
      // A slider alone would be no answer.
      const shown = step < 9 ? all : number;
      const before = await evaluate(shown);
      await evaluate(`document.getElementById("tour-change").focus()`);
      await press(call, "Enter");
      await until(evaluate, `${shown} !== ${JSON.stringify(before)}`);
      await press(call, "Escape");
      assert.equal(await evaluate(`document.getElementById("tour").hidden`), true);
    });
  }
});

test("a link opens the sentence, the model, the piece, the head and what is off", { skip }, async () => {
  const query = "lang=en&model=en-de&sentence=The+dog+is+sleeping.&beam=2&kind=encoder&piece=2&layer=1&head=3&step=1&off=encoder.1.3,cross.0.1,positions";
  await inChromium(chromium, `paper.html?${query}`, async ({ evaluate }) => {
    await until(evaluate, `/^Seconds/.test(document.getElementById("status").textContent)`);
    const found = await evaluate(`({
      model: document.getElementById("model").value,
      sentence: document.getElementById("sentence").value,
      title: document.getElementById("map-title").textContent,
      piece: [...document.querySelectorAll("#source-chips button")].findIndex((it) => it.getAttribute("aria-pressed") === "true"),
      step: document.getElementById("step-value").textContent.split(" ")[0],
      off: [document.getElementById("off").checked, document.querySelectorAll("#head-grid .off").length, document.getElementById("before").textContent.includes("Heads off: 2. Positions off.")],
      search: [...new URLSearchParams(location.search)].map((pair) => pair.join("=")).sort(),
    })`);
    assert.deepEqual(found, {
      model: "en-de", sentence: "The dog is sleeping.", title: "layer 2, head 4", piece: 2, step: "2", off: [true, 1, true],
      search: [...new URLSearchParams(query)].map((pair) => pair.join("=")).sort(),
    });
  });
});
