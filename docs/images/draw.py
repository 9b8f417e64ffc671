"""Draws the pictures of docs/guide/paper.md whose numbers take no model.

    python3 docs/images/draw.py [FOLDER]

Writes the files into FOLDER, by default its own, and prints what it computed. Paths are the shortest ones in the graph of a network's connections; the
curves of `scale.svg` are the table of the page, which a test compares with the program."""

import re
import sys
from math import cos, log, sin, sqrt
from pathlib import Path
from statistics import fmean, pvariance

HERE = Path(__file__).resolve().parent
BLUE, RED, GREY = "#2a6fbb", "#c1442e", "#777"
WIDTH = 3  # k, of the convolutions


def picture(width, height, title, body):
    font = 'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="14"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {font}>
<title>{title}</title>
<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0,0 L8,4 L0,8 z" fill="context-stroke"/></marker></defs>
<rect width="{width}" height="{height}" fill="white"/>
{chr(10).join(body)}
</svg>
"""


def text(x, y, words, color="#222", anchor="middle", size=14):
    return f'<text x="{x:g}" y="{y:g}" fill="{color}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def signed(value, places="g"):
    return f"{value:{places}}".replace("-", "−")


def counted(number, noun):
    return f"{number} {noun}{'s' * (number != 1)}"


def lines(pairs, color, width=1.0, more=""):
    path = " ".join(f"M{x:.1f},{y:.1f} L{u:.1f},{v:.1f}" for (x, y), (u, v) in pairs)
    return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="{width}"{more}/>'


def dots(points, color, radius):
    return "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}"/>' for x, y in points)


# A network is a map from each node (row, position) to the nodes that it is computed from; row 0 is the input.


def shortest(network, output):
    """A shortest path to `output` from each node that it sees, by breadth-first search."""
    paths, queue = {output: [output]}, [output]
    for node in queue:
        for source in network.get(node, []):
            if source not in paths:
                paths[source] = [source, *paths[node]]
                queue.append(source)
    return paths


def longest(network, n):
    """The longest of the shortest paths from an input to an output; of several, the one between the most distant positions."""
    row, found = max(row for row, _ in network), []
    for output in range(n):
        paths = shortest(network, (row, output))
        assert all((0, source) in paths for source in range(output + 1)), f"{output} does not see all before it"
        found += [paths[0, source] for source in range(n) if (0, source) in paths]
    return max(found, key=lambda path: (len(path), path[-1][1] - path[0][1]))


def sequential(network):
    """The number of steps that wait for one another."""
    steps = {}
    for node in sorted(network):
        steps[node] = 1 + max((steps.get(source, 0) for source in network[node]), default=0)
    return max(steps.values())


def recurrent(n):
    return {(1, i): [(0, i), *([(1, i - 1)] if i else [])] for i in range(n)}


def attention(n):
    return {(1, i): [(0, j) for j in range(n)] for i in range(n)}


def convolutions(n, width, dilation):
    """As many layers as the last position needs to see the first; a kernel looks back from its position, `dilation(layer)` positions apart."""
    network, row = {}, 0
    while row == 0 or (0, 0) not in shortest(network, (row, n - 1)):
        row += 1
        for i in range(n):
            seen = (i - tap * dilation(row - 1) for tap in range(width))
            network[row, i] = [(row - 1, j) for j in seen if j >= 0]
    return network


def recurrence():
    n, body = 8, []
    for left, name, make in [(40, "recurrent", recurrent), (480, "self-attention", attention)]:
        network = make(n)

        def place(node):
            return left + 45 * node[1], 235 - 75 * node[0]

        path = longest(network, n)
        read = [(1, n - 1)] if name == "recurrent" else [(1, i) for i in range(n)]
        edges = [(place(source), place(node)) for node in network for source in network[node]]
        body += [lines(edges, "#bbb"), lines([(place(node), (left + 157, 95)) for node in read], BLUE, 1.5)]
        body += [lines([(place(a), place(b)) for a, b in zip(path, path[1:])], RED, 2.5)]
        body += [dots([place((row, i)) for row in (0, 1) for i in range(n)], "#444", 5)]
        body += [f'<rect x="{left + 82}" y="65" width="150" height="30" rx="4" fill="#e8f0fa" stroke="{BLUE}"/>']
        body += [text(left + 157, 85, f"decoder: {counted(len(read), 'vector')}"), text(left + 157, 35, name, size=16)]
        body += [text(x, 262, i + 1, GREY, size=12) for i in range(n) for x, _ in [place((0, i))]]
        for row, m in enumerate((n, 64)):
            steps, length = sequential(make(m)), len(longest(make(m), m)) - 1
            print(f"{name}, n {m}: {counted(steps, 'sequential step')}, longest path {length}")
            body += [text(left + 157, 290 + 22 * row, f"n = {m}: {counted(steps, 'step')} in turn, longest path {length}")]
    return picture(880, 325, "A recurrent network reads one position after another into one vector; attention reads all at once", body)


def paths():
    n, d, body = 27, 512, []
    explanation = ["Each feature over all positions, then each", f"position over all features. Products (d = {d}):", "the order of attention and feed-forward."]
    kinds = [
        (f"contiguous, k = {WIDTH}", " = (n − 1)/(k − 1)", lambda m: (m - 1) / (WIDTH - 1), lambda m: convolutions(m, WIDTH, lambda row: 1)),
        (f"dilated, k = {WIDTH}", " = log_k(n)", lambda m: log(m, WIDTH), lambda m: convolutions(m, WIDTH, lambda row: WIDTH**row)),
        ("separable, k = n", "", lambda m: 1, lambda m: convolutions(m, m, lambda row: 1)),
    ]
    for panel, (name, formula, expected, make) in enumerate(kinds):
        network = make(n)
        rows = max(row for row, _ in network)
        left, gap = 40 + 310 * panel, 240 / max(rows, 3)

        def place(node):
            return left + 10 * node[1], 300 - gap * node[0]

        path = longest(network, n)
        seen = shortest(network, (rows, n - 1))
        cone = [(place(source), place(node)) for node in network if node in seen for source in network[node]]
        body += [lines(cone, "#9dbde0", 0.8), lines([(place(a), place(b)) for a, b in zip(path, path[1:])], RED, 2.5)]
        if panel == 2:
            mixed = [(left + 10 * i, 300 - 2 * gap) for i in range(n)]
            body += [lines([(place((1, i)), mixed[i]) for i in range(n)], "#9dbde0", 0.8), dots(mixed, "#444", 2)]
            body += [lines([(place((1, n - 1)), mixed[-1])], RED, 2.5)]
            body += [f'<rect x="{left + 55}" y="{287 - gap * 1.5:g}" width="150" height="24" fill="white"/>']
            body += [text(left + 130, 304 - gap * 1.5, f"n·d² = {n * d * d:,}"), text(left + 70, 300 - gap * 0.7, f"n·n·d = {n * n * d:,}")]
            body += [text(left, 75 + 17 * i, words, "#555", "start", 12) for i, words in enumerate(explanation)]
        body += [dots([place((row, i)) for row in range(rows + 1) for i in range(n)], "#444", 2)]
        body += [text(left + 130, 30, name, size=16)]
        body += [text(left, 320, 1, GREY, size=12), text(left + 260, 320, n, GREY, size=12)]
        for row, m in enumerate((n, 9 * n)):
            layers = sequential(make(m))
            assert abs(layers - expected(m)) < 1e-9, (name, m, layers)
            print(f"{name}, n {m}: {counted(layers, 'layer')}{formula}")
            body += [text(left + 130, 345 + 22 * row, f"n = {m}: {counted(layers, 'layer')}{formula}")]
        assert len(path) - 1 == sequential(network)
    return picture(960, 380, "Layers of convolutions until the last of 27 positions sees the first", body)


def norm():
    x = [2.0, -1.0, 0.5, 4.0, 1.0, 0.0, 3.0, 6.5]
    gamma = [1.0, 1.0, 0.5, 0.5, 2.0, 2.0, 1.0, 1.0]
    beta = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, -1.0]
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    normal = [(value - mean) / sqrt(variance + 1e-5) for value in x]
    out = [scale * value + shift for scale, value, shift in zip(gamma, normal, beta)]
    print(f"layer normalisation: mean {mean:g}, variance {variance:g}, out", *(f"{value:.2f}" for value in out))
    body = []
    panels = [
        ("x", x, f"mean {mean:g}, variance {variance:g}"),
        ("(x − mean) / √(variance + ε)", normal, f"mean {abs(round(fmean(normal), 3)):g}, variance {round(pvariance(normal), 3):g}"),
        ("γ · … + β", out, ""),
    ]
    for panel, (name, values, below) in enumerate(panels):
        left = 30 + 310 * panel
        body += [text(left + 135, 28, name, size=16), text(left + 135, 268, below)]
        body += [lines([((left - 5, 180), (left + 275, 180))], GREY)]
        for i, value in enumerate(values):
            top = 180 - 20 * max(value, 0)
            color = RED if panel == 2 and (gamma[i], beta[i]) != (1, 0) else BLUE
            body += [f'<rect x="{left + 34 * i:g}" y="{top:.1f}" width="28" height="{20 * abs(value):.1f}" fill="{color}"/>']
            body += [text(left + 34 * i + 14, top - 5 if value >= 0 else 194 - 20 * value, signed(value, ".2f"), size=11)]
            if panel == 2:
                body += [text(left + 34 * i + 14, 262, f"{gamma[i]:g}", size=12), text(left + 34 * i + 14, 282, signed(beta[i]), size=12)]
        if panel == 2:
            body += [text(left - 12, 262, "γ", size=12), text(left - 12, 282, "β", size=12)]
    return picture(940, 295, "Layer normalisation of the eight features of one position", body)


def convolution(rows, kernel, bias):
    """The rows after a convolution; `kernel[out][tap][feature]`, padded with zeros."""
    half = len(kernel[0]) // 2
    zero = [0] * len(rows[0])
    padded = [zero] * half + rows + [zero] * half
    return [
        [shift + sum(w * value for tap, row in zip(taps, padded[i:]) for w, value in zip(tap, row)) for taps, shift in zip(kernel, bias)]
        for i in range(len(rows))
    ]


def feed_forward():
    first, second = [[1, 1], [1, -1], [-1, 1], [0, 2]], [[1, 0, 2, 0], [0, 1, 0, -1]]
    bias = [[0, 0, 1, -1], [1, 0]]
    x = [[1, 2], [0, 1], [3, 1], [2, -1], [1, 0]]

    def run(rows):
        hidden = [[max(value, 0) for value in row] for row in convolution(rows, [[taps] for taps in first], bias[0])]
        return hidden, convolution(hidden, [[taps] for taps in second], bias[1])

    def apply(matrix, shift, row):
        return [b + sum(w * value for w, value in zip(weights, row)) for weights, b in zip(matrix, shift)]

    hidden, out = run(x)
    assert out == [apply(second, bias[1], [max(value, 0) for value in apply(first, bias[0], row)]) for row in x]
    changed = run([*x[:2], [0, 0], *x[3:]])[1]
    assert [i for i in range(len(x)) if changed[i] != out[i]] == [2]
    print("feed-forward: out", *out)
    body, places = [], {}
    blocks = [(x, "x", []), (hidden, "max(0, W₁·x + b₁)", zip(first, bias[0])), (out, "W₂·… + b₂", zip(second, bias[1]))]
    for block, (rows, name, weights) in enumerate(blocks):
        height = 22 * len(rows[0])
        top = [290, 162, 78][block]
        body += [text(12, top - 10, name, anchor="start")]
        for feature, (taps, shift) in enumerate(weights):
            body += [text(12, top + 15 + 22 * feature, f"{'  '.join(map(signed, taps))} | {signed(shift)}", "#555", "start", 13)]
        for i, row in enumerate(rows):
            places[block, i] = (210 + 90 * i, top, top + height)
            for feature, value in enumerate(row):
                y = top + 22 * feature
                fill = "#f6ddd8" if i == 2 else "#e8f0fa"
                body += [f'<rect x="{190 + 90 * i}" y="{y}" width="40" height="22" fill="{fill}" stroke="{GREY}"/>']
                body += [text(210 + 90 * i, y + 16, signed(value), size=13)]
    for i in range(len(x)):
        for block in (0, 1):
            (a, top, _), (b, _, bottom) = places[block, i], places[block + 1, i]
            body += [lines([((a, top), (b, bottom))], RED if i == 2 else BLUE, 2, ' marker-end="url(#a)"')]
        body += [text(210 + 90 * i, 355, f"position {i + 1}", GREY, size=12)]
    body += [text(320, 28, "d_model 2, d_ff 4: the same kernels of width 1 at each position", size=15)]
    return picture(640, 370, "The feed-forward network as two convolutions of width 1", body)


def rotation():
    body, k = [], 3
    for pair, middle in enumerate((160, 450, 740)):
        rate = 10000 ** (-2 * pair / 8)

        def at(position, radius):
            return middle + radius * cos(position * rate), 150 - radius * sin(position * rate)

        body += [f'<circle cx="{middle}" cy="150" r="95" fill="none" stroke="#bbb"/>']
        body += [lines([((middle - 110, 150), (middle + 110, 150)), ((middle, 260), (middle, 40))], "#ddd")]
        body += [text(middle + 113, 155, "cos", GREY, "start", 12), text(middle + 6, 47, "sin", GREY, "start", 12)]
        for position, color in ((2, BLUE), (2 + k, RED)):
            body += [lines([((middle, 150), at(position, 95))], color, 2.5, ' marker-end="url(#a)"')]
        (x, y), (u, v) = at(2, 45), at(2 + k, 45)
        body += [f'<path d="M{x:.1f},{y:.1f} A45,45 0 0 0 {u:.1f},{v:.1f}" fill="none" stroke="#444"/>']
        body += [text(middle, 275, f"ω = {rate:g}: turned by k·ω = {k * rate:g}")]
    names = f'<tspan fill="{BLUE}">PE(2)</tspan> and <tspan fill="{RED}">PE({2 + k})</tspan>'
    body += [text(450, 22, f"{names}, k = {k}: the first three pairs for d_model 8")]
    return picture(900, 300, "From PE(pos) to PE(pos + k): each pair of sine and cosine is turned by k·ω", body)


def scale():
    page = (HERE.parent / "guide" / "paper.md").read_text(encoding="utf-8")
    table = page.split("| d_k | largest weight", 1)[1].split("\n\n", 1)[0]
    rows = [[float(cell) for cell in line.strip("| ").split("|")] for line in table.splitlines() if re.match(r"\| \d", line)]
    body = ['<path d="M60,30 L60,230 L600,230" fill="none" stroke="#777"/>']
    for tenth in range(5):
        y = 230 - 50 * tenth
        body += [lines([((55, y), (60, y))], GREY), text(50, y + 5, f"{tenth / 10:g}", "#555", "end")]
    for i, row in enumerate(rows):
        body += [lines([((90 + 150 * i, 230), (90 + 150 * i, 235))], GREY), text(90 + 150 * i, 252, f"{row[0]:g}", "#555")]
    body += [text(330, 272, "d_k", "#555"), text(66, 22, "norm of the gradient", "#555", "start")]
    for column, color, name in ((3, BLUE, "with √d_k"), (4, RED, "without")):
        points = [(90 + 150 * i, 230 - 500 * row[column]) for i, row in enumerate(rows)]
        body += [lines(list(zip(points, points[1:])), color, 2.5), dots(points, color, 4)]
        body += [text(points[-1][0] + 12, points[-1][1] + 5, name, color, "start")]
    return picture(720, 280, "The norm of the gradient of a softmax over ten keys, with and without a division by √d_k", body)


def main(folder=HERE):
    pictures = [("recurrence", recurrence), ("paths", paths), ("norm", norm), ("feed-forward", feed_forward), ("rotation", rotation), ("scale", scale)]
    for name, draw in pictures:
        Path(folder, f"{name}.svg").write_text(draw(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
