// The pods that a search finds by their names and nodes, in all fleets.

import { askJSON } from './api.js';
import { $, counted, el } from './dom.js';
import { byName } from './order.js';
import { format } from './route.js';

const soon = 300; // ms after a key, so that a word is one search
const least = 2; // letters

let asked = '';
let timer = 0;

// drawFound looks for pods, and shows them when they are there.
export function drawFound(search) {
  const wanted = search.trim();
  if (wanted === asked) return;
  asked = wanted;
  clearTimeout(timer);
  $('found').hidden = true;
  if (wanted.length >= least) timer = setTimeout(() => find(wanted), soon);
}

async function find(wanted) {
  let answer;
  try {
    answer = await askJSON(`api/search?q=${encodeURIComponent(wanted)}`);
  } catch {
    if (wanted === asked) asked = ''; // the next look asks again
    return;
  }
  if (wanted !== asked) return; // another word was typed meanwhile
  const pods = answer.items.sort((a, b) => byName(a.namespace, b.namespace) || byName(a.pod, b.pod));
  $('found').hidden = pods.length === 0;
  $('found-title').textContent = `${answer.more ? 'The first ' : ''}${counted(pods.length, 'pod')} of this name or node`;
  $('found-pods').replaceChildren(...pods.map((p) => el('li', {},
    el('a', { href: format({ resource: p.resource, namespace: p.namespace, name: p.fleet, params: { pod: p.pod } }), textContent: p.pod }),
    ` ${p.namespace} · ${p.kind} ${p.fleet}${p.node ? ` · on ${p.node}` : ''}`)));
}
