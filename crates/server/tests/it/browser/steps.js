"use strict";
// Clicks through the page, which is in a frame as wide as a phone, a tablet or a screen, and tells what it found.

const lines = [];
const base = location.search.slice(1); // The path of a proxy.
const log = (...values) => lines.push(values.join(" "));
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function until(condition, what) {
  for (let tries = 0; tries < 400; tries++) {
    if (condition()) return;
    await pause(50);
  }
  throw new Error(`never: ${what}`);
}

// A frame of this width with the page at `path`: what finds elements in it.
async function open(width, path) {
  const frame = document.createElement("iframe");
  Object.assign(frame, { width, height: 900, name: `frame${document.querySelectorAll("iframe").length}` });
  document.body.append(frame);
  if (path) frame.src = path;
  const find = (selector) => frame.contentDocument.querySelector(selector);
  const all = (selector) => [...frame.contentDocument.querySelectorAll(selector)];
  return { frame, find, all };
}

function type(page, text) {
  page.find("#source-text").value = text;
  page.find("#source-text").dispatchEvent(new Event("input"));
}

function fits({ frame }) {
  const root = frame.contentDocument.documentElement;
  return root.scrollWidth <= root.clientWidth ? "fits" : `${root.scrollWidth} of ${root.clientWidth}`;
}

const texts = (elements) => elements.map((element) => element.textContent).join(" | ");

async function translate(width) {
  const page = await open(width, `${base}/`);
  await until(() => page.find("#source")?.options.length === 3, "languages");
  page.find("#source").value = "de";
  page.find("#target").value = "en";
  type(page, "Guten Tag. Wie geht es?\n\nIch wohne hier.");
  await until(() => page.all("#result .sentence").length === 3, "three sentences");
  log("translated:", page.find("#result").textContent.replaceAll("\n", "/"));
  return page;
}

async function choose(page) {
  const third = () => page.all("#result .sentence")[2];
  const panel = () => page.find("#aligned-target").textContent.trim();
  third().dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  await until(() => page.all("#alternatives button").length === 3, "alternatives");
  log("panel:", panel(), "/", texts(page.all("#alternatives li")));
  page.all("#alternatives button")[0].click();
  const sent = page.find("#attention").elements.translation;
  log("chosen:", third().textContent, "/", panel(), "/", sent.value);
  log("offered:", texts(page.all("#alternatives li")));
  page.all("#alternatives button")[0].click();
  log("back:", third().textContent, "/", panel(), "/", sent.value);
  page.all("#aligned-target .word")[1].click();
  await until(() => page.all("#alternatives button").length > 3, "others that begin alike");
  page.all("#alternatives button")[1].click();
  log("from a word on:", third().textContent, third().textContent === panel() ? "as in the panel" : panel());
}

// Where the second sentence, which is long, begins, as a line from the end of the first.
async function long(page) {
  type(page, `Ja. ${"Der Hund und die Katze ".repeat(12)} schlafen.`);
  await until(() => page.all("#result .sentence").length === 2, "two sentences");
  const [first, second] = page.all("#result .sentence").map((sentence) => [...sentence.getClientRects()]);
  log("a long sentence begins", first.at(-1).top === second[0].top ? "behind the one before it" : "on a new line");
}

async function attention(page, width) {
  type(page, "Der Hund und die Katze schlafen in dem alten Haus am Meer, in dem mein Vater und seine Brüder wohnen.");
  await until(() => page.all("#result .sentence").length === 1, "one sentence");
  page.find("#result .sentence").click();
  await until(() => !page.find("#aligned").hidden, "the panel");
  const shown = await open(width, "");
  page.find("#attention").removeAttribute("rel"); // It asks for a window of its own.
  page.find("#attention").target = shown.frame.name;
  page.find("#attention button").click();
  await until(() => shown.find("#map-title")?.textContent, "the attention");
  log("attention:", shown.find("#map-title").textContent, fits(shown));
  for (const id of ["map", "lines"]) {
    const { right } = shown.find(`#${id}`).getBoundingClientRect();
    log(`${id}:`, right <= width ? "fits" : `${right} of ${width}`);
  }
}

async function file(page) {
  const files = new DataTransfer();
  files.items.add(new File(["<p>Der <b>alte</b> Mann.</p>"], "a.html"));
  page.find("#file").files = files.files;
  page.find("#file-form button").click();
  await until(() => page.find("#file-status a"), "the translated file");
  log("file:", await (await fetch(page.find("#file-status a").href)).text());
}

// The contrast of an element's text with what is behind it (WCAG 2).
function contrast(page, id) {
  const parse = (color) => color.match(/[\d.]+/g).map(Number);
  const style = (element) => page.frame.contentWindow.getComputedStyle(element);
  let [element, back] = [page.find(id), [0, 0, 0, 0]];
  const text = parse(style(element).color);
  for (; element && (back[3] ?? 1) === 0; element = element.parentElement) back = parse(style(element).backgroundColor);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const [low, high] = [light(text), light(back)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

async function access(page) {
  const hasLabel = (e) => e.hidden || e.textContent.trim() || e.ariaLabel || page.find(`label[for="${e.id}"]`) || e.closest("section")?.getAttribute("aria-labelledby");
  log("without a label:", page.all("input:not([type=hidden]), select, textarea, button, [role=button]").filter((e) => !hasLabel(e)).map((e) => e.outerHTML));
  for (const theme of ["light", "dark"]) {
    page.frame.contentDocument.documentElement.dataset.theme = theme;
    await pause(300); // Colours change slowly.
    const ids = ["#counter", "#about", "#source-text", "#translate", "#result .sentence", "#source-title", "#theme"];
    log(theme, "too faint:", ids.filter((id) => contrast(page, id) < 4.5));
  }
}

async function docs(width) {
  const page = await open(width, `${base}/docs`);
  await until(() => page.all("main section").length >= 10, "the interface");
  log("docs:", fits(page));
}

async function keys() {
  const page = await open(800, "/");
  await until(() => page.find("#source")?.options.length === 3, "languages");
  log("note:", page.find("#key-note").hidden ? "none" : page.find("#key-note").textContent);
  for (const key of ["", "wrong", "secret"]) {
    page.find("#key").value = key;
    page.find("#status").textContent = "";
    type(page, "Hallo.");
    await until(() => page.all("#result .sentence").length === 1 || page.find("#status.bad")?.textContent, "an answer");
    log(`${key}:`, page.find("#status").textContent);
  }
}

async function all() {
  for (const width of base ? [800] : [390, 768, 1440]) {
    log("width", width);
    const page = await translate(width);
    await choose(page);
    await long(page);
    await attention(page, width);
    await file(page);
    await access(page);
    log("about:", page.find("#about").textContent);
    log("page:", fits(page));
    await docs(width);
  }
}

(location.hash === "#keys" ? keys : all)()
  .catch((error) => log("FAILED", error.stack))
  .then(() => fetch("/log", { method: "POST", body: lines.join("\n") }));
