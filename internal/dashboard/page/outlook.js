// What is still to come: the waves of a rollout and when it ends.

import { askJSON } from './api.js';
import { $, counted } from './dom.js';
import { ends } from './plan.js';
import { drawWaves } from './planview.js';
import { keyOf, page, pathOf } from './state.js';

const again = 10e3; // ms between two forecasts of what looks the same
let last = { of: '', at: 0, cost: 0 };

// fetchOutlook asks for a forecast while something is under way.
export async function fetchOutlook() {
  const d = page.detail;
  const busy = Boolean(d.progress) || d.state === 'Reconciling';
  $('outlook').hidden = !busy;
  const of = `${keyOf(d)} ${d.updateRevision} ${d.updated} ${d.ready} ${d.paused}`;
  // A forecast that takes long is made less often.
  if (!busy || Date.now() - last.at < (last.of === of ? again : 20 * last.cost)) return;
  last = { of, at: Date.now(), cost: last.cost };
  const plan = await askJSON(`${pathOf(d)}/outlook`);
  last.cost = Date.now() - last.at;
  if (keyOf(d) === keyOf(page.route)) drawOutlook(plan);
}

function drawOutlook(plan) {
  const seconds = plan.estimate?.seconds;
  $('eta').textContent = [
    plan.waves ? `${plan.complete ? '' : 'at least '}${counted(plan.waves, 'wave')} to go` : plan.steps.length ? plan.summary : 'no further waves',
    seconds ? `done at about ${ends(seconds).toLocaleTimeString()}` : '',
  ].filter(Boolean).join(', ');
  $('eta').title = plan.estimate?.text || '';
  $('waves').replaceChildren(drawWaves(plan));
}
