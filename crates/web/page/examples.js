// Sentences to begin with, by the name of the model beside the page; those with the same place say the same.

export const EXAMPLES = {
  "de-en": ["Das kleine Haus steht am See.", "Das Kind weint, weil es Hunger hat.", "Ich habe gestern einen alten Freund getroffen."],
  "en-de": ["The small house is by the lake.", "The child is crying because it is hungry.", "I met an old friend yesterday."],
};

/** The examples with a pronoun, and the pieces of the pronoun and of its noun (Figure 5 of the paper). */
export const PRONOUNS = {
  "de-en": { example: 1, from: "·es", to: "·Kind" },
  "en-de": { example: 1, from: "·it", to: "·child" },
};

/**
 * The sentence for the model `name`: an example of another model becomes its own, and a sentence of the reader's
 * becomes its translation, if there is one and the direction is turned around.
 */
export function sentenceFor(name, { sentence, before, translation }) {
  const own = EXAMPLES[name];
  if (!own) return sentence;
  const place = Object.values(EXAMPLES).map((all) => all.indexOf(sentence)).find((index) => index >= 0);
  if (place !== undefined) return own[place];
  const isTurned = before?.split("-").reverse().join("-") === name;
  return isTurned && translation ? translation : sentence;
}
