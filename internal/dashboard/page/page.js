// The page of the operator. It asks its own origin only, builds everything with
// textContent, and keeps the token in this tab's session storage. Each view is a
// module; this one ties them together.

import { ask, askJSON } from './api.js';
import { $ } from './dom.js';
import { showPod, showRecord } from './drawer.js';
import { drawFleet } from './fleet.js';
import { drawFleets } from './fleets.js';
import { drawGraph } from './graph.js';
import { drawPods } from './pods.js';
import { failed, problem, signOut, takeToken } from './session.js';
import { keyOf, page, pathOf } from './state.js';
import { drawStory, follow } from './story.js';

const refreshSoon = 400; // ms after a record, so that a burst is one request
const refreshLate = 5000; // ms, for what no record tells

async function signIn() {
  try {
    const { user } = await askJSON('api/whoami');
    $('who').textContent = user;
    $('leave').hidden = false;
    $('login').hidden = true;
    problem('');
    await listFleets();
    $('app').hidden = false;
  } catch (err) {
    failed(err);
  }
}

async function listFleets() {
  page.fleets = (await askJSON('api/podmanagers')).items;
  if (!page.fleets.some((f) => keyOf(f) === page.chosen)) page.chosen = page.fleets.length ? keyOf(page.fleets[0]) : '';
  drawFleets();
  $('empty').hidden = page.fleets.length > 0;
  $('fleet').hidden = !page.chosen;
  if (!page.chosen) setTimeout(() => page.token && !page.chosen && listFleets().catch(failed), refreshLate);
  else if (page.streaming !== page.chosen) choose(page.chosen);
}

function choose(key) {
  page.chosen = key;
  page.streaming = key;
  sessionStorage.setItem('chosen', key);
  page.records.clear();
  page.tiles.clear();
  page.detail = null;
  $('pods').replaceChildren();
  $('story').replaceChildren();
  $('fleet').hidden = false;
  drawFleets();
  refresh();
  follow(key, () => refreshIn(refreshSoon));
}

// A large fleet that changes all the time gets at most a fifth of the tab.
function refreshIn(ms) {
  clearTimeout(page.timer);
  page.timer = setTimeout(refresh, Math.max(ms, 4 * page.cost));
}

async function refresh() {
  if (!page.token || !page.chosen) return;
  const key = page.chosen;
  try {
    const [detail, samples, list] = await Promise.all([
      askJSON(pathOf(key)), askJSON(`${pathOf(key)}/samples`), askJSON('api/podmanagers')]);
    if (key !== page.chosen) return;
    const begin = performance.now();
    page.detail = detail;
    // The list has each fleet as its status was written; the chosen one is as its pods are now.
    page.fleets = list.items.map((f) => (keyOf(f) === key ? detail : f));
    problem('');
    drawFleets();
    drawFleet();
    // The samples are seconds old; the graph ends with what the counts say.
    drawGraph([...samples.items, { time: new Date().toISOString(), desired: detail.desired, ready: detail.ready, updated: detail.updated }]);
    page.cost = performance.now() - begin;
  } catch (err) {
    if (err.code === 404) {
      await listFleets().catch(failed);
      return;
    }
    failed(err);
  }
  refreshIn(document.hidden ? 6 * refreshLate : refreshLate);
}

// --- what people do ---

$('fleets').addEventListener('click', (e) => {
  const key = e.target.closest('[data-fleet]')?.dataset.fleet;
  if (key) choose(key);
});
$('pods').addEventListener('click', (e) => e.target.dataset.pod && showPod(e.target.dataset.pod));
$('story').addEventListener('click', (e) => {
  const id = e.target.closest('[data-record]')?.dataset.record;
  if (id) showRecord(id);
});
$('leave').onclick = signOut;
$('group').onchange = () => page.detail && drawPods();
$('quiet').onchange = drawStory;
$('search').oninput = () => {
  drawFleets();
  drawStory();
  if (page.detail) drawPods();
};
$('login').onsubmit = (e) => {
  e.preventDefault();
  page.token = $('token').value.trim();
  sessionStorage.setItem('token', page.token);
  signIn();
};
$('reconcile').onclick = async () => {
  try {
    await ask(`${pathOf(page.chosen)}/reconcile`, { method: 'POST' });
    $('say').textContent = `A reconcile of ${page.chosen} was asked for.`;
  } catch (err) {
    failed(err);
  }
};
document.addEventListener('keydown', (e) => {
  if (e.key === '/' && !/INPUT|SELECT/.test(e.target.tagName)) {
    e.preventDefault();
    $('search').focus();
  }
});
document.addEventListener('visibilitychange', () => !document.hidden && refreshIn(0));

takeToken();
if (page.token) signIn();
else signOut();
