"""The examples of `docs/guide/how-to/python.md`, and a little more."""

from burnformer import Translator, detect, evaluate

translator = Translator("de-en")
print(translator.translate("Wo ist der Bahnhof?").text)
for translation in translator.translate(["Guten Morgen!", "Das Auto ist rot."], beam_size=5, n_best=3):
    print([(other.text, round(other.score, 3)) for other in translation.alternatives])
lines = (f"Das sind {number} Bücher." for number in range(1000))
for number, translation in enumerate(translator.translate_iterable(lines, chunk=256)):
    if number % 250 == 0:
        print(number, translation)
print(translator.translate_document("Guten *Morgen*!", "markdown", language="de"))
print(translator.score("Wo ist der Bahnhof?", "Where is the station?").perplexity)
found = detect("Der alte Mann wohnt am Meer.")
print(found.language if found else "?")
attention = translator.attention("Wo ist der Bahnhof?")
print(attention.alignment, attention.parts["cross"].weights.shape)
scores = evaluate(hypothesis=[attention.target], reference=["Where is the station?"], metrics=["bleu", "chrf"])
print({name: score["score"] for name, score in scores.items()})
