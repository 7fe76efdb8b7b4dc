// The list of fleets.

import { $, el } from './dom.js';
import { keyOf, page } from './state.js';

export function drawFleets() {
  const wanted = $('search').value.trim().toLowerCase();
  const focused = document.activeElement?.dataset?.fleet;
  $('fleets').replaceChildren(...page.fleets
    .filter((f) => !wanted || keyOf(f).toLowerCase().includes(wanted) || keyOf(f) === page.chosen)
    .map((f) => el('li', {}, el('button', { type: 'button', 'data-fleet': keyOf(f), 'aria-current': keyOf(f) === page.chosen },
      el('span', { textContent: f.name }),
      el('span', { className: 'numbers', textContent: `${f.ready}/${f.desired}`, title: `${f.ready} of ${f.desired} ready` }),
      el('span', { className: 'space', textContent: `${f.namespace} · ${f.state || 'new'}` })))));
  if (focused) document.querySelector(`[data-fleet="${CSS.escape(focused)}"]`)?.focus();
}
