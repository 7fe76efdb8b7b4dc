// What the picture shows at a step, from the steps before it. Nothing here touches the document.

const queueLists = ['waiting', 'dirty', 'processing', 'backingOff', 'delayed'];

// at collects what was true after step n: the queue, the stored and the cached objects, and what
// each box did last.
export function at(steps, n) {
  const queues = {}, cached = {}, last = {};
  let stored;
  const processes = new Set();
  for (let i = Math.min(n, steps.length - 1); i >= 0; i--) {
    const s = steps[i], p = s.process || '';
    if (s.process) processes.add(p);
    last[s.box] ??= s;
    if (s.queue && !(p in queues)) queues[p] = s.queue;
    if (s.cached && !(p in cached)) cached[p] = s.cached;
    if (s.stored && !stored) stored = s.stored;
    // A start is an empty queue and an empty cache.
    if (s.box === 'reconcile' && s.verb === 'start') {
      queues[p] ??= {};
      cached[p] ??= [];
    }
  }
  return { queue: merged(queues), stored: stored || [], cached, last, processes: [...processes].sort() };
}

// merged is one queue for all processes; with more than one, each key says whose it is.
function merged(queues) {
  const several = Object.keys(queues).length > 1;
  const all = Object.fromEntries(queueLists.map((list) => [list, []]));
  for (const p of Object.keys(queues).sort()) {
    for (const list of queueLists) all[list].push(...(queues[p][list] || []).map((key) => (several ? `${p}: ${key}` : key)));
  }
  return all;
}

const split = (entry) => {
  const i = entry.lastIndexOf(' @');
  return i < 0 ? [entry, ''] : [entry.slice(0, i), entry.slice(i + 1)];
};

// compared is a row for each object: its version at the API server and in each cache.
export function compared(stored, cached) {
  const rows = new Map();
  const row = (name) => rows.get(name) || rows.set(name, { name, stored: undefined, cached: {} }).get(name);
  for (const entry of stored) { const [name, version] = split(entry); row(name).stored = version || '✓'; }
  for (const [p, list] of Object.entries(cached)) for (const entry of list) { const [name, version] = split(entry); row(name).cached[p] = version || '✓'; }
  return [...rows.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).map((r) => ({ ...r, differs: Object.keys(cached).some((p) => r.cached[p] !== r.stored) }));
}

export { queueLists };
