// The unit tests of the page's pure modules, run by TestThePureModules in a browser.

import { matches, ordered } from './page/order.js';
import { kindOfLine, named, waves } from './page/plan.js';
import { format, parse, titleOf } from './page/route.js';
import { overdue } from './page/beat.js';
import { age, axis } from './page/time.js';

const same = (got, want) => {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  if (a !== b) throw new Error(`got ${a}, want ${b}`);
};

const fleet = (name, rest = {}) => ({ kind: 'PodManager', namespace: 'shop', name, state: 'Ready', severity: 'fine', ready: 1, desired: 1, updated: 1, created: '2026-01-01T00:00:00Z', ...rest });
const names = (list) => list.map((f) => f.name);

export const tests = {
  'an address leads to its view and back': () => {
    for (const route of [
      { resource: '', namespace: '', name: '', params: {} },
      { resource: '', namespace: '', name: '', params: { namespace: 'shop', search: 'a b&c' } },
      { resource: 'podmanagers', namespace: 'shop', name: 'web', params: { group: 'zone', pod: 'web-0' } },
      { resource: 'podmanagers', namespace: 'a/b', name: 'c?d#e', params: {} },
    ]) same(parse(format(route)), route);
  },
  'a link with nothing but a token is the overview': () => same(parse('#token=a.b'), { resource: '', namespace: '', name: '', params: { token: 'a.b' } }),
  'an address without a name is the overview': () => same(parse('#/podmanagers/shop').name, ''),
  'an address that no browser wrote is no error': () => same(parse('#/podmanagers/shop/%zz').name, '%zz'),
  'empty filters are left out of an address': () => same(format({ params: { namespace: '', search: undefined } }), '#/'),
  'the title follows the view': () => {
    same(titleOf(parse('#/')), 'fleets · pod-operator');
    same(titleOf(parse('#/?namespace=shop')), 'shop: fleets · pod-operator');
    same(titleOf(parse('#/podmanagers/shop/web'), { state: 'Stalled', severity: 'stuck' }), 'web: stuck · shop · pod-operator');
    same(titleOf(parse('#/podmanagers/shop/web?pod=web-1'), { state: '' }), 'web-1: new · shop · pod-operator');
  },
  'trouble comes first': () => same(names(ordered([
    fleet('fine'), fleet('moving', { severity: 'moving' }), fleet('stuck', { severity: 'stuck' }), fleet('new', { severity: '' }), fleet('stopped', { severity: 'held' }), fleet('short', { severity: 'short' }),
  ])), ['stuck', 'short', 'moving', 'new', 'stopped', 'fine']),
  'names are sorted as people count': () => same(names(ordered([fleet('web-10'), fleet('web-9'), fleet('web-100')], 'name')), ['web-9', 'web-10', 'web-100']),
  'numbers are sorted as numbers': () => {
    const some = [fleet('nine', { ready: 9 }), fleet('ten', { ready: 10 }), fleet('hundred', { ready: 100 })];
    same(names(ordered(some, 'ready')), ['nine', 'ten', 'hundred']);
    same(names(ordered(some, 'ready', true)), ['hundred', 'ten', 'nine']);
  },
  'the youngest is first by age': () => same(names(ordered([fleet('old'), fleet('young', { created: '2026-02-01T00:00:00Z' })], 'age')), ['young', 'old']),
  'sorting leaves its argument alone': () => {
    const some = [fleet('b'), fleet('a')];
    ordered(some, 'name');
    same(names(some), ['b', 'a']);
  },
  'a search finds every word': () => {
    const f = fleet('web', { state: 'Stalled', severity: 'stuck', image: 'nginx:1.27', reason: 'QuotaExceeded', message: 'no room' });
    same(['', 'web', 'SHOP/web', 'quota stalled', 'podmanager room', 'stuck nginx'].map((s) => matches(f, s)), [true, true, true, true, true, true]);
    same(matches(f, 'web ready'), false);
  },
  'a plan is told in waves, what is held back last': () => {
    const step = (wave, pod, what = 'in place', rest = {}) => ({ wave, pod, what, reason: what === 'held back' ? 'Paused' : 'RolloutInPlace', why: 'why', ...rest });
    const got = waves([step(2, 'web-2'), step(1, 'web-0'), step(1, 'web-1'), step(1, 'web-9', 'delete'), step(undefined, 'web-3', 'held back', { count: 4 })]);
    same(got.map((w) => w.number), [1, 2, 0]);
    same(got[0].lines.map((l) => [l.what, l.pods]), [['in place', ['web-0', 'web-1']], ['delete', ['web-9']]]);
    same(named(got[2].lines[0]), 'web-3 and 3 more');
  },
  'an answer is overdue when nothing came': () => {
    const now = 100e3;
    same(overdue({ open: true, seen: now - 4000, due: 0 }, now), 4000); // the stream beats all the time
    same(overdue({ open: false, seen: now - 60e3, due: 0 }, now), 0); // nothing was asked
    same(overdue({ open: false, seen: now - 60e3, due: now - 3000 }, now), 3000);
    same(overdue({ open: false, seen: now - 1000, due: now - 3000 }, now), 1000); // another request was answered
  },
  'a long list of pods is cut': () => {
    const pods = Array.from({ length: 10 }, (_, i) => `web-${i}`);
    same(named({ pods, count: 10 }, 3), 'web-0, web-1, web-2 and 7 more');
    same(named({ pods: [], count: 3 }), '3 pods');
  },
  'lines of a diff': () => same(['+++ a', '--- b', '@@ 1', '+x', '-x', ' x', ''].map(kindOfLine), ['place', 'place', 'place', 'added', 'removed', 'same', 'same']),
  'an age has two units': () => {
    const now = Date.parse('2026-01-02T00:00:00Z');
    const ago = (seconds) => age(now - 1000 * seconds, now);
    same([0, 59, 60, 61, 3600, 3661, 86400, 90061].map(ago), ['0s', '59s', '1m', '1m1s', '1h', '1h1m', '1d', '1d1h']);
    same(age(now + 5000, now), '0s');
    same(age(undefined, now), '');
  },
  'the axis of time fits the data': () => {
    const now = Date.parse('2026-01-02T00:00:00Z');
    const length = (times) => { const a = axis(times, now); return (a.end - a.start) / 1000; };
    same(length([]), 60);
    same(length([now - 90e3]), 90);
    same(length([now - 3600e3, now - 10e3]), 3600);
    const { marks } = axis([now - 3600e3], now);
    if (marks.length < 3 || marks.length > 7) throw new Error(`${marks.length} marks for an hour`);
    same(marks.every((t) => t % 60e3 === 0), true);
  },
};

window.results = Object.entries(tests).map(([name, run]) => {
  try {
    run();
    return { name };
  } catch (err) {
    return { name, error: String(err.message || err) };
  }
});
