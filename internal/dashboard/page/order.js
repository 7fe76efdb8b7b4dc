// In which order fleets are shown. Pure.

import { order, wordOf } from './severity.js';

export const byName = new Intl.Collator(undefined, { numeric: true }).compare;

// rank is lower for what needs a person more.
export function rank(fleet) {
  return order.indexOf(fleet.severity || '');
}

const columns = {
  trouble: (a, b) => rank(a) - rank(b),
  name: (a, b) => byName(a.name, b.name),
  namespace: (a, b) => byName(a.namespace, b.namespace),
  kind: (a, b) => byName(a.kind, b.kind),
  ready: (a, b) => a.ready - b.ready || a.desired - b.desired,
  desired: (a, b) => a.desired - b.desired,
  updated: (a, b) => a.updated - b.updated,
  image: (a, b) => byName(a.image || '', b.image || ''),
  age: (a, b) => new Date(b.created) - new Date(a.created),
};

// ordered sorts fleets by a column: numbers as numbers, names as people count. What
// is equal is sorted by trouble, namespace and name.
export function ordered(fleets, column = 'trouble', descending = false) {
  const first = columns[column] || columns.trouble;
  const sign = descending ? -1 : 1;
  return [...fleets].sort((a, b) => sign * first(a, b) || rank(a) - rank(b) || byName(a.namespace, b.namespace) || byName(a.name, b.name) || byName(a.kind, b.kind));
}

// matches: every word of a search is in what is shown of the fleet.
export function matches(fleet, search) {
  const text = `${fleet.kind} ${fleet.namespace}/${fleet.name} ${wordOf(fleet)} ${fleet.state || ''} ${fleet.image || ''} ${fleet.reason || ''} ${fleet.message || ''} ${fleet.paused ? 'paused' : ''}`.toLowerCase();
  return search.trim().toLowerCase().split(/\s+/).every((word) => text.includes(word));
}
