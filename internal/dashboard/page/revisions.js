// The revisions of a fleet, their images, and what each changed.

import { askJSON } from './api.js';
import { sees } from './actions.js';
import { $, counted, el } from './dom.js';
import { drawDiff } from './planview.js';
import { keyOf, page } from './state.js';
import { age } from './time.js';

let stored = { of: '', items: [] };

// fetchRevisions reads the templates with the viewer's rights. Without them, the
// revisions have only a number and a name.
export async function fetchRevisions() {
  const d = page.detail;
  const of = d.revisions.map((r) => `${r.name}:${r.number}`).join();
  if (d.resource !== 'podmanagers' || !sees('revisions') || stored.of === `${keyOf(d)} ${of}`) return;
  const { items } = await askJSON(`api/podmanagers/${encodeURIComponent(d.namespace)}/${encodeURIComponent(d.name)}/revisions`);
  stored = { of: `${keyOf(d)} ${of}`, items };
  drawRevisions();
}

// images are those that the pods run. Those of a pinned fleet are not of its template.
function images(d) {
  const line = (i, ...more) => el('li', {}, el('strong', { textContent: i.container }), ` ${i.image}`, ...more);
  if (!d.running?.length) return d.images.map((i) => line(i));
  const asked = new Map(d.images.map((i) => [i.container, i.image]));
  return d.running.map((i) => (!asked.has(i.container) || asked.get(i.container) === i.image ? line(i)
    : line(i, el('span', { className: 'why', textContent: ` runs, because the fleet is pinned; its template has ${asked.get(i.container)}` }))));
}

export function drawRevisions() {
  const d = page.detail;
  $('images').replaceChildren(...images(d));
  const known = new Map((stored.of.startsWith(`${keyOf(d)} `) ? stored.items : []).map((r) => [r.name, r]));
  const pods = new Map();
  for (const p of d.pods) pods.set(p.revision, (pods.get(p.revision) || 0) + 1);
  const opened = new Set([...$('revisions').querySelectorAll('details[open]')].map((e) => e.dataset.revision));
  $('revisions').replaceChildren(...[...d.revisions].sort((a, b) => b.number - a.number).map((r) => {
    const more = known.get(r.name);
    const role = r.name === d.updateRevision ? (d.progress ? 'moving to' : 'current') : r.name === d.currentRevision ? 'moving from' : '';
    const line = [`revision ${r.number}`, r.name, role, counted(pods.get(r.name) || 0, 'pod'), more && more.images.join(', '), more && `${age(more.created)} ago`].filter(Boolean).join(' · ');
    if (!more?.diff) return el('li', { textContent: line });
    return el('li', {}, el('details', { open: opened.has(r.name), 'data-revision': r.name }, el('summary', { textContent: line }), drawDiff(more.diff)));
  }));
}
