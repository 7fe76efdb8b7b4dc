// All fleets of all kinds.

import { $, el } from './dom.js';
import { numbers, stateClass } from './fleets.js';
import { byName, matches, ordered } from './order.js';
import { format } from './route.js';
import { keyOf, page } from './state.js';
import { age } from './time.js';

const columns = [
  ['name', 'Fleet'], ['namespace', 'Namespace'], ['kind', 'Kind'], ['trouble', 'State'],
  ['ready', 'Ready'], ['updated', 'Up to date'], ['age', 'Age'],
];

// drawOverview shows what the filters leave. What they hide is counted.
export function drawOverview() {
  const { namespace = '', search = '', sort = 'trouble', down = '' } = page.route.params;
  const shown = ordered(page.fleets.filter((f) => (!namespace || f.namespace === namespace) && matches(f, search)), sort, Boolean(down));
  drawNamespaces(namespace);
  $('overview-text').textContent = summary(shown, page.fleets.length);
  const focused = document.activeElement?.dataset?.row;
  $('overview-head').replaceChildren(...columns.map(([key, text]) => el('th', { scope: 'col', 'aria-sort': key !== sort ? 'none' : down ? 'descending' : 'ascending' },
    el('button', { type: 'button', textContent: text, 'data-sort': key }))), el('th', { scope: 'col', textContent: 'Why' }));
  $('overview-rows').replaceChildren(...shown.map((f) => row(f, { namespace, search })));
  $('empty').hidden = page.fleets.length > 0;
  $('none').hidden = shown.length > 0 || page.fleets.length === 0;
  if (focused) document.querySelector(`[data-row="${CSS.escape(focused)}"]`)?.focus();
}

function row(f, filters) {
  const state = [f.state || 'new', f.paused && 'paused'].filter(Boolean).join(', ');
  return el('tr', { className: `row ${stateClass(f)}` },
    el('th', { scope: 'row' }, el('a', { href: format({ ...f, params: filters }), textContent: f.name, 'data-row': keyOf(f) })),
    el('td', { textContent: f.namespace }),
    el('td', { textContent: f.kind }),
    el('td', {}, el('span', { className: `state ${stateClass(f)}`, textContent: state })),
    el('td', { className: 'number', textContent: numbers(f) }),
    el('td', { className: 'number', textContent: f.resource === 'podmanagers' ? f.updated : '' }),
    el('td', { className: 'number', textContent: age(f.created), title: new Date(f.created).toLocaleString() }),
    el('td', { className: 'why', textContent: why(f) }));
}

export const why = (f) => [reasoned(f), f.counted].filter(Boolean).join('. ');

// reasoned does not say a reason twice: "Pinned to revision 3", not "Pinned: pinned to revision 3".
function reasoned({ reason, message }) {
  if (reason && message?.toLowerCase().startsWith(`${reason.toLowerCase()} `)) return reason + message.slice(reason.length);
  return [reason, message].filter(Boolean).join(': ');
}

function drawNamespaces(chosen) {
  const names = [...new Set([...page.fleets.map((f) => f.namespace), chosen])].filter(Boolean).sort(byName);
  const have = [...$('namespace').options].slice(1).map((o) => o.value);
  if (have.join() !== names.join()) {
    $('namespace').replaceChildren(el('option', { value: '', textContent: 'all' }), ...names.map((n) => el('option', { value: n, textContent: n })));
  }
  $('namespace').value = chosen;
}

// summary counts what is in trouble first.
export function summary(shown, all) {
  const stalled = shown.filter((f) => f.state === 'Stalled').length;
  const moving = shown.filter((f) => f.state === 'Reconciling').length;
  const words = [`${shown.length}${shown.length === all ? '' : ` of ${all}`} ${all === 1 ? 'fleet' : 'fleets'}`];
  if (stalled) words.push(`${stalled} stalled`);
  if (moving) words.push(`${moving} changing`);
  return words.join(', ');
}
