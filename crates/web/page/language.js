// The language of a text, and whether a model reads another one.

import { language, word } from "./words.js";

/** The minimum number of letters for detection. */
const MIN_LETTERS = 8;
/** The minimum number of letters that are not Latin, which tell more. */
const MIN_OTHER_LETTERS = 2;
/** The maximum length of the text for detection. */
const MAX_LENGTH = 2000;

/** The languages of a model by its name, such as `de-en`; empty ones where the name has none. */
export function languagesOf(name) {
  return name.match(/^([a-z]{2})-([a-z]{2})/)?.slice(1) ?? ["", ""];
}

/** Whether a text has enough letters to tell its language. */
function isLong(text) {
  const letters = text.match(/\p{L}/gu) ?? [];
  const others = letters.filter((letter) => !/\p{Script=Latin}/u.test(letter));
  return letters.length >= MIN_LETTERS || others.length >= MIN_OTHER_LETTERS;
}

/**
 * The language of a text that the model `name` does not read; null if it reads the text, or nobody knows.
 * @param {string} text
 * @param {string} name
 * @param {(text: string) => Promise<{ language: string } | null>} detect
 */
export async function otherLanguage(text, name, detect) {
  const [from] = languagesOf(name);
  const start = text.slice(0, MAX_LENGTH);
  if (!from || !isLong(start)) return null;
  const found = await detect(start).catch(() => null);
  return found && found.language !== from ? found.language : null;
}

/** Says that a text is in another language than the model `name` reads. */
export function saysOther(found, name) {
  const names = new Intl.DisplayNames([language], { type: "language" });
  return word("other-language", { found: names.of(found), expected: names.of(languagesOf(name)[0]) });
}
