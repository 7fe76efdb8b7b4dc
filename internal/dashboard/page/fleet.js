// One fleet in numbers, and what is held back.

import { $, el } from './dom.js';
import { drawPods } from './pods.js';
import { keyOf, page } from './state.js';

const listedHolds = 20;

export function drawFleet() {
  const d = page.detail;
  $('fleet-name').textContent = keyOf(d);
  $('fleet-state').textContent = [d.state || 'new', d.paused && 'paused', d.pinned && d.state !== 'Pinned' && 'pinned'].filter(Boolean).join(', ');
  $('fleet-state').className = `state ${d.state || ''}`;
  $('fleet-message').textContent = [d.reason, d.message].filter(Boolean).join(': ');
  $('reconcile').disabled = !d.mayReconcile;
  $('reconcile').title = d.mayReconcile ? '' : 'You may not update this PodManager.';
  const counts = { desired: d.desired, live: d.live, ready: d.ready, available: d.available, 'up to date': d.updated, terminating: d.terminating };
  $('counts').replaceChildren(...Object.entries(counts).map(([name, n]) => el('div', {}, el('dt', { textContent: name }), el('dd', { textContent: n, 'data-count': name }))));
  const rolling = d.currentRevision && d.currentRevision !== d.updateRevision;
  $('rollout').hidden = !rolling;
  if (rolling) {
    Object.assign($('progress'), { max: Math.max(1, d.desired), value: d.updated });
    $('progress-text').textContent = `${d.updated} of ${d.desired} on ${d.updateRevision}`;
  }
  $('held').hidden = d.blocked.length === 0;
  const held = d.blocked.slice(0, listedHolds).map((b) => el('li', { textContent: `${b.by}: ${b.pod || ''}${b.count > 1 ? ` and ${b.count - 1} more` : ''}${b.pod ? ': ' : ''}${b.message}` }));
  if (d.blocked.length > listedHolds) held.push(el('li', { textContent: `and ${d.blocked.length - listedHolds} more` }));
  $('blocked').replaceChildren(...held);
  drawPods();
}
