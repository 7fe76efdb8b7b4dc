// The page: it follows the lab's stream, or replays a walk, on the same picture.

import { at, compared } from './model.js';
import { lay, onResize, show } from './picture.js';
import { aboutOf, boxes, codeOf, current, languages, nameOf, say, speak, text } from './words.js';
import { markdown } from './markdown.js';

const $ = (id) => document.getElementById(id);
const el = (tag, props = {}, ...children) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children);
  return e;
};

const gates = ['event', 'item', 'reconcile', 'write'];
const walkNumber = new URLSearchParams(location.search).get('walk');
// cursor is the step that is shown; while following, it walks towards the newest.
const page = { steps: [], first: 0, cursor: -1, follow: true, state: null, walk: null, shown: 0 };

// The token of the link goes out of the address, and stays with this origin for other tabs.
function takeToken() {
  const linked = /[#?&]token=(\w+)/.exec(location.hash);
  if (!linked) return false;
  localStorage.setItem('token', linked[1]);
  history.replaceState(null, '', location.pathname + location.search);
  return true;
}
takeToken();
window.addEventListener('hashchange', () => takeToken() && location.reload());

async function ask(path, options) {
  const response = await fetch(path, { ...options, headers: { Authorization: `Bearer ${localStorage.getItem('token') || ''}` } });
  if (response.status === 403) throw new Error(say('closed'));
  if (!response.ok) throw new Error((await response.text()).trim() || response.statusText);
  return response;
}

function problem(message) {
  $('problem').textContent = message || '';
  $('problem').hidden = !message;
}

const press = (what, which = '') => ask(`api/do/${what}?which=${encodeURIComponent(which)}`, { method: 'POST' }).then(() => problem(''), (e) => problem(e.message));

// Everything that has words, for a change of the language.
function dress() {
  for (const e of document.querySelectorAll('[data-say]')) e.textContent = say(e.dataset.say);
  document.title = say('title');
  $('language').textContent = current() === 'en' ? '中文' : 'English';
  $('steps').replaceChildren();
  page.shown = 0;
  page.buttons = '';
  lay(choose);
  drawState();
  draw();
  if (!$('map').hidden) drawMap();
}

function stepItem(step, i) {
  const item = el('li', { value: page.first + i + 1 }, el('button', { type: 'button', className: `at-${step.box}` },
    el('b', { textContent: nameOf(step.box) }), ' ', el('code', { textContent: [page.several && step.process, step.verb].filter(Boolean).join(' ') }), ' ', el('span', { textContent: text(step.text) })));
  item.dataset.step = i;
  item.addEventListener('click', () => go(i));
  return item;
}

const keptItems = 400;

// keep adds steps. A letter says whose a step is only where there are several operators.
function keep(steps) {
  page.steps.push(...steps);
  const several = page.several || new Set(page.steps.map((s) => s.process).filter(Boolean)).size > 1;
  if (several && !page.several) {
    $('steps').replaceChildren();
    page.shown = 0;
  }
  page.several = several;
  $('several').hidden = !several;
}

function draw() {
  const { steps, cursor } = page;
  const step = steps[cursor], now = at(steps, cursor);
  show(step, now, page.follow && cursor === steps.length - 1 ? page.state?.held : null);
  $('now').textContent = step ? text(step.text) : '';
  $('position').textContent = steps.length ? `${say('step')} ${page.first + cursor + 1} / ${page.first + steps.length}` : '';
  $('back').disabled = cursor <= 0;
  $('forward').disabled = cursor >= steps.length - 1;
  $('live').hidden = page.follow || Boolean(page.walk);
  // The list has what was played; a walk is there as a whole.
  const until = page.walk ? steps.length : Math.max(cursor + 1, page.shown);
  for (; page.shown < until; page.shown++) $('steps').prepend(stepItem(steps[page.shown], page.shown));
  while ($('steps').childElementCount > keptItems) $('steps').lastElementChild.remove();
  document.querySelector('#steps [aria-current]')?.removeAttribute('aria-current');
  document.querySelector(`#steps [data-step="${cursor}"]`)?.setAttribute('aria-current', 'step');
  drawCompare(now);
}

function drawCompare(now) {
  const processes = Object.keys(now.cached).sort();
  $('compare').tBodies[0].replaceChildren(...compared(now.stored, now.cached).map((row) => el('tr', { className: row.differs ? 'differs' : '' },
    el('th', { textContent: row.name }), el('td', { textContent: row.stored || '–' }),
    el('td', { textContent: processes.map((p) => `${processes.length > 1 ? `${p}: ` : ''}${row.cached[p] || '–'}`).join(' ') || '–' }))));
}

function go(i) {
  page.cursor = Math.max(0, Math.min(i, page.steps.length - 1));
  page.follow = false;
  draw();
}

// play moves the token towards the newest step, faster the further it is behind, and
// leaves steps out only when it is very far behind.
function play() {
  const behind = page.steps.length - 1 - page.cursor;
  if (page.follow && behind > 0) {
    page.cursor += still.matches ? behind : behind < 400 ? 1 : Math.floor(behind / 40);
    draw();
  }
  setTimeout(play, behind > 100 ? 10 : behind > 20 ? 30 : 110);
}
const still = window.matchMedia('(prefers-reduced-motion: reduce)');

// drawState draws what is not of a step: buttons, what is held, the count.
function drawState() {
  const s = page.state;
  $('controls').hidden = $('since-section').hidden = Boolean(page.walk);
  if (page.walk) $('status').textContent = `${say('player')}: ${text(page.walk.title)}`;
  if (!s) return;
  $('status').textContent = `${say(s.paused ? 'paused' : 'running')}${s.alive.length > 1 ? ` (${say('operators')} ${s.alive.join(', ')})` : ''}`;
  $('run').disabled = !s.paused;
  $('pause').disabled = s.paused;
  $('to-map').hidden = $('map').hidden = !s.map;
  $('terminal').hidden = !s.kubeconfig;
  $('kubeconfig').textContent = `export KUBECONFIG=${s.kubeconfig}`;
  const buttons = JSON.stringify([s.held, s.faults, s.offered, s.changes, current()]);
  if (buttons !== page.buttons) {
    page.buttons = buttons;
    $('gates').replaceChildren(...gates.map((gate) => button(`step-${gate}`, say(gate), () => press('step', gate), {
      disabled: !s.held[gate]?.length, title: s.held[gate]?.[0] || '' }, s.held[gate]?.[0])));
    $('changes').replaceChildren(...(s.changes || []).map((c) => button(`change-${c.id}`, text(c.name), () => press('change', c.id))));
    $('faults').replaceChildren(...s.offered.map((f) => {
      const on = s.faults?.includes(f) || false;
      return button(`fault-${f}`, say(f), () => press('fault', f), { ariaPressed: String(on) }, on ? say(['freeze', 'second'].includes(f) ? 'on' : 'armed') : '');
    }));
  }
  const { change, runs } = s.since;
  $('count').textContent = (runs || []).length;
  $('since').textContent = change ? text(change) : say('sinceNone');
  $('runs').replaceChildren(...(runs || []).map((r) => el('li', { value: r.number },
    el('ul', {}, ...r.why.map((w) => el('li', { textContent: text(w) }))),
    el('p', { className: 'did', textContent: `→ ${r.process && s.alive.length > 1 ? `${r.process}: ` : ''}${r.did.join('; ') || say('nothing')} · ${r.result}` }))));
}

function button(id, name, onclick, props = {}, hint = '') {
  const b = el('button', { id, type: 'button', onclick, ...props }, name);
  if (hint) b.append(el('small', { textContent: hint }));
  return b;
}

// choose explains a box.
function choose(box) {
  const code = codeOf(box, page.state?.versions);
  $('about-title').textContent = nameOf(box);
  $('about-body').replaceChildren(el('p', { textContent: aboutOf(box) }), el('dl', {},
    el('dt', { textContent: say('code') }), el('dd', {}, el('a', { href: code.href, target: '_blank', rel: 'noreferrer', textContent: code.name })),
    el('dt', { textContent: say('example') }), el('dd', {}, el('code', { textContent: boxes[box].example }), ' ', el('code', { textContent: `go run ./${boxes[box].example}` }))));
  $('about').showModal();
}

async function drawMap() {
  const list = await (await ask('api/exercises')).json();
  $('exercises').replaceChildren(...list.map((e) => {
    const result = e.result ? (e.result.passed ? 'passed' : 'failed') : 'open';
    const item = el('li', { id: `exercise-${e.number}`, className: result },
      el('button', { type: 'button', onclick: () => showExercise(e) }, el('b', { textContent: `${e.number} ${text(e.title)}` })),
      el('span', { className: 'result', textContent: say(result) + (e.result ? ` (${e.result.tries} ${say(e.result.tries === 1 ? 'try1' : 'tries')})` : '') }),
      el('p', { textContent: text(e.about) }), el('code', { textContent: e.file }), ' ', el('code', { textContent: `make lab CHECK=${e.number}` }));
    if (e.walk) item.append(' ', el('a', { href: `?walk=${e.number}`, textContent: say('replay') }));
    return item;
  }));
}

async function showExercise(e) {
  let source;
  try { source = await (await ask(`api/exercises/${e.number}?lang=${current()}`)).text(); } catch (error) { source = error.message; }
  $('about-title').textContent = `${e.number} ${text(e.title)}`;
  $('about-body').replaceChildren(...markdown(source, e.file), el('p', {}, el('code', { textContent: `make lab CHECK=${e.number}` })));
  $('about').showModal();
}

function take({ first, steps, state }) {
  // What was before the page was opened is not played again.
  const opened = page.steps.length === 0 && steps.length > 0;
  if (opened) page.first = first;
  keep(steps);
  if (opened) page.cursor = page.steps.length - 1;
  page.state = state;
  problem('');
  drawState();
  if (opened || steps.length === 0) draw();
}

// An EventSource could not send the token.
async function follow() {
  let why = say('lost');
  try {
    const { body } = await ask(`api/stream?from=${page.first + page.steps.length}`).catch((e) => {
      if (!(e instanceof TypeError)) why = e.message; // it has answered
      throw e;
    });
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = '', part = await reader.read(); !part.done; part = await reader.read()) {
      const events = (rest + part.value).split('\n\n');
      rest = events.pop();
      for (const event of events) take(JSON.parse(event.slice('data: '.length)));
    }
  } catch { /* the end is the same */ }
  problem(why);
  setTimeout(follow, 1000);
}

async function replay() {
  try {
    page.walk = await (await ask(`api/walks/${encodeURIComponent(walkNumber)}`)).json();
  } catch (e) {
    problem(e.message);
    return;
  }
  keep(page.walk.steps);
  page.follow = false;
  page.cursor = 0;
  drawViolation();
}

function drawViolation() {
  $('violation').hidden = !page.walk?.violation;
  $('violation-text').textContent = text(page.walk?.violation);
}

$('run').onclick = () => press('run');
$('pause').onclick = () => press('pause');
$('back').onclick = () => go(page.cursor - 1);
$('forward').onclick = () => go(page.cursor + 1);
$('live').onclick = () => { page.follow = true; page.cursor = page.steps.length - 1; draw(); };
$('close').onclick = () => $('about').close();
$('language').onclick = () => { speak(languages.find((l) => l !== current())); dress(); drawViolation(); };
document.addEventListener('keydown', (e) => {
  if (e.target.closest('input, dialog')) return;
  if (e.key === 'ArrowLeft') go(page.cursor - 1);
  if (e.key === 'ArrowRight') go(page.cursor + 1);
});
onResize(dress);

speak();
if (walkNumber) await replay();
dress();
if (!walkNumber) { follow(); play(); drawMap().catch(() => {}); }
