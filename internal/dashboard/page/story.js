// The records of a fleet as they come.

import { ask, readStream } from './api.js';
import { $, el } from './dom.js';
import { streams } from './live.js';
import { failed } from './session.js';
import { page, recorded } from './state.js';

const keptRecords = 300;

// follow reads the records of a fleet until another is followed. came is called after each.
export async function follow(fleet, came) {
  page.stream?.abort();
  const stop = new AbortController();
  page.stream = stop;
  let pause = 500;
  while (!stop.signal.aborted && page.token) {
    const attempt = new AbortController();
    page.attempt = attempt;
    try {
      const response = await ask(`api/records/stream?limit=100&kind=${recorded[fleet.resource]}&object=${encodeURIComponent(`${fleet.namespace}/${fleet.name}`)}`, { signal: AbortSignal.any([stop.signal, attempt.signal]) });
      streams(true);
      pause = 500;
      await readStream(response.body, (entry) => {
        if (!stop.signal.aborted && take(entry)) came();
      });
    } catch (err) {
      if (stop.signal.aborted) return;
      if (err.code === 401 || err.code === 403) {
        streams(false);
        failed(err);
        return;
      }
    }
    if (stop.signal.aborted) return; // another stream is open
    streams(false);
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, 15000);
  }
}

// take reports whether the record is new.
function take(entry) {
  if (page.records.has(entry.id)) return false;
  page.records.set(entry.id, entry);
  if (page.records.size > keptRecords) page.records.delete(page.records.keys().next().value);
  if (!page.drawing) {
    page.drawing = requestAnimationFrame(() => {
      page.drawing = 0;
      drawStory();
    });
  }
  return true;
}

// acted: it did something, failed, or a person asked for it.
export const acted = (e) => Boolean(e.error || e.payload?.decision?.actions?.length || e.payload?.undone?.length || e.triggers.some((t) => t.kind === 'Manual'));

// because says why something was done, by the rules; what triggered the reconcile is in
// the drawer, and here only where nothing was done.
function because({ payload, causes }) {
  const rules = [...new Set((payload?.decision?.actions || []).map((a) => a.why.message))];
  const said = rules.length ? rules : causes;
  if (!said.length) return 'no cause is recorded';
  return `because ${said[0]}${said.length > 1 ? ` (and ${said.length - 1} more)` : ''}`;
}

// before is what the object's own history has from the time before the records.
function before(history, wanted) {
  const first = Math.min(Infinity, ...[...page.records.values()].map((e) => +new Date(e.start)));
  // A line of the history is written after its reconcile.
  return history.filter((h) => new Date(h.time) < first - 1000 && (!wanted || h.text.toLowerCase().includes(wanted)))
    .sort((a, b) => new Date(b.time) - new Date(a.time))
    .map((h) => el('li', { className: 'earlier' }, el('time', { dateTime: h.time, textContent: new Date(h.time).toLocaleString() }), ` ${h.text}`));
}

// doneAt are the times at which something was done.
export const doneAt = () => [...page.records.values()].filter(acted).map((e) => e.start);

export function drawStory() {
  const wanted = (page.route.params.search || '').trim().toLowerCase();
  const focused = document.activeElement?.dataset?.record;
  const lines = [...page.records.values()].reverse()
    .filter((e) => !$('quiet').checked || acted(e))
    .filter((e) => !wanted || `${e.summary} ${e.causes.join(' ')} ${e.object.name}`.toLowerCase().includes(wanted))
    .slice(0, 100)
    .map((e) => {
      const line = el('button', { type: 'button', className: e.error ? 'bad' : '' },
        el('time', { dateTime: e.start, textContent: new Date(e.start).toLocaleTimeString() }),
        el('span', { textContent: e.summary }),
        el('span', { className: 'cause', textContent: because(e) }));
      line.dataset.record = e.id;
      return el('li', {}, line);
    });
  lines.push(...before(page.detail?.history || [], wanted));
  $('story').replaceChildren(...lines);
  if (focused) document.querySelector(`[data-record="${CSS.escape(focused)}"]`)?.focus();
}
