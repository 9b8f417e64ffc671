// The words of the pages: one file for each language that they are written in.

/** The languages that the pages are written in, by their own names. */
const NAMES = { en: "English", ko: "한국어" };
const WRITTEN = Object.keys(NAMES);
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
  return withParticles((words[name] ?? name).replace(/\{(\w+)\}/g, (_, key) => String(values[key])));
}

/** Digits and letters whose Korean names end in a consonant. */
const CLOSED = /[013678LMNRlmn]/;

/** Whether a word ends in a consonant when it is read in Korean, and whether in ㄹ. */
function ending(word) {
  const last = [...word.replace(/[^\p{L}\p{N}]+$/u, "")].at(-1) ?? "";
  const syllable = last.charCodeAt(0) - 0xac00;
  if (syllable >= 0 && syllable < 11172) return { isClosed: syllable % 28 !== 0, isL: syllable % 28 === 8 };
  return { isClosed: CLOSED.test(last), isL: /[178Ll]/.test(last) };
}

/** Korean particles, `을(를)` and others behind a word, by its last sound. */
function withParticles(text) {
  return text.replace(/(\S+?)(을\(를\)|은\(는\)|이\(가\)|과\(와\)|으로\(로\))/g, (_, word, particle) => {
    const [closed, open] = particle.slice(0, -1).split("(");
    const { isClosed, isL } = ending(word);
    const isFirst = isClosed && !(isL && open === "로");
    return word + (isFirst ? closed : open);
  });
}

/** Makes a link to the page in its other language, with what the reader chose. */
export function offerLanguages(link) {
  const other = WRITTEN.find((code) => code !== language);
  Object.assign(link, { textContent: NAMES[other], lang: other, href: `?lang=${other}` });
  link.addEventListener("click", () => {
    const query = new URLSearchParams(location.search);
    query.set("lang", other);
    link.href = `?${query}${location.hash}`;
  });
}

/** Writes the words of every element that names some, and the language of the page. */
export function write() {
  document.documentElement.lang = language;
  document.querySelectorAll("[data-word]").forEach((it) => (it.textContent = word(it.dataset.word)));
  document.title = `Burnformer: ${document.querySelector("h1").textContent}`;
}
