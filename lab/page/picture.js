// The picture: boxes, arrows, the keys in the queue, and a token at the box of the current step.

import { queueLists } from './model.js';
import { boxes, nameOf, say } from './words.js';

const wide = {
  size: [1090, 410], bend: { reads: [620, 165] },
  user: [15, 20, 130, 80], api: [205, 20, 190, 80], reflector: [455, 20, 170, 80], deltas: [675, 20, 165, 80], indexer: [890, 20, 185, 80],
  handlers: [875, 270, 205, 80], queue: [540, 225, 285, 170], reconcile: [290, 270, 190, 80], writes: [15, 270, 215, 80], fault: [15, 150, 130, 60],
};
const narrow = {
  size: [360, 860], bend: { reads: [20, 560], writes: [0, 250] },
  user: [10, 10, 150, 70], api: [190, 10, 160, 70], reflector: [190, 120, 160, 70], deltas: [190, 230, 160, 60], indexer: [190, 330, 160, 70],
  handlers: [150, 440, 200, 60], queue: [70, 540, 280, 160], reconcile: [190, 750, 160, 80], writes: [10, 750, 150, 80], fault: [10, 110, 130, 60],
};
const arrows = [['user', 'api'], ['api', 'reflector'], ['reflector', 'deltas'], ['deltas', 'indexer'], ['indexer', 'handlers'], ['handlers', 'queue'], ['queue', 'reconcile'], ['reconcile', 'writes'], ['writes', 'api', 'writes'], ['indexer', 'reconcile', 'reads']];

const small = window.matchMedia('(max-width: 760px)');
const svg = document.getElementById('svg');
let layout, parts;

const node = (tag, attributes = {}, content = '') => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.textContent = content;
  return e;
};

const center = ([x, y, w, h]) => [x + w / 2, y + h / 2];

// edge is where the line to another point leaves a box.
function edge(box, [tx, ty]) {
  const [cx, cy] = center(box), dx = tx - cx, dy = ty - cy;
  const scale = Math.min(box[2] / 2 / Math.abs(dx || 1e-9), box[3] / 2 / Math.abs(dy || 1e-9));
  return [cx + dx * scale, cy + dy * scale];
}

// lay draws the boxes anew, for the width and the language of the moment.
export function lay(choose) {
  layout = small.matches ? narrow : wide;
  parts = {};
  svg.replaceChildren();
  svg.setAttribute('viewBox', `0 0 ${layout.size.join(' ')}`);
  const marker = node('marker', { id: 'tip', viewBox: '0 0 10 10', refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: 'auto-start-reverse' });
  marker.append(node('path', { d: 'M0 0 L10 5 L0 10 z', class: 'tip' }));
  svg.append(marker);
  for (const [from, to, kind] of arrows) {
    // What Reconcile reads and writes goes around the other boxes.
    const bend = layout.bend[kind];
    const start = edge(layout[from], bend || center(layout[to])), end = edge(layout[to], bend || center(layout[from]));
    svg.append(node('path', { d: `M${start} ${bend ? `Q${bend} ` : 'L'}${end}`, class: `arrow ${kind || ''}`, 'marker-end': 'url(#tip)' }));
  }
  for (const box of Object.keys(boxes)) {
    const [x, y, w, h] = layout[box];
    const g = node('g', { id: `box-${box}`, class: 'box', role: 'button', tabindex: 0, 'aria-label': nameOf(box) });
    g.append(node('rect', { x, y, width: w, height: h, rx: 10 }), node('text', { x: x + 12, y: y + 24, class: 'name' }, nameOf(box)));
    const lines = box === 'queue' ? queueLists.length : 2;
    parts[box] = { g, lines: Array.from({ length: lines }, (_, i) => node('text', { x: x + 12, y: y + (box === 'queue' ? 54 : 46) + i * (box === 'queue' ? 24 : 18), class: 'line' })) };
    g.append(...parts[box].lines);
    g.addEventListener('click', () => choose(box));
    g.addEventListener('keydown', (e) => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); choose(box); } });
    svg.append(g);
  }
  parts.token = node('circle', { id: 'token', r: 9, class: 'token' });
  svg.append(parts.token);
}

export const onResize = (redraw) => small.addEventListener('change', redraw);

const few = (keys, most = 2) => (keys.length > most ? `${keys.slice(0, most).join(', ')} +${keys.length - most}` : keys.join(', ') || '–');
const cut = (s, n) => (s.length > n ? `${s.slice(0, n - 1)}…` : s);

// show puts the token and the lists where they are after a step.
export function show(step, now, held) {
  for (const box of Object.keys(boxes)) parts[box].g.classList.toggle('current', step?.box === box);
  if (step) {
    const [x, y, w] = layout[step.box];
    parts.token.setAttribute('transform', `translate(${x + w - 4} ${y + 6})`);
    parts.token.dataset.box = step.box;
  }
  queueLists.forEach((list, i) => {
    parts.queue.lines[i].textContent = `${say(list)}: ${few(now.queue[list])}`;
    parts.queue.lines[i].id = `queue-${list}`;
    parts.queue.lines[i].classList.toggle('some', now.queue[list].length > 0);
  });
  const counted = (list) => `${list.length} ${say(list.length === 1 ? 'object1' : 'objects')}`;
  // A box at rest shows what it did last.
  for (const box of ['user', 'reflector', 'deltas', 'handlers', 'reconcile', 'writes', 'fault']) {
    const s = now.last[box], [kind, ...name] = (s?.object || '').split(' ');
    const what = say(`last-${s?.verb}`);
    parts[box].lines[0].textContent = s ? cut(`${what.startsWith('last-') ? s.verb : what} ${box === 'deltas' ? kind : ''}`.trim(), 20) : say(`idle-${box}`);
    if (parts[box].lines[1]) parts[box].lines[1].textContent = box === 'fault' ? '' : cut(name.join(' ') || kind, 22);
  }
  parts.api.lines[0].textContent = counted(now.stored);
  parts.indexer.lines[0].textContent = Object.entries(now.cached).map(([p, list]) => `${Object.keys(now.cached).length > 1 ? `${p}: ` : ''}${counted(list)}`).join(', ');
  for (const [gate, box] of Object.entries({ event: 'reflector', reconcile: 'reconcile', write: 'writes' })) {
    if (!held?.[gate]?.length) continue;
    const [verb, ...object] = held[gate][0].split(' ');
    parts[box].lines[0].textContent = `‖ ${cut(verb, 20)}`;
    parts[box].lines[1].textContent = cut(object.join(' '), 22);
  }
}
