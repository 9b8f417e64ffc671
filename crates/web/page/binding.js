// The task in which a head must bind: the translation names the noun that a pronoun stands for (the paper's Figure 5).

/** Nouns by their gender, with their articles in the nominative and the accusative, and their pronoun. */
const GENDERS = [
  { articles: ["der", "den"], pronoun: "er", nouns: [["Hund", "dog"], ["Vogel", "bird"], ["Mann", "man"]] },
  { articles: ["das", "das"], pronoun: "es", nouns: [["Tier", "animal"], ["Kind", "child"], ["Pferd", "horse"]] },
  { articles: ["die", "die"], pronoun: "sie", nouns: [["Katze", "cat"], ["Frau", "woman"], ["Maus", "mouse"]] },
];
const VERBS = [["sieht", "sees"], ["hört", "hears"], ["sucht", "seeks"], ["kennt", "knows"]];
const ADJECTIVES = [["müde", "tired"], ["alt", "old"], ["klein", "small"], ["jung", "young"], ["still", "quiet"]];
const PAIRS = 2000;
/** The pairs at the beginning of a text that a lesson does not learn from: `EVALUATION_SEQUENCES` in lesson.rs. */
const HELD_OUT = 100;

/** Numbers from 0 to 1 that are a function of the seed (mulberry32). */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Pairs of sentences in words: "der Hund sieht das Tier , weil es müde ist ." and "the dog sees the animal because the animal
 * is tired .", each with the places of the pronoun, of its noun and of the other noun. The first ones, which a lesson holds out, are
 * not among the others.
 */
export function bindings() {
  const random = randomOf(1);
  const of = (all) => all[Math.floor(random() * all.length)];
  const all = Array.from({ length: PAIRS }, () => {
    const subject = of(GENDERS);
    const object = of(GENDERS.filter((gender) => gender !== subject));
    const [[actor, actorOut], [other, otherOut], [verb, verbOut], [adjective, adjectiveOut]] = [of(subject.nouns), of(object.nouns), of(VERBS), of(ADJECTIVES)];
    const isObject = random() < 0.5;
    const { pronoun } = isObject ? object : subject;
    const source = [subject.articles[0], actor, verb, object.articles[1], other, ",", "weil", pronoun, adjective, "ist", "."];
    const target = ["the", actorOut, verbOut, "the", otherOut, "because", "the", isObject ? otherOut : actorOut, "is", adjectiveOut, "."];
    return { source, target, pronoun: 7, noun: isObject ? 4 : 1, other: isObject ? 1 : 4 };
  });
  const textOf = ({ source }) => source.join(" ");
  const heldOut = new Set(all.slice(0, HELD_OUT).map(textOf));
  return all.filter((pair, i) => i < HELD_OUT || !heldOut.has(textOf(pair)));
}

/**
 * The head of the encoder that binds most: that gives the pronoun's noun and its article, which has the same gender, the largest
 * weight, seen from the pronoun, or the pronoun, seen from its noun.
 * @param {number[][][]} layers weights in thousandths by layer and head, row after row
 * @param {number} length how many positions a row has
 * @param {{ pronoun: number, noun: number, other: number }} places
 */
export function binder(layers, length, { pronoun, noun, other }) {
  const all = layers.flatMap((heads, layer) => heads.flatMap((values, head) => {
    const weight = (query, key) => values[query * length + key] / 1000;
    const phrase = (query, key) => weight(query, key - 1) + weight(query, key);
    return [
      { layer, head, query: pronoun, keys: [noun - 1, noun], weight: phrase(pronoun, noun), rest: phrase(pronoun, other) },
      { layer, head, query: noun, keys: [pronoun], weight: weight(noun, pronoun), rest: weight(other, pronoun) },
    ];
  }));
  return all.sort((a, b) => b.weight - b.rest - (a.weight - a.rest))[0];
}
