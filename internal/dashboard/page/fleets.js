// The list beside a fleet.

import { $, el } from './dom.js';
import { matches, ordered } from './order.js';
import { format } from './route.js';
import { classOf, wordOf } from './severity.js';
import { keyOf, page } from './state.js';

export function drawFleets() {
  const { namespace, search = '' } = page.route.params;
  const open = keyOf(page.route);
  const focused = document.activeElement?.dataset?.fleet;
  $('fleets').replaceChildren(...ordered(page.fleets)
    .filter((f) => keyOf(f) === open || ((!namespace || f.namespace === namespace) && (!search || matches(f, search))))
    .map((f) => el('li', {}, el('a', {
      href: format({ ...f, params: { namespace, search } }), 'data-fleet': keyOf(f), 'aria-current': keyOf(f) === open, className: `fleet ${classOf(f)}`, title: f.message || '',
    },
    el('span', { textContent: f.name }),
    el('span', { className: 'numbers', textContent: numbers(f), title: f.counted || `${f.ready} of ${f.desired} ready` }),
    el('span', { className: 'space', textContent: `${f.namespace} · ${f.kind} · ${wordOf(f)}` })))));
  if (focused) document.querySelector(`[data-fleet="${CSS.escape(focused)}"]`)?.focus();
}

// A Collector keeps no pods: it has a number of those that it sees.
export const numbers = (f) => (f.counted ? String(f.live) : `${f.ready}/${f.desired}`);
