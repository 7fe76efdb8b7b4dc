// All fleets of all kinds.

import { $, el } from './dom.js';
import { numbers } from './fleets.js';
import { drawFound } from './found.js';
import { byName, matches, ordered } from './order.js';
import { format } from './route.js';
import { classOf, wordOf } from './severity.js';
import { keyOf, page } from './state.js';
import { age } from './time.js';

const columns = [
  ['name', 'Fleet'], ['namespace', 'Namespace'], ['kind', 'Kind'], ['trouble', 'State'],
  ['ready', 'Ready'], ['updated', 'Up to date'], ['image', 'Image'], ['age', 'Age'],
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
  $('hidden').textContent = page.hidden.length ? `Not shown, because you may not list them: ${page.hidden.join(', ')}.` : '';
  drawFound(search);
  $('empty').hidden = page.fleets.length > 0;
  $('none').hidden = shown.length > 0 || page.fleets.length === 0;
  if (focused) document.querySelector(`[data-row="${CSS.escape(focused)}"]`)?.focus();
}

function row(f, filters) {
  const state = [wordOf(f), f.paused && 'paused'].filter(Boolean).join(', ');
  return el('tr', { className: `row ${classOf(f)}` },
    el('th', { scope: 'row' }, el('a', { href: format({ ...f, params: filters }), textContent: f.name, 'data-row': keyOf(f) })),
    el('td', { className: 'in', textContent: f.namespace }),
    el('td', { className: 'in', textContent: f.kind }),
    el('td', {}, el('span', { className: `state ${classOf(f)}`, textContent: state, title: f.state || '' })),
    el('td', { className: 'number', textContent: numbers(f), 'data-label': f.counted ? 'pods' : 'ready' }),
    el('td', { className: 'number', textContent: f.resource === 'podmanagers' ? f.updated : '', 'data-label': 'up to date' }),
    el('td', { className: 'image', textContent: short(f.image || ''), title: f.image || '' }),
    el('td', { className: 'number', 'data-label': 'age', textContent: age(f.created), title: new Date(f.created).toLocaleString() }),
    el('td', { className: 'why', textContent: why(f) }));
}

// short is images without their registry and folder, which the title has.
const short = (images) => images.split(', ').map((image) => image.split('/').pop()).join(', ');

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
  const of = (severity) => shown.filter((f) => f.severity === severity).length;
  const words = [`${shown.length}${shown.length === all ? '' : ` of ${all}`} ${all === 1 ? 'fleet' : 'fleets'}`];
  for (const [severity, text] of [['stuck', 'stuck'], ['short', 'with too few pods'], ['moving', 'changing']]) {
    if (of(severity)) words.push(`${of(severity)} ${text}`);
  }
  return words.join(', ');
}
