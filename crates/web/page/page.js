// The page: loads a model, and translates while its reader types.

import { copyText } from "./clipboard.js";
import { explained, isFatal } from "./errors.js";
import { Folders } from "./folders.js";
import { Translator } from "./index.js";
import { languagesOf, otherLanguage, saysOther } from "./language.js";
import { language, offerLanguages, word, write } from "./words.js";

/** The models beside the page. */
const MODELS = ["de-en", "en-de"];
/** The pause in typing after which the text is translated, in milliseconds. */
const PAUSE = 250;
const WORKERS = Math.max(1, Math.min(4, (navigator.hardwareConcurrency ?? 2) - 1));

/** The confidence below which a translation is marked: such translations had less than 50 chrF on average. */
const UNSURE = 0.5;

const $ = (id) => document.getElementById(id);
const model = $("model");
const folder = $("folder");
const file = $("file");
const progress = $("progress");
const source = $("source");
const target = $("target");
const copy = $("copy");
const status = $("status");
const save = $("save");
const inPlace = $("in-place");
const undo = $("undo");
const swap = $("swap");
const notice = $("notice");
const knows = $("knows");
const sample = $("sample-text");

/** The models that the reader opened. */
const opened = new Folders(model);
/** The name of the present model, and the promise of its translator; null if it must be loaded, for the first time or again. */
let present = { name: MODELS[0], translator: null };
/** The name of the last model that could be loaded. */
let lastLoaded = "";
/** What ends the present translation. */
let running = new AbortController();
/** The text whose translation is shown whole. */
let translated = "";
let pause;

function say(text, isError = false) {
  status.textContent = text;
  status.classList.toggle("error", isError);
}

/** Loads the model that is chosen, and ends the one before it. */
async function choose() {
  // The text is translated once the model is there.
  clearTimeout(pause);
  running.abort();
  const before = present.translator;
  const name = model.value;
  if (!name) return say(word("error-none"), true);
  const [from, to] = languagesOf(name);
  source.lang = from;
  target.lang = to;
  notice.replaceChildren();
  knows.textContent = word(opened.has(name) ? "knows-own" : "knows");
  progress.hidden = false;
  progress.value = 0;
  say(word("loading"));
  const files = opened.get(name);
  const options = { workers: WORKERS, progress: (loaded, total) => (progress.value = loaded / total) };
  const loading = Translator.load(files ?? new URL(`models/${name}/`, document.baseURI), options);
  present = { name, translator: loading };
  before?.then((translator) => translator.close(), () => {});
  try {
    await loading;
  } catch (error) {
    if (present.translator === loading) refuse(name, error);
    return;
  }
  if (present.translator !== loading) return;
  progress.hidden = true;
  lastLoaded = name;
  say(word("ready"));
  await translate();
}

/** Says why a model does not load, and chooses the last one that did. A folder that is no model leaves the menu. */
function refuse(name, error) {
  present.translator = null;
  progress.hidden = true;
  opened.remove(name);
  target.replaceChildren();
  knows.textContent = "";
  if (lastLoaded && lastLoaded !== name) {
    // The next text loads it again.
    present = { name: lastLoaded, translator: null };
    model.value = lastLoaded;
  }
  say(explained(error), true);
}

/** Says what went wrong, with the name of a file. A translator that has no memory left is loaded again for the next text. */
function fail(error, file) {
  say(file ? `${file}: ${explained(error)}` : explained(error), true);
  if (!isFatal(error)) return;
  present.translator?.then((translator) => translator.close(), () => {});
  present.translator = null;
}

/** The translator, which is loaded if there is none; null if it does not load. */
async function loaded() {
  if (!present.translator) await choose();
  return present.translator;
}

/** The sentences of a text, and what is between them: `[isSentence, text]`. */
async function partsOf(text, translator) {
  const parts = [];
  let at = 0;
  for (const [begin, end] of await translator.sentences(text)) {
    parts.push([false, text.slice(at, begin)], [true, text.slice(begin, end)]);
    at = end;
  }
  return [...parts, [false, text.slice(at)]];
}

async function translate() {
  if (!present.translator && /\S/.test(source.value)) return choose();
  running.abort();
  const { signal } = (running = new AbortController());
  const text = source.value;
  notice.replaceChildren();
  if (!/\S/.test(text)) return (target.value = "");
  translated = "";
  const start = performance.now();
  try {
    const translator = await present.translator;
    const all = await partsOf(text, translator);
    if (signal.aborted) return;
    const shown = all.map(([isSentence, part]) => (isSentence ? "" : part));
    const indices = all.flatMap(([isSentence], i) => (isSentence ? [i] : []));
    say(word("translating", { done: 0, all: indices.length }));
    // A text without words stays as it is.
    if (!indices.length) target.replaceChildren(...shown);
    let done = 0;
    const onResult = (index, found) => {
      shown[indices[index]] = dressed(found);
      target.replaceChildren(...shown);
      say(word("translating", { done: ++done, all: indices.length }));
    };
    await translator.translate(indices.map((i) => all[i][1]), { signal, onResult });
    translated = text;
    say(word("done", { sentences: indices.length, seconds: ((performance.now() - start) / 1000).toFixed(2) }));
    await compare(text, translator, signal);
  } catch (error) {
    if (signal.aborted) return;
    target.replaceChildren();
    fail(error);
  }
}

/** A translation, which its confidence and its doubts mark. */
function dressed({ text, doubts, confidence }) {
  const span = document.createElement("span");
  span.textContent = text;
  if (doubts.length) {
    span.className = "doubted";
    span.title = word("doubted", { doubts: doubts.map((doubt) => word(`doubt-${doubt}`)).join(", ") });
  } else if (confidence !== null && confidence !== undefined) {
    span.className = confidence < UNSURE ? "unsure" : "";
    span.title = word("confidence", { share: Math.round(100 * confidence) });
  }
  return span;
}

/** Says if the text seems to be in another language than the model reads, and offers the model that reads it. */
async function compare(text, translator, signal) {
  const languages = MODELS.map((name) => languagesOf(name)[0]);
  const { name } = present;
  const found = await otherLanguage(text, name, (start) => translator.detect(start, languages));
  if (signal.aborted || !found) return;
  notice.append(saysOther(found, name), " ");
  const other = MODELS.find((model) => languagesOf(model)[0] === found);
  if (!other) return;
  const button = document.createElement("button");
  button.textContent = word("take-model", { model: word(other) });
  button.addEventListener("click", () => {
    model.value = other;
    choose();
  });
  notice.append(button);
}

/** Turns the direction around, and takes the translation for the text. */
function turn() {
  const other = languagesOf(present.name).reverse().join("-");
  if (!MODELS.includes(other)) return say(word("no-turn"), true);
  // Half a translation is no text.
  if (translated === source.value) source.value = target.value || source.value;
  model.value = other;
  choose();
}

/** Translates a document, and offers the result to be saved. */
async function translateFile(given) {
  // Text that was just typed would end the translation of the file.
  clearTimeout(pause);
  save.hidden = true;
  notice.replaceChildren();
  say("");
  const translator = await loaded().catch(() => null);
  if (!translator) return;
  running.abort();
  const { signal } = (running = new AbortController());
  const start = performance.now();
  const sentences = [];
  say(word("translating", { done: 0, all: "…" }));
  try {
    const bytes = await translator.translateDocument(given, undefined, {
      signal,
      onSentences: (found) => sentences.push(...found),
      progress: (done, all) => say(word("translating", { done, all })),
    });
    if (signal.aborted) return;
    if (!sentences.length) return say(word("file-empty", { name: given.name }));
    const name = given.name.replace(/(\.[^.]*)$/, `.${present.name.split("-")[1]?.slice(0, 2) ?? "translated"}$1`);
    URL.revokeObjectURL(save.href);
    Object.assign(save, { href: URL.createObjectURL(new Blob([bytes])), download: name, textContent: word("save", { name }), hidden: false });
    say(word("file-done", { name: given.name, sentences: sentences.length, seconds: ((performance.now() - start) / 1000).toFixed(2) }));
    await compare(sentences.join(" "), translator, signal);
  } catch (error) {
    if (!signal.aborted) fail(error, given.name);
  }
}

/** The language of the sample: the page's, or English where no model beside the page reads that. */
const sampleLanguage = MODELS.some((name) => name.startsWith(`${language}-`)) ? language : "en";

/** The model for the sample: the one that is chosen, if it reads the language of the sample, and else one of its own. */
async function forSample() {
  // A larger model that the reader opened may translate from this language too.
  if (languagesOf(present.name)[0] === sampleLanguage) return [present.name, await loaded(), () => {}];
  const name = MODELS.find((model) => languagesOf(model)[0] === sampleLanguage);
  say(word("loading"));
  const translator = await Translator.load(new URL(`models/${name}/`, document.baseURI));
  say("");
  return [name, translator, () => translator.close()];
}

/** Translates the sample in place; its words can be written again. */
async function translatePage() {
  inPlace.disabled = true;
  let isTemporary = false;
  try {
    const [name, translator, close] = await forSample();
    isTemporary = name !== present.name;
    if (!translator) return;
    await translator.translateElement(sample).finally(close);
    [, sample.lang] = languagesOf(name);
    inPlace.hidden = true;
    undo.hidden = false;
    undo.focus();
  } catch (error) {
    // The model that is open goes on when another one fails.
    if (isTemporary) say(explained(error), true);
    else fail(error);
  } finally {
    inPlace.disabled = false;
  }
}

/** Writes the sample as it was. */
function restore() {
  write();
  sample.lang = sampleLanguage;
  undo.hidden = true;
  inPlace.hidden = false;
  inPlace.focus();
}

folder.addEventListener("change", () => {
  if (folder.files.length) open([...folder.files]);
});
file.addEventListener("change", () => {
  if (file.files.length) translateFile(file.files[0]);
  // The same file can be chosen again.
  file.value = "";
});

/** Opens these files as a model. */
function open(files) {
  opened.add(files);
  choose();
}

document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", async (event) => {
  event.preventDefault();
  const entry = event.dataTransfer.items[0]?.webkitGetAsEntry?.();
  const files = entry?.isDirectory ? await filesIn(entry) : [...event.dataTransfer.files];
  // A document is one file; a model has several.
  if (files.length > 1 || entry?.isDirectory) open(files);
  else if (files.length) translateFile(files[0]);
});

/** The files of a folder that was dropped. */
async function filesIn(entry) {
  const reader = entry.createReader();
  const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
  const files = entries.filter((one) => one.isFile);
  return Promise.all(files.map((one) => new Promise((resolve, reject) => one.file(resolve, reject))));
}

source.addEventListener("input", () => {
  if (!/\S/.test(source.value)) {
    running.abort();
    say("");
  }
  clearTimeout(pause);
  pause = setTimeout(translate, PAUSE);
});
copy.addEventListener("click", async () => {
  await copyText(target.value);
  say(word("copied"));
});
model.addEventListener("change", choose);
sample.lang = sampleLanguage;
inPlace.addEventListener("click", translatePage);
undo.addEventListener("click", restore);
swap.addEventListener("click", turn);

write();
offerLanguages($("language"));
MODELS.forEach((name) => model.add(new Option(word(name), name)));
navigator.serviceWorker?.register("offline.js").catch(() => {});
choose();
