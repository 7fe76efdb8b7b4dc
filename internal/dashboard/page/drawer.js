// The drawer: one record, or one pod with its conditions, events, logs and YAML. What
// is in a pod comes from the API server, with the viewer's rights.

import { may, openAction, sees } from './actions.js';
import { ask, askJSON } from './api.js';
import { $, el, facts, inWords, items, section } from './dom.js';
import { failed } from './session.js';
import { page } from './state.js';
import { acted } from './story.js';
import { age } from './time.js';

function openDrawer(title, ...content) {
  $('drawer-title').textContent = title;
  $('drawer-body').replaceChildren(...content);
  if (!$('drawer').open) $('drawer').showModal();
}

export const closeDrawer = () => $('drawer').open && $('drawer').close();

const none = (text) => el('p', { className: 'message', textContent: text });

// --- a record ---

export async function showRecord(id) {
  try {
    const e = await askJSON(`api/records/${encodeURIComponent(id)}`);
    openDrawer(e.summary, ...recordParts(e));
  } catch (err) {
    failed(err);
  }
}

function recordParts(e) {
  const decision = e.payload?.decision || {};
  return [
    facts([['when', new Date(e.start).toLocaleString()], ['waited in the queue', `${e.queueWaitMs.toFixed(1)} ms`], ['took', `${e.durationMs.toFixed(1)} ms`], ['ended with', e.outcome], ['error', e.error], ['record', e.id]]),
    section('1. What woke it', items('ol', e.causes)),
    section('2. What was decided', (decision.actions || []).length ? items('ol', decision.actions.map(decided)) : none('No action needed.'),
      ...(decision.blocked || []).map((b) => el('p', { textContent: `Held back by ${b.by}: ${b.pod ? `${b.pod}: ` : ''}${b.message}` })),
      ...(e.payload?.undone || []).map((u) => el('p', { textContent: `${u.result}: ${u.verb} ${u.pod || ''} ${u.cause || ''} ${u.message || ''}` }))),
    section('3. What was written', (e.writes || []).length ? items('ol', e.writes.map(written)) : none('Nothing.')),
  ];
}

const decided = (a) => el('span', {}, `${a.verb} ${a.pod || a.revision || ''} `, el('span', { className: 'why', textContent: `— ${a.why.message} [${a.why.reason}, rule ${a.why.rule}]` }));
const written = (w) => `${w.verb} ${w.object.kind} ${w.object.name || ''}${w.subresource ? `/${w.subresource}` : ''}: ${w.code} in ${w.latencyMs.toFixed(1)} ms`;

// --- a pod ---

// tabs are the parts of a pod, in order. sight is the right that a part needs.
const tabs = {
  now: { text: 'Now', draw: drawNow },
  events: { text: 'Events', sight: 'events', draw: drawEvents },
  logs: { text: 'Logs', sight: 'logs', living: true, draw: drawLogs },
  yaml: { text: 'YAML', sight: 'yaml', living: true, draw: drawYAML },
};

const podPath = (name) => `api/pods/${encodeURIComponent(page.detail.namespace)}/${encodeURIComponent(name)}`;

// showPod opens a pod at a tab. change is called when the viewer chooses another.
export async function showPod(name, chosen = 'now', change = () => {}) {
  const there = page.detail.pods.some((p) => p.name === name);
  // Of a pod that is gone there are no logs and no YAML, and it cannot be deleted.
  const offered = Object.entries(tabs).filter(([, tab]) => (!tab.sight || sees(tab.sight)) && (there || !tab.living));
  const [key, tab] = offered.find(([k]) => k === chosen) || offered[0];
  const body = el('div', { id: 'tab', role: 'tabpanel', tabIndex: 0, 'aria-label': tab.text });
  openDrawer(name,
    el('div', { className: 'tabs', role: 'tablist' }, ...offered.map(([k, t]) => el('button', {
      type: 'button', role: 'tab', textContent: t.text, 'aria-selected': String(k === key), 'data-tab': k, onclick: () => change(k),
    }))), body);
  if (there && may('delete-pod')) body.before(el('button', { type: 'button', className: 'danger', id: 'delete-pod', textContent: 'Delete this pod…', onclick: () => openAction('delete-pod', name) }));
  try {
    await tab.draw(body, name);
  } catch (err) {
    if (err.code === 401) failed(err);
    else body.replaceChildren(el('p', { className: 'problem', textContent: err.message }));
  }
}

async function drawNow(body, name) {
  const pod = page.detail.pods.find((p) => p.name === name);
  body.append(pod
    ? facts([['state', inWords(pod.state)], ['why', pod.note === inWords(pod.state) ? '' : pod.note], ['revision', pod.revision], ['node', pod.node], ['zone', pod.zone], ['restarts', pod.restarts || 0], ['age', `${age(pod.created)}, since ${new Date(pod.created).toLocaleString()}`]])
    : none(`There is no pod ${name} in this fleet now.`));
  const query = `api/records?limit=50&kind=${encodeURIComponent(page.detail.kind)}&pod=${encodeURIComponent(`${page.detail.namespace}/${name}`)}`;
  const [told, inside] = await Promise.all([
    // One may see a fleet and not the records of its whole namespace.
    askJSON(query).catch((err) => (err.code === 403 ? { items: [] } : Promise.reject(err))),
    pod && sees('yaml') ? askJSON(podPath(name)).catch((err) => (err.code === 404 ? null : Promise.reject(err))) : null,
  ]);
  if (inside) body.append(section('Conditions', conditions(inside.conditions)));
  const story = told.items.filter(acted);
  body.append(section('Its story, newest first', story.length
    ? items('ol', story.map((e) => el('button', { type: 'button', className: 'told', textContent: `${new Date(e.start).toLocaleTimeString()}  ${e.summary}`, onclick: () => showRecord(e.id) })))
    : none('No record is about it.')));
}

function conditions(list) {
  return list.length
    ? el('ul', {}, ...list.map((c) => el('li', {}, el('strong', { textContent: `${c.type} ${c.status}` }),
      ` ${[c.reason, c.message].filter(Boolean).join(': ')} `, el('span', { className: 'why', textContent: c.lastTransitionTime ? `for ${age(c.lastTransitionTime)}` : '' }))))
    : none('None yet.');
}

async function drawEvents(body, name) {
  const { items: list } = await askJSON(`${podPath(name)}/events`);
  body.append(list.length
    ? el('ol', { className: 'events' }, ...list.map((e) => el('li', { className: e.type === 'Warning' ? 'bad' : '' },
      el('time', { dateTime: e.time, textContent: `${age(e.time)} ago` }), ` ${e.reason}${e.count > 1 ? ` ×${e.count}` : ''}: ${e.message}`)))
    : none('The API server has no events of it.'));
}

async function drawLogs(body, name) {
  const { containers } = sees('yaml') ? await askJSON(podPath(name)) : { containers: page.detail.images.map((i) => i.container) };
  const container = el('select', { id: 'container' }, ...containers.map((c) => el('option', { value: c, textContent: c })));
  const previous = el('input', { type: 'checkbox', id: 'previous' });
  const log = el('pre', { id: 'log', className: 'log', tabIndex: 0 });
  const read = async () => {
    log.textContent = '';
    try {
      const query = new URLSearchParams({ container: container.value, previous: String(previous.checked) });
      log.textContent = await (await ask(`${podPath(name)}/log?${query}`)).text() || 'The log is empty.';
      log.scrollTop = log.scrollHeight;
    } catch (err) {
      log.textContent = err.message;
    }
  };
  container.onchange = read;
  previous.onchange = read;
  body.append(el('div', { className: 'bar' }, el('label', {}, 'Container ', container), el('label', {}, previous, ' before its last restart'),
    el('button', { type: 'button', textContent: 'Read again', onclick: read })), log);
  await read();
}

async function drawYAML(body, name) {
  const { yaml } = await askJSON(podPath(name));
  body.append(el('pre', { id: 'yaml', className: 'log', tabIndex: 0, textContent: yaml }));
}

$('close').onclick = closeDrawer;
$('drawer').addEventListener('click', (e) => e.target === $('drawer') && closeDrawer());
