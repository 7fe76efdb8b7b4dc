// Draws a plan: what happens in which wave, why, and what changes in the template.

import { counted, el } from './dom.js';
import { kindOfLine, named, waves } from './plan.js';

const shownWaves = 20;

export function drawDiff(text) {
  return el('pre', { className: 'diff' }, ...text.trimEnd().split('\n').map((line) => el('span', { className: kindOfLine(line), textContent: `${line}\n` })));
}

export function drawWaves(plan) {
  const all = waves(plan.steps);
  const list = all.slice(0, shownWaves).map(({ number, lines }) => el('li', { className: number ? '' : 'held' },
    el('strong', { textContent: number ? `Wave ${number}` : 'Held back' }),
    ...lines.map((line) => el('div', {},
      el('span', { className: `what ${line.what.replaceAll(' ', '-')}`, textContent: line.what }), ` ${named(line)} `,
      el('span', { className: 'why', textContent: `— ${line.why} [${line.reason}]` })))));
  if (all.length > shownWaves) list.push(el('li', { textContent: `and ${counted(all.length - shownWaves, 'more wave')}` }));
  return el('ol', { className: 'waves' }, ...list);
}

export function drawPlan(plan) {
  const parts = [el('p', { className: plan.disruptive ? 'summary disruptive' : 'summary', textContent: plan.summary })];
  if (plan.estimate) parts.push(el('p', { className: 'message', textContent: plan.estimate.text }));
  if (!plan.complete) parts.push(el('p', { className: 'message', textContent: 'The forecast was cut off before the fleet came to rest.' }));
  for (const text of plan.warnings || []) parts.push(el('p', { className: 'warning', textContent: `The API server warns: ${text}` }));
  if (plan.steps.length) parts.push(drawWaves(plan));
  if (plan.templateDiff) parts.push(drawDiff(plan.templateDiff));
  if (plan.change) {
    parts.push(el('details', {}, el('summary', { textContent: 'The patch that will be sent, as you' }), el('pre', { textContent: JSON.stringify(plan.change, null, 2) })));
  }
  return parts;
}
