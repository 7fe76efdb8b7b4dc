// The drawer: one record, or one pod.

import { askJSON } from './api.js';
import { $, el, facts, inWords, items, section } from './dom.js';
import { failed } from './session.js';
import { page } from './state.js';

function openDrawer(title, ...content) {
  $('drawer-title').textContent = title;
  $('drawer-body').replaceChildren(...content);
  if (!$('drawer').open) $('drawer').showModal();
}

export async function showRecord(id) {
  try {
    const e = await askJSON(`api/records/${encodeURIComponent(id)}`);
    const decision = e.payload?.decision || {};
    openDrawer(e.summary,
      facts([['when', new Date(e.start).toLocaleString()], ['waited in the queue', `${e.queueWaitMs.toFixed(1)} ms`], ['took', `${e.durationMs.toFixed(1)} ms`], ['ended with', e.outcome], ['error', e.error], ['record', e.id]]),
      section('1. What woke it', items('ol', e.causes)),
      section('2. What was decided', (decision.actions || []).length
        ? items('ol', decision.actions.map((a) => {
          const line = el('span', {}, `${a.verb} ${a.pod || a.revision || ''} `);
          line.append(el('span', { className: 'why', textContent: `— ${a.why.message} [${a.why.reason}, rule ${a.why.rule}]` }));
          return line;
        }))
        : el('p', { textContent: 'Nothing was to be done.' }),
      ...(decision.blocked || []).map((b) => el('p', { textContent: `Held back by ${b.by}: ${b.pod ? `${b.pod}: ` : ''}${b.message}` })),
      ...(e.payload?.undone || []).map((u) => el('p', { textContent: `${u.result}: ${u.verb} ${u.pod || ''} ${u.cause || ''} ${u.message || ''}` }))),
      section('3. What was written', (e.writes || []).length
        ? items('ol', e.writes.map((w) => `${w.verb} ${w.object.kind} ${w.object.name || ''}${w.subresource ? `/${w.subresource}` : ''}: ${w.code} in ${w.latencyMs.toFixed(1)} ms`))
        : el('p', { textContent: 'Nothing.' })));
  } catch (err) {
    failed(err);
  }
}

export async function showPod(name) {
  const pod = page.detail?.pods.find((p) => p.name === name);
  try {
    const told = await askJSON(`api/records?limit=50&pod=${encodeURIComponent(`${page.detail.namespace}/${name}`)}`);
    openDrawer(name,
      pod ? facts([['state', inWords(pod.state)], ['note', pod.note], ['revision', pod.revision], ['node', pod.node], ['zone', pod.zone], ['restarts', pod.restarts || 0], ['created', new Date(pod.created).toLocaleString()]]) : el('p', { textContent: 'The pod is gone.' }),
      section('Its story, newest first', told.items.length
        ? items('ol', told.items.map((e) => el('button', { type: 'button', textContent: `${new Date(e.start).toLocaleTimeString()}  ${e.summary}`, onclick: () => showRecord(e.id) })))
        : el('p', { textContent: 'The recorder knows nothing of it.' })));
  } catch (err) {
    failed(err);
  }
}

$('close').onclick = () => $('drawer').close();
$('drawer').addEventListener('click', (e) => e.target === $('drawer') && $('drawer').close());
