// The page of the operator. It asks its own origin only, builds everything with
// textContent, and keeps the token in this tab's session storage. Each view is a
// module; this one ties them together.

import { fetchRights } from './actions.js';
import { ask, askJSON } from './api.js';
import { $, say } from './dom.js';
import { closeDrawer, showPod, showRecord } from './drawer.js';
import './live.js';
import { drawFleet } from './fleet.js';
import { drawFleets } from './fleets.js';
import { drawGraph } from './graph.js';
import { fetchOutlook } from './outlook.js';
import { drawOverview } from './overview.js';
import { drawPods } from './pods.js';
import { fetchRevisions } from './revisions.js';
import { format, parse, titleOf } from './route.js';
import { answered, failed, keepToken, signOut, takeToken } from './session.js';
import { keyOf, page, pathOf, recorded } from './state.js';
import { doneAt, drawStory, follow } from './story.js';

const refreshSoon = 400; // ms after a record, so that a burst is one request
const refreshLate = 5000; // ms, for what no record tells
const refreshSeconds = 1000; // ms, while tiles count seconds
const answerBy = 30e3; // ms, then a request is given up
const rightsAgain = 60e3; // ms between two looks at the viewer's rights

async function signIn() {
  try {
    const { user } = await askJSON('api/whoami');
    $('who').textContent = user;
    $('leave').hidden = false;
    $('login').hidden = true;
    answered();
    await arrive();
  } catch (err) {
    failed(err);
  }
}

// --- where the page is ---

// arrive shows the view of the address.
async function arrive() {
  page.route = parse(location.hash);
  if ($('search').value.trim() !== (page.route.params.search || '')) $('search').value = page.route.params.search || '';
  $('group').value = page.route.params.group || 'revision';
  const key = page.route.name ? keyOf(page.route) : '';
  if (page.streaming !== key) leave();
  if (key && page.streaming !== key) say('', 'bad');
  $('overview').hidden = Boolean(key);
  $('fleet').hidden = !key;
  $('list').hidden = !key;
  if (window.matchMedia('(max-width: 50rem)').matches) $('list').open = false;
  if (key && page.streaming !== key && recorded[page.route.resource]) follow(page.route, () => refreshIn(refreshSoon));
  page.streaming = key;
  draw();
  if (key && !page.rights) await fetchRights();
  const known = Boolean(page.detail);
  if (known) drawDrawer();
  await refresh();
  if (!known) drawDrawer();
}

// drawDrawer shows the pod of the address.
function drawDrawer() {
  const { pod, tab } = page.route.params;
  if (!pod || !page.detail) closeDrawer();
  else showPod(pod, tab, (chosen) => go({ tab: chosen === 'now' ? '' : chosen }));
}

// go leads to another view of the same fleet.
const go = (params) => { location.hash = format({ ...page.route, params: { ...page.route.params, ...params } }); };

// leave forgets what was shown of a fleet.
function leave() {
  page.stream?.abort();
  page.records.clear();
  page.tiles.clear();
  page.detail = null;
  page.rights = null;
  closeDrawer();
  page.open = false;
  $('live').textContent = '';
  $('live').classList.remove('on');
  $('pods').replaceChildren();
  $('story').replaceChildren();
}

// adjust changes the filters of a view. It is the same view, so that the way back
// does not lead through every letter of a search.
function adjust(params) {
  page.route = { ...page.route, params: { ...page.route.params, ...params } };
  history.replaceState(null, '', format(page.route));
  draw();
}

function draw() {
  document.title = titleOf(page.route, page.detail);
  if (!page.route.name) {
    drawOverview();
    return;
  }
  drawFleets();
  drawStory();
  if (page.detail) drawPods();
}

// --- what is new ---

// A large fleet that changes all the time gets at most a fifth of the tab.
function refreshIn(ms) {
  clearTimeout(page.timer);
  page.timer = setTimeout(refresh, Math.max(ms, 4 * page.cost));
}

async function refresh() {
  if (!page.token) return;
  clearTimeout(page.timer);
  const at = page.route;
  page.due = Date.now();
  try {
    await (at.name ? refreshFleet(at) : refreshOverview());
    if (keyOf(at) !== keyOf(page.route)) return;
    $('app').hidden = false;
    answered();
    document.title = titleOf(page.route, page.detail);
  } catch (err) {
    if (err.code === 404 && keyOf(at) === keyOf(page.route)) {
      say(`${err.message} Here are all others.`, 'bad');
      location.hash = format({ params: { namespace: page.route.params.namespace } });
      return;
    }
    failed(err);
  } finally {
    page.due = 0;
  }
  const counting = page.detail?.pods.some((p) => p.state === 'not-yet-available');
  if (page.token) refreshIn(document.hidden ? 6 * refreshLate : counting ? refreshSeconds : refreshLate);
}

async function refreshOverview() {
  const { items, hidden } = await askJSON('api/fleets', { signal: AbortSignal.timeout(answerBy) });
  Object.assign(page, { fleets: items, hidden: hidden || [] });
  drawOverview();
}

async function refreshFleet(at) {
  const [detail, samples, list] = await Promise.all([
    askJSON(pathOf(at), { signal: AbortSignal.timeout(answerBy) }),
    at.resource === 'podmanagers' ? askJSON(`api/podmanagers/${encodeURIComponent(at.namespace)}/${encodeURIComponent(at.name)}/samples`) : { items: [] },
    // A person may see one fleet and not be allowed to list them.
    askJSON('api/fleets').catch((err) => (err.code === 403 ? { items: [] } : Promise.reject(err))),
  ]);
  page.due = 0;
  if (keyOf(at) !== keyOf(page.route)) return;
  const begin = performance.now();
  page.detail = detail;
  // The list has each fleet as its status was written; the open one is as its pods are now.
  page.fleets = list.items.map((f) => (keyOf(f) === keyOf(at) ? detail : f));
  drawFleets();
  drawFleet();
  // The samples are seconds old; the graph ends with what the counts say.
  drawGraph([...samples.items, { time: new Date().toISOString(), desired: detail.desired, ready: detail.ready, updated: detail.updated }], doneAt());
  page.cost = performance.now() - begin;
  if (recorded[at.resource]) await Promise.all([fetchRevisions().catch(minor), fetchOutlook().catch(minor)]);
}

// What is beside the fleet may fail without it.
const minor = (err) => { if (err.code === 401) failed(err); };

// --- what people do ---

window.addEventListener('hashchange', () => begin(arrive));
$('skip').onclick = (e) => {
  e.preventDefault(); // an address is a view
  $('main').focus();
};
$('pods').addEventListener('click', (e) => {
  const pod = e.target.closest('[data-pod]')?.dataset.pod;
  if (pod) go({ pod, tab: '' });
});
$('drawer').addEventListener('close', () => page.route.params.pod && go({ pod: '', tab: '' }));
document.addEventListener('acted', () => refreshIn(0));
setInterval(() => page.route.name && page.detail && !document.hidden && fetchRights(), rightsAgain);
$('story').addEventListener('click', (e) => {
  const id = e.target.closest('[data-record]')?.dataset.record;
  if (id) showRecord(id);
});
$('overview-head').addEventListener('click', (e) => {
  const key = e.target.dataset.sort;
  if (!key) return;
  const { sort = 'trouble', down } = page.route.params;
  adjust({ sort: key === 'trouble' ? '' : key, down: key === sort && !down ? 'yes' : '' });
  document.querySelector(`[data-sort="${key}"]`)?.focus();
});
$('namespace').onchange = () => adjust({ namespace: $('namespace').value });
$('leave').onclick = signOut;
$('group').onchange = () => adjust({ group: $('group').value === 'revision' ? '' : $('group').value });
$('quiet').onchange = drawStory;
$('search').oninput = () => adjust({ search: $('search').value.trim() });
$('login').onsubmit = (e) => {
  e.preventDefault();
  keepToken($('token').value.trim());
  signIn();
};
$('reconcile').onclick = async () => {
  const { namespace, name } = page.route;
  try {
    await ask(`api/podmanagers/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/reconcile`, { method: 'POST' });
    say(`A reconcile of ${namespace}/${name} was asked for. What it does appears below.`);
  } catch (err) {
    failed(err);
  }
};
document.addEventListener('keydown', (e) => {
  if (e.key === '/' && !/INPUT|SELECT|TEXTAREA/.test(e.target.tagName)) {
    e.preventDefault();
    $('search').focus();
  }
});
document.addEventListener('visibilitychange', () => !document.hidden && refreshIn(0));

// begin goes on as the person of the address, or as the one who is there.
async function begin(next) {
  if (await takeToken()) {
    leave();
    page.streaming = '';
    page.fleets = [];
    $('app').hidden = true;
    await signIn();
  } else if (page.token) await next();
  else if ($('login').hidden) signOut();
}

begin(signIn);
