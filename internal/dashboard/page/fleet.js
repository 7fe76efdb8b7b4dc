// One fleet in numbers, and what is held back.

import { drawActions } from './actions.js';
import { $, counted, el } from './dom.js';
import { why } from './overview.js';
import { drawPods } from './pods.js';
import { drawRevisions } from './revisions.js';
import { classOf, wordOf } from './severity.js';
import { page, recorded } from './state.js';

const listedHolds = 20;

export function drawFleet() {
  const d = page.detail;
  $('fleet-name').textContent = `${d.namespace}/${d.name}`;
  $('fleet-kind').textContent = d.kind;
  $('fleet-state').textContent = [wordOf(d), d.paused && 'paused', d.pinned && wordOf(d) !== 'Pinned' && 'pinned'].filter(Boolean).join(', ');
  $('fleet-state').className = `state ${classOf(d)}`;
  $('fleet-state').title = d.state || '';
  $('fleet-message').textContent = why(d);
  $('fleet-message').className = ['stuck', 'short'].includes(d.severity) ? `banner ${d.severity}` : 'message';
  $('reconcile').hidden = !d.mayReconcile;
  for (const id of ['pods-section', 'story-section', 'counts']) $(id).hidden = !recorded[d.resource];
  for (const id of ['graph-section', 'revisions-section']) $(id).hidden = d.resource !== 'podmanagers';
  const counts = { desired: d.desired, live: d.live, ready: d.ready, available: d.available, 'up to date': d.updated, terminating: d.terminating };
  $('counts').replaceChildren(...Object.entries(counts).map(([name, n]) => el('div', {}, el('dt', { textContent: name }), el('dd', { textContent: n, 'data-count': name }))));
  $('rollout').hidden = !d.progress;
  if (d.progress) {
    const { done, total, revision } = d.progress;
    Object.assign($('progress'), { max: Math.max(1, total), value: done });
    $('progress-label').textContent = revision ? 'Rollout' : 'Restart';
    $('progress-text').textContent = revision ? `${done} of ${total} on ${revision}` : `${done} of ${total} restarted`;
  }
  $('held').hidden = d.held.length === 0;
  const held = d.held.slice(0, listedHolds).map((h) => el('li', {},
    `${h.text}${h.until ? ` (ends in ${h.until})` : ''}`,
    ...(h.advice ? [el('span', { className: 'advice', textContent: `to do: ${h.advice}` })] : [])));
  if (d.held.length > listedHolds) held.push(el('li', { textContent: `${counted(d.held.length - listedHolds, 'further action')} held back` }));
  $('blocked').replaceChildren(...held);
  drawActions();
  drawRevisions();
  drawPods();
}
