// The pods as tiles.

import { $, counted, el, inWords } from './dom.js';
import { byName } from './order.js';
import { page } from './state.js';
import { age } from './time.js';

const states = ['ready', 'not-yet-available', 'starting', 'changing', 'waiting', 'failed', 'lost', 'terminating'];
const manyPods = 400; // past this many, tiles are small
const fewPods = 60; // up to this many, tiles have words

// drawPods changes only what changed: 5,000 tiles are cheap to keep, and dear
// to make anew twice a second.
export function drawPods() {
  const d = page.detail;
  const by = page.route.params.group || 'revision';
  const wanted = (page.route.params.search || '').trim().toLowerCase();
  const numbers = new Map(d.revisions.map((r) => [r.name, r.number]));
  const groups = new Map();
  for (const pod of d.pods) {
    const key = pod[by] || (by === 'zone' ? 'no zone' : by === 'node' ? 'not scheduled' : 'no revision');
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(pod);
  }
  const order = [...groups.keys()].sort((a, b) => (by === 'revision' ? (numbers.get(b) || 0) - (numbers.get(a) || 0) : 0) || a.localeCompare(b));
  const box = $('pods');
  box.classList.toggle('many', d.pods.length > manyPods);
  box.classList.toggle('few', d.pods.length <= fewPods);
  const have = new Map([...box.children].map((g) => [g.dataset.group, g]));
  const wantedTiles = new Set(d.pods.map((p) => p.name));
  for (const [name, tile] of page.tiles) {
    if (!wantedTiles.has(name)) {
      tile.remove();
      page.tiles.delete(name);
    }
  }
  for (const [key, group] of have) if (!groups.has(key)) group.remove();
  order.forEach((key, at) => {
    let group = have.get(key);
    if (!group || !group.isConnected) {
      const tiles = el('div', { className: 'tiles', role: 'listbox' });
      group = el('div', { className: 'group' }, el('h4'), tiles);
      group.dataset.group = key;
    }
    if (box.children[at] !== group) box.insertBefore(group, box.children[at] || null);
    const pods = groups.get(key).sort((a, b) => byName(a.name, b.name));
    const label = by === 'revision' && numbers.has(key) ? `revision ${numbers.get(key)} · ${key}` : key;
    const role = by !== 'revision' ? '' : key === d.updateRevision ? ' (wanted)' : ' (old)';
    group.firstChild.textContent = `${label}${role} · ${pods.length}`;
    group.lastChild.setAttribute('aria-label', `${label}: ${counted(pods.length, 'pod')}, ${pods.filter((p) => p.state === 'ready').length} ready`);
    // A cursor and not an index: children[i] is counted anew after every insert.
    let cursor = group.lastChild.firstChild;
    for (const pod of pods) cursor = placeTile(group.lastChild, pod, cursor, wanted);
  });
  const reachable = box.querySelector('.tile[tabindex="0"]') || box.querySelector('.tile');
  if (reachable) reachable.tabIndex = 0;
  drawGaps(d);
  drawLegend();
}

// drawGaps shows the pods that are asked for and not there.
function drawGaps(d) {
  const missing = Math.max(0, d.desired - d.pods.length);
  $('gaps').hidden = missing === 0;
  $('gaps-title').textContent = `not there yet · ${missing}`;
  const shown = d.desired <= fewPods ? missing : 0;
  if ($('gaps-tiles').children.length !== shown) $('gaps-tiles').replaceChildren(...Array.from({ length: shown }, () => el('li', { className: 'gap', textContent: 'no pod yet' })));
}

// placeTile puts a pod's tile before the cursor and returns the next cursor. It
// touches a tile only where the pod looks other than before.
function placeTile(box, pod, cursor, wanted) {
  let tile = page.tiles.get(pod.name);
  if (!tile) {
    tile = el('button', { type: 'button', tabIndex: -1, role: 'option' });
    tile.dataset.pod = pod.name;
    page.tiles.set(pod.name, tile);
  }
  const old = pod.revision && pod.revision !== page.detail.updateRevision;
  const text = `${pod.name}: ${pod.note || pod.state}${old ? ', old revision' : ''}${pod.node ? `, on ${pod.node}` : ''}`;
  const off = wanted && !text.toLowerCase().includes(wanted) && !page.detail.name.toLowerCase().includes(wanted);
  const name = `tile ${pod.state}${old ? ' old' : ''}${off ? ' off' : ''}`;
  if (tile.className !== name) tile.className = name;
  if (tile.title !== text) tile.title = text;
  label(tile, pod, text);
  if (cursor === tile) return tile.nextSibling;
  box.insertBefore(tile, cursor);
  return cursor;
}

// label gives a tile of a small fleet its words: state, cause and age. Without them, it
// needs a name.
function label(tile, pod, text) {
  const few = page.detail.pods.length <= fewPods;
  if (few) tile.removeAttribute('aria-label');
  else if (tile.getAttribute('aria-label') !== text) tile.setAttribute('aria-label', text);
  if (!few && !tile.firstChild) return;
  const words = few ? [pod.name, pod.note || inWords(pod.state), age(pod.created)] : [];
  if ([...tile.children].map((s) => s.textContent).join('\n') !== words.join('\n')) tile.replaceChildren(...words.map((text) => el('span', { textContent: text })));
}

function drawLegend() {
  const n = {};
  for (const pod of page.detail.pods) n[pod.state] = (n[pod.state] || 0) + 1;
  $('legend').replaceChildren(...states.filter((s) => n[s]).map((s) => el('li', {}, el('i', { className: s }), `${inWords(s)} ${n[s]}`)));
}

// rowLength counts the tiles beside one, not all there are.
function rowLength(tile) {
  const top = tile.offsetTop;
  let n = 1;
  for (let t = tile.previousSibling; t && t.offsetTop === top; t = t.previousSibling) n++;
  for (let t = tile.nextSibling; t && t.offsetTop === top; t = t.nextSibling) n++;
  return n;
}

// One tab stop for all tiles; the arrows move between them.
$('pods').addEventListener('keydown', (e) => {
  if (!e.target.classList.contains('tile')) return;
  const tiles = [...$('pods').querySelectorAll('.tile')];
  const at = tiles.indexOf(e.target);
  const row = e.key === 'ArrowUp' || e.key === 'ArrowDown' ? rowLength(e.target) : 0;
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: row, ArrowUp: -row, Home: -at, End: tiles.length - 1 - at }[e.key];
  if (step === undefined) return;
  e.preventDefault();
  const next = tiles[Math.min(tiles.length - 1, Math.max(0, at + step))];
  tiles[at].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
