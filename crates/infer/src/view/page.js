'use strict';
const [written, roles] = JSON.parse(document.getElementById('data').textContent);
const sentences = written.map(([source, target, alignment, panels]) => ({
  source, target, alignment, panels: panels.map(([name, title, queries, keys, layers]) => ({ name, title, queries, keys, layers })),
}));
const $ = (id) => document.getElementById(id);
const state = { sentence: 0, part: null, layer: Infinity, head: 0 };

const panels = () => sentences[state.sentence].panels;
const panel = () => panels().find((p) => p.name === state.part);

/** A token as the page shows it: the mark of the beginning of a word looks like a bar, so a middle dot stands for it. */
const shown = (token) => token.replaceAll('\u2581', '·');
/** Whether the mask hides key k from query q: no position of the decoder sees those after it. */
const isMasked = (q, k) => state.part === 'decoder' && k > q;

/** Replaces the children of a node. */
function fill(node, children) { node.replaceChildren(...children); }

/** An element with properties (or attributes, where it has no such property) and children. */
function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node) node[name] = value; else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** The chosen weights in thousandths, row by row. */
function weights() {
  const heads = panel().layers[state.layer];
  if (state.head !== 'mean') return heads[state.head];
  return heads[0].map((_, i) => heads.reduce((sum, head) => sum + head[i], 0) / heads.length);
}

function bounded(text, count, otherwise) {
  const number = Number(text) - 1;
  return Number.isInteger(number) && number >= 0 && number < count ? number : otherwise;
}

/** Takes the choice from the address; what it lacks or cannot be stays as it was or is the first. */
function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  state.sentence = bounded(asked.get('sentence'), sentences.length, state.sentence);
  if (panels().some((p) => p.name === asked.get('part'))) state.part = asked.get('part');
  if (asked.get('head') !== null) state.head = bounded(asked.get('head'), Infinity, 'mean');
  state.layer = bounded(asked.get('layer'), Infinity, state.layer);
  settle();
}

/** Keeps the choice inside what there is. */
function settle() {
  // Cross-attention says which source each piece was translated from.
  if (!panel()) state.part = (panels().find((p) => p.name === 'cross') ?? panels()[0]).name;
  state.layer = Math.min(state.layer, panel().layers.length - 1);
  if (state.head !== 'mean' && state.head >= panel().layers[state.layer].length) state.head = 'mean';
}

function choose(change) {
  Object.assign(state, change);
  settle();
  const head = state.head === 'mean' ? 'mean' : state.head + 1;
  const address = `#sentence=${state.sentence + 1}&part=${state.part}&layer=${state.layer + 1}&head=${head}`;
  history.replaceState(null, '', address);
  render();
}

/** Radio buttons; those that are there already keep the keyboard's focus. */
function options(id, choices, chosen, pick) {
  const node = $(id);
  const names = JSON.stringify(choices);
  if (node.dataset.names !== names) {
    node.dataset.names = names;
    fill(node, choices.map(([value, label]) => make('label', {},
      make('input', { type: 'radio', name: id, value, onchange: () => pick(value) }), ` ${label}`)));
  }
  for (const input of node.querySelectorAll('input')) input.checked = input.value === String(chosen);
}

function renderChoice() {
  options('part', panels().map((p) => [p.name, p.title]), state.part, (part) => choose({ part }));
  options('layer', panel().layers.map((_, i) => [i, i + 1]), state.layer, (layer) => choose({ layer }));
  const heads = panel().layers[state.layer].map((_, i) => [i, i + 1]);
  options('head', [['mean', 'mean'], ...heads], state.head, (head) => choose({ head }));
}

function renderSentence() {
  const { source, target, alignment } = sentences[state.sentence];
  $('sentence').value = state.sentence;
  $('source').textContent = source;
  $('target').textContent = target;
  const [from, to] = [source, target].map((text) => text.trim().split(/\s+/));
  fill($('alignment'), alignment.map(([s, t]) => make('li', {}, `${from[s]} – ${to[t]}`)));
  $('words').hidden = alignment.length === 0;
}

function renderMap() {
  const { queries, keys, title } = panel();
  const values = weights();
  const head = state.head === 'mean' ? 'mean of heads' : `head ${state.head + 1}`;
  $('map-title').textContent = `${title}, layer ${state.layer + 1}, ${head}`;
  const top = make('tr', {}, make('th'), ...keys.map((key) => make('th', { scope: 'col' }, shown(key))));
  const rows = queries.map((query, q) => make('tr', {}, make('th', { scope: 'row' }, shown(query)),
    ...keys.map((_, k) => cell(q, k, values[q * keys.length + k]))));
  fill($('map'), [make('thead', {}, top), make('tbody', {}, ...rows)]);
  $('map').style.setProperty('--columns', keys.length);
  $('masked').hidden = state.part !== 'decoder';
  $('map').querySelector('td').tabIndex = 0;
  $('readout').textContent = 'Point at a weight to read it, or move with the arrow keys.';
}

function cell(q, k, thousandths) {
  const w = thousandths / 1000;
  const td = make('td', { tabIndex: -1, 'data-q': q, 'data-k': k, 'data-w': w.toFixed(3) });
  td.style.setProperty('--w', w);
  td.className = isMasked(q, k) ? 'masked' : w > 0.55 ? 'dark' : '';
  td.textContent = w >= 0.1 ? w.toFixed(2).replace(/^0/, '') : '';
  td.setAttribute('aria-label', describe(q, k, w));
  return td;
}

function describe(q, k, w) {
  const [query, key] = [panel().queries[q], panel().keys[k]].map(shown);
  if (isMasked(q, k)) return `${query} does not see ${key}, which the mask hides`;
  return `${query} looks at ${key} with weight ${w.toFixed(3)}`;
}

/** Says a cell's weight, marks its row and its column, and leaves only the lines of its row. */
function read(td) {
  for (const line of $('lines').querySelectorAll('line')) line.classList.toggle('off', line.dataset.q !== td.dataset.q);
  $('readout').textContent = td.getAttribute('aria-label');
  for (const th of $('map').querySelectorAll('th.on')) th.classList.remove('on');
  $('map').tBodies[0].rows[td.dataset.q].cells[0].classList.add('on');
  $('map').tHead.rows[0].cells[Number(td.dataset.k) + 1].classList.add('on');
}

/** The colours of heads (Okabe and Ito's). */
const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8c564b', '#7f7f7f'];

/** Lines from each query to its keys, as in the paper's Figures 3 to 5: the darker, the larger the weight. */
function renderLines() {
  const { queries, keys, layers } = panel();
  const step = 24;
  const height = step * Math.max(queries.length, keys.length);
  const y = (i, all) => step * (i + .5) + (height - step * all.length) / 2;
  const draw = (name, attributes, ...children) => {
    const node = document.createElementNS($('lines').namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const labels = (all, x, anchor) => all.map((token, i) =>
    draw('text', { x, y: y(i, all) + 5, 'text-anchor': anchor }, shown(token)));
  const lines = layers[state.layer].flatMap((head, h) => state.head !== 'mean' && state.head !== h ? [] :
    head.map((weight, i) => [weight, Math.floor(i / keys.length), i % keys.length])
      .filter(([weight, q, k]) => weight >= 20 && !isMasked(q, k))
      .map(([weight, q, k]) => draw('line', { x1: 150, y1: y(q, queries), x2: 330, y2: y(k, keys), 'data-q': q,
        stroke: COLORS[h % COLORS.length], 'stroke-opacity': weight / 1000 })));
  $('lines').setAttribute('width', 480);
  $('lines').setAttribute('viewBox', `0 0 480 ${height}`);
  fill($('lines'), [...lines, ...labels(queries, 142, 'end'), ...labels(keys, 338, 'start')]);
}

const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function move(event) {
  const td = event.target.closest('td');
  const step = moves[event.key];
  if (!td || !step) return;
  event.preventDefault();
  const row = $('map').tBodies[0].rows[Number(td.dataset.q) + step[0]];
  const next = row && row.cells[Number(td.dataset.k) + 1 + step[1]];
  if (!next || next.tagName !== 'TD') return;
  td.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function renderHeads() {
  const layers = panel().layers;
  const most = Math.max(...layers.map((heads) => heads.length));
  $('heads').style.gridTemplateColumns = `repeat(${most}, max-content)`;
  fill($('heads'), layers.flatMap((heads, layer) => heads.map((values, head) => thumbnail(values, layer, head))));
}

function thumbnail(values, layer, head) {
  const { queries, keys } = panel();
  const canvas = make('canvas', { width: keys.length, height: queries.length });
  const brush = canvas.getContext('2d');
  brush.fillStyle = getComputedStyle(document.body).backgroundColor;
  brush.fillRect(0, 0, keys.length, queries.length);
  brush.fillStyle = getComputedStyle($('heads')).caretColor;
  values.forEach((value, i) => {
    brush.globalAlpha = value / 1000;
    brush.fillRect(i % keys.length, Math.floor(i / keys.length), 1, 1);
  });
  const name = `layer ${layer + 1}, head ${head + 1}`;
  const pressed = state.layer === layer && state.head === head;
  return make('button', {
    type: 'button', 'aria-label': name, 'aria-pressed': pressed, 'data-layer': layer, 'data-head': head,
    onclick: () => {
      choose({ layer, head });
      $('heads').querySelector(`[data-layer="${layer}"][data-head="${head}"]`).focus();
    },
  }, canvas, `${layer + 1}.${head + 1}`, make('br'), roles[`${state.part}.${layer + 1}.${head + 1}`] || '');
}

function render() {
  renderSentence();
  renderChoice();
  renderMap();
  renderLines();
  renderHeads();
}

fill($('sentence'), sentences.map(({ source }, i) => make('option', { value: i }, `${i + 1}. ${source}`)));
document.querySelector('.sentence').hidden = sentences.length < 2;
$('sentence').onchange = (event) => choose({ sentence: Number(event.target.value) });
$('choice').onsubmit = (event) => event.preventDefault();
$('map').addEventListener('mouseover', (event) => { const td = event.target.closest('td'); if (td) read(td); });
$('map').addEventListener('mouseleave', renderLines);
$('map').addEventListener('focusin', (event) => { const td = event.target.closest('td'); if (td) read(td); });
$('map').addEventListener('keydown', move);
addEventListener('hashchange', () => { readAddress(); render(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', renderHeads);
readAddress();
render();
