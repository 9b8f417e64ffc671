// Sentences to begin with, by the name of the model beside the page; those with the same place show the same.

export const EXAMPLES = {
  "de-en": ["Das kleine Haus steht am See.", "Das Kind weint, weil es Hunger hat.", "Ich habe gestern einen alten Freund getroffen.", "Tom ist noch nicht auf."],
  "en-de": ["The small house is by the lake.", "The dog says it is hungry.", "I met an old friend yesterday.", "They look like us."],
};

/** The example whose best translation greedy search loses. */
export const GREEDY_LOSES = 3;

/** The examples with a pronoun, and the pieces of the pronoun and of its noun (Figure 5 of the paper). */
export const PRONOUNS = {
  "de-en": { example: 1, from: "·es", to: "·Kind" },
  "en-de": { example: 1, from: "·it", to: "·dog" },
};

/** The first example of the model `name` that is another than `sentence`; undefined if there is none. */
export const exampleBeside = (name, sentence) => EXAMPLES[name]?.find((example) => example !== sentence);

/** The sentences that took each other's place when the direction was turned around, by the model. */
const turned = new Map();

/**
 * The sentence for the model `name`: an example of another model becomes its own. A sentence of the reader's becomes its
 * translation, if there is one and the direction is turned around, and comes back when it is turned around again.
 */
export function sentenceFor(name, { sentence, before, translation }) {
  const own = EXAMPLES[name];
  if (!own) return sentence;
  const place = Object.values(EXAMPLES).map((all) => all.indexOf(sentence)).find((index) => index >= 0);
  if (place !== undefined) return own[place];
  if (before?.split("-").reverse().join("-") !== name) return sentence;
  if (turned.get(before) !== sentence) {
    turned.set(before, sentence);
    turned.set(name, translation || sentence);
  }
  return turned.get(name);
}
