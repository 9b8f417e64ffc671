// The words of the pages: one file for each language that they are written in.

const WRITTEN = ["en", "ko"];
const asked = [new URLSearchParams(location.search).get("lang"), ...navigator.languages]
  .map((tag) => tag?.split("-")[0]);

/** The language of the page: the one in its address, or the first of the reader's that it is written in. */
export const language = asked.find((code) => WRITTEN.includes(code)) ?? "en";
const words = await (await fetch(new URL(`words.${language}.json`, import.meta.url))).json();

/**
 * The words of `name`, with the values of `{names}` in them.
 * @param {string} name
 * @param {Record<string, string | number>} [values]
 */
export function word(name, values = {}) {
  return (words[name] ?? name).replace(/\{(\w+)\}/g, (_, key) => String(values[key]));
}

/** Writes the words of every element that names some, and the language of the page. */
export function write() {
  document.documentElement.lang = language;
  document.querySelectorAll("[data-word]").forEach((it) => (it.textContent = word(it.dataset.word)));
  document.title = `Burnformer: ${document.querySelector("h1").textContent}`;
}
