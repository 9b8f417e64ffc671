"use strict";
// The page's program: text to sentences, sentences to the server, translations to the page.

const $ = (id) => document.getElementById(id);
let languages = [];
let limit = 0;
let most = 200; // The most sentences of a request.
let asked = 0; // The number of the last request: answers to earlier ones are left out.
let running = new AbortController(); // Stops the last request.
const LOST = "The connection ended before the translation. Translate again";
let shown = []; // The sentences that are shown: {source, text, before, all}; all: the translations known so far.

const headers = () => {
  const all = { "Content-Type": "application/json" };
  if ($("key").value) all.Authorization = `Bearer ${$("key").value}`;
  return all;
};

async function ask(path, fields) {
  const response = await fetch(path, { method: "POST", headers: headers(), body: JSON.stringify(fields) });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(trouble(response, answer));
  return answer;
}

// Translates the sentences of `fields`. Calls `grow` with the index of a sentence and the text that its translation has more.
async function translated(fields, grow, signal) {
  const response = await fetch("v1/stream", { method: "POST", headers: headers(), body: JSON.stringify(fields), signal });
  if (!response.ok) throw new Error(trouble(response, await response.json().catch(() => ({}))));
  for await (const { name, data } of eventsOf(response.body)) {
    if (name === "done") return data.sentences;
    if (name === "error") throw new Error(trouble(response, data));
    grow(data.sentence, data.text);
  }
  throw new Error(LOST);
}

// The server-sent events of `body`, as they arrive.
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const field = (name) => event.split("\n").find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trimStart();
      // A comment, which keeps the connection open, has no data.
      if (field("data")) yield { name: field("event") ?? "", data: JSON.parse(field("data")) };
    }
  }
}

// Why there is no answer, in words for readers who never see requests.
function trouble(response, answer) {
  if (response.status === 403 && $("key").value) return "This server does not know your access key. Look for a mistake in it, or ask its operator";
  if (response.status === 403) return "This server asks for an access key. Its operator can give you one: type it into the field “Access key”";
  return [answer.error, answer.remedy].filter(Boolean).join(": ") || `error ${response.status}`;
}

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
}

// The sentences of a text, each with what is between it and the one before.
async function sentencesOf(text, source, target) {
  const { sentences } = await ask("v1/divide", { text, source, target });
  const characters = [...text];
  const between = (begin, end) => characters.slice(begin, end).join("");
  let at = 0;
  const parts = sentences.map(([begin, end]) => {
    const part = { before: between(at, begin), source: between(begin, end) };
    at = end;
    return part;
  });
  return { parts, after: between(at) };
}

async function detected(text) {
  if ($("source").value !== "auto") return $("source").value;
  const [found] = await ask("detect", { q: text.slice(0, 2000) });
  if (!languages.some((language) => language.code === found.language && language.targets.length)) {
    throw new Error(`The text seems to be in a language that is not served (${found.language})`);
  }
  return found.language;
}

async function translate(event) {
  event?.preventDefault();
  const text = $("source-text").value;
  const number = ++asked;
  running.abort();
  running = new AbortController();
  const { signal } = running;
  if (!text.trim()) {
    shown = [];
    show("");
    say("");
    return;
  }
  say("Translating …");
  $("result").setAttribute("aria-busy", "true");
  try {
    const source = await detected(text);
    const target = $("target").value;
    const { parts, after } = await sentencesOf(text, source, target);
    if (number !== asked) return;
    if (!parts.length) {
      shown = [];
      show(after);
    }
    for (let begin = 0; begin < parts.length; begin += most) {
      const some = parts.slice(begin, begin + most);
      some.forEach((part) => Object.assign(part, { text: "", doubts: [], all: [], language: source, target }));
      let drawn = false;
      const draw = () => {
        drawn = true;
        shown = parts.slice(0, begin + some.length);
        show(begin + some.length === parts.length ? after : "");
      };
      const grow = (place, more) => {
        if (number !== asked) return;
        if (!drawn) draw();
        some[place].text += more;
        sentenceAt(begin + place).textContent = some[place].text;
      };
      const sentences = await translated({ sentences: some.map((part) => part.source), source, target }, grow, signal);
      if (number !== asked) return;
      sentences.forEach((all, place) => {
        learn(some[place], all.slice(0, 1));
        take(some[place], all[0]);
      });
      draw();
    }
    const name = languages.find((language) => language.code === source)?.name ?? source;
    say($("source").value === "auto" ? `Translated from ${name}` : "");
  } catch (error) {
    if (number === asked) say(error.message, true);
  }
  if (number === asked) $("result").removeAttribute("aria-busy");
}

// The shown sentence with the index `place`.
function sentenceAt(place) {
  return document.querySelectorAll(".result .sentence")[place];
}

// What a translation does that is probably wrong.
const signs = { loop: "repeats itself", copy: "is its source", length: "is far longer or shorter than its source", parts: "changes a number, an address or a mark" };

// The confidence below which a translation is marked: such translations had less than 50 chrF on average.
const unsure = 0.5;

// Makes `one` the translation of a sentence.
function take(part, { text, doubts = [], confidence }) {
  Object.assign(part, { text, doubts, confidence });
}

// Adds translations to those known of a sentence, behind the first one, which stays the first.
function learn(part, all) {
  const known = ({ text }) => part.all.find((one) => one.text === text);
  for (const one of all.filter(known)) Object.assign(known(one), one);
  part.all.splice(1, 0, ...all.filter((one) => !known(one)));
}

function show(after) {
  const result = $("result");
  result.replaceChildren();
  $("aligned").hidden = true;
  shown.forEach((part, place) => {
    // A real button would be a block, which begins on a new line where it is long.
    const button = document.createElement("span");
    button.tabIndex = 0;
    button.setAttribute("role", "button");
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => open(place));
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      open(place);
    });
    dress(button, part);
    result.append(part.before, button);
  });
  result.append(after);
  $("hint").hidden = !shown.length;
}

// Gives the button of a sentence its translation, and marks how good that is.
function dress(button, { text, doubts, confidence }) {
  button.textContent = text;
  button.className = "sentence";
  button.title = "";
  if (doubts.length) {
    button.classList.add("doubted");
    button.title = `Probably wrong: the translation ${doubts.map((doubt) => signs[doubt]).join(" and ")}.`;
  } else if (confidence !== undefined) {
    button.classList.toggle("unsure", confidence < unsure);
    button.title = `Confidence ${Math.round(100 * confidence)} %`;
  }
}

// The words of a text with their places in characters (of Unicode, as the server counts them).
function words(text) {
  const found = [];
  let place = 0;
  for (const word of text.split(/(\s+)/)) {
    const length = [...word].length;
    if (word.trim()) found.push({ word, begin: place, end: place + length });
    place += length;
  }
  return found;
}

// The translations of a sentence that begin with `prefix`, with their links.
async function others(part, prefix, more) {
  const fields = { sentences: [{ text: part.source, prefix }], source: part.language, target: part.target, links: true };
  const { sentences: [all] } = await ask("v1/sentences", { ...fields, ...more });
  return all;
}

// Shows a sentence with its links, and other translations of it.
async function open(place) {
  const part = shown[place];
  if (!part.all.length) return; // Its translation is not complete.
  document.querySelectorAll(".result .sentence").forEach((button, other) => button.setAttribute("aria-pressed", String(other === place)));
  try {
    learn(part, await others(part, "", { alternatives: 3 }));
    if (shown[place] === part) inspect(place);
  } catch (error) {
    say(error.message, true);
  }
}

// Shows what is known of a sentence.
function inspect(place) {
  const part = shown[place];
  $("aligned").hidden = false;
  prepareAttention(part);
  link(part, place, part.all.find((one) => one.text === part.text));
  offer(place);
}

function link(part, place, best) {
  const sources = words(part.source);
  const targets = words(best.text);
  const meets = (word, [begin, end]) => word.begin < end && begin < word.end;
  const pairs = new Set();
  for (const { source, target } of best.links ?? []) {
    sources.forEach((s, i) => targets.forEach((t, j) => {
      if (meets(s, source) && meets(t, target)) pairs.add(`${i} ${j}`);
    }));
  }
  const buttons = { source: [], target: [] };
  const mark = (side, index, on) => {
    buttons[side][index].classList.toggle("linked", on);
    const other = side === "source" ? "target" : "source";
    buttons[other].forEach((button, number) => {
      const key = side === "source" ? `${index} ${number}` : `${number} ${index}`;
      if (pairs.has(key)) button.classList.toggle("linked", on);
    });
  };
  const fill = (side, list, press) => {
    const line = $(`aligned-${side}`);
    line.replaceChildren();
    list.forEach((item, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "word";
      button.textContent = item.word;
      for (const [event, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]) {
        button.addEventListener(event, () => mark(side, index, on));
      }
      if (press) button.addEventListener("click", () => press(index));
      buttons[side].push(button);
      line.append(button, " ");
    });
  };
  fill("source", sources);
  fill("target", targets, (index) => goOn(part, place, targets, index));
}

// Offers translations that begin as `list`, the words of this one, before `index`, and differ at the word there.
async function goOn(part, place, list, index) {
  const prefix = list.slice(0, index).map(({ word }) => word).join(" ");
  try {
    learn(part, await others(part, prefix, { alternatives: 8 }));
    if (shown[place] !== part) return;
    const differs = ({ text }) => text.startsWith(prefix) && words(text)[index]?.word !== list[index].word;
    const found = part.all.filter(differs);
    offer(place, found.length ? found : undefined);
    say(found.length ? "" : `Nothing else is likely in place of “${list[index].word}”`);
  } catch (error) {
    say(error.message, true);
  }
}

// What the form sends that shows the attention behind this translation.
function prepareAttention({ source, text, language, target }) {
  const fields = { sentence: source, translation: text, source: language, target, api_key: $("key").value };
  for (const [name, value] of Object.entries(fields)) $("attention").elements[name].value = value;
}

// Offers `some` of the other translations that are known, or all of them: the latest first, and the first one at the top.
function offer(place, some = shown[place].all) {
  const part = shown[place];
  const other = some.filter((one) => one.text !== part.text);
  $("alternatives").replaceChildren(...other.map((one) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = one.text;
    button.addEventListener("click", () => choose(place, one));
    item.append(button);
    if (one === part.all[0]) item.append(" (the first translation)");
    return item;
  }));
}

// Makes another translation that of a sentence.
function choose(place, one) {
  take(shown[place], one);
  dress(sentenceAt(place), shown[place]);
  inspect(place);
  say("Changed");
}

function fillTargets() {
  const source = $("source").value;
  const codes = source === "auto"
    ? [...new Set(languages.flatMap((language) => language.targets))]
    : languages.find((language) => language.code === source)?.targets ?? [];
  const before = $("target").value;
  $("target").replaceChildren(...codes.map(option));
  if (codes.includes(before)) $("target").value = before;
}

function option(code) {
  const item = document.createElement("option");
  item.value = code;
  item.textContent = code === "auto" ? "Detect the language" : languages.find((language) => language.code === code)?.name ?? code;
  return item;
}

function swap() {
  const [source, target] = [$("source").value, $("target").value];
  const back = languages.find((language) => language.code === target);
  if (source === "auto" || !back?.targets.includes(source)) {
    say("There is no model for the other direction", true);
    return;
  }
  $("source").value = target;
  fillTargets();
  $("target").value = source;
  $("source-text").value = $("result").textContent || $("source-text").value;
  count();
  translate();
}

function count() {
  const characters = [...$("source-text").value].length;
  $("counter").textContent = `${characters.toLocaleString("en")} of ${limit.toLocaleString("en")} characters`;
}

async function translateFile(event) {
  event.preventDefault();
  const status = $("file-status");
  const form = new FormData();
  form.append("source", $("source").value);
  form.append("target", $("target").value);
  if ($("key").value) form.append("api_key", $("key").value);
  form.append("file", $("file").files[0]);
  status.textContent = "Translating …";
  status.classList.remove("bad");
  const response = await fetch("translate_file", { method: "POST", body: form }).catch(() => null);
  const answer = await response?.json().catch(() => ({}));
  if (!response?.ok) {
    status.textContent = response ? trouble(response, answer) : LOST;
    status.classList.add("bad");
    return;
  }
  const anchor = document.createElement("a");
  anchor.href = `download_file/${answer.translatedFileUrl.split("/").pop()}`;
  anchor.textContent = "Fetch the translation";
  status.replaceChildren(anchor);
  if (answer.left) status.append(` Stays in the source language: ${answer.left}.`);
}

function colours() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

async function copy() {
  if (navigator.clipboard) await navigator.clipboard.writeText($("result").textContent);
  else {
    // Pages of http: that come from another machine have no clipboard, and copy what is selected.
    getSelection().selectAllChildren($("result"));
    document.execCommand("copy");
  }
  say("Copied");
}

let waiting;
function soon() {
  count();
  clearTimeout(waiting);
  waiting = setTimeout(translate, 400);
}

async function start() {
  const [served, settings] = await Promise.all(["languages", "frontend/settings"].map(async (path) => (await fetch(path)).json()));
  languages = served;
  limit = settings.charLimit;
  most = Math.min(most, settings.textLimit);
  const sources = served.filter((language) => language.targets.length).map((language) => language.code);
  $("source").replaceChildren(...["auto", ...sources].map(option));
  $("source").value = settings.language.source.code;
  for (const id of ["key", "key-label", "key-note"]) $(id).hidden = !settings.keyRequired;
  $("about").textContent = settings.about;
  $("paper").hidden = !settings.paper;
  $("file").accept = settings.supportedFilesFormat.join();
  $("file-kinds").textContent = `Office files, web pages, books, subtitles and files of localisation: ${settings.supportedFilesFormat.length} endings`;
  $("file-formats").textContent = settings.supportedFilesFormat.join(", ");
  fillTargets();
  $("target").value = settings.language.target.code;
  count();
  if ($("source-text").value) translate();
}

$("form").addEventListener("submit", translate);
$("source-text").addEventListener("input", soon);
$("source").addEventListener("change", () => { fillTargets(); translate(); });
$("target").addEventListener("change", translate);
$("swap").addEventListener("click", swap);
$("copy").addEventListener("click", copy);
$("file-form").addEventListener("submit", translateFile);
$("theme").addEventListener("click", colours);
start().catch(() => say("The server does not answer", true));
