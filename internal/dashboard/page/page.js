// The page of the operator. It asks its own origin only, builds everything with
// textContent, and keeps the token in this tab's session storage.

const $ = (id) => document.getElementById(id);
const states = ['ready', 'not-yet-available', 'starting', 'changing', 'waiting', 'failed', 'lost', 'terminating'];
const manyPods = 400; // past this many, tiles are small
const keptRecords = 300;
const listedHolds = 20;
const refreshSoon = 400; // ms after a record, so that a burst is one request
const refreshLate = 5000; // ms, for what no record tells
const refreshSeconds = 1000; // ms, while tiles count seconds

const page = {
  token: sessionStorage.getItem('token') || '',
  fleets: [],
  chosen: sessionStorage.getItem('chosen') || '', // namespace/name
  detail: null,
  records: new Map(), // by id
  tiles: new Map(), // by pod name
  stream: null,
  streaming: '', // whose records come in
  timer: 0,
  cost: 0, // ms that the last refresh took of this tab
  drawing: 0,
};

const byName = new Intl.Collator(undefined, { numeric: true }).compare;

// el makes an element. Text is always text, never markup.
function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key in e && key !== 'list') e[key] = value;
    else e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function ask(path, options = {}) {
  const response = await fetch(path, { ...options, headers: { Authorization: `Bearer ${page.token}` }, credentials: 'omit' });
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new Refused(response.status, body.message || response.statusText);
}

const askJSON = async (path, options) => (await ask(path, options)).json();

function problem(text) {
  $('problem').textContent = text;
  $('problem').hidden = !text;
}

function failed(err) {
  if (err.name === 'AbortError') return;
  if (err.code === 401) {
    signOut();
    problem(err.message);
    return;
  }
  problem(err.code ? err.message : `The operator does not answer: ${err.message}`);
}

// --- who is there ---

function takeToken() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (!fragment.has('token')) return;
  page.token = fragment.get('token');
  sessionStorage.setItem('token', page.token);
  // The token shall not stay in the address bar or the history.
  history.replaceState(null, '', location.pathname + location.search);
}

function signOut() {
  page.stream?.abort();
  page.streaming = '';
  clearTimeout(page.timer);
  page.token = '';
  sessionStorage.removeItem('token');
  $('app').hidden = true;
  $('leave').hidden = true;
  $('who').textContent = '';
  $('login').hidden = false;
  $('token').value = '';
  $('token').focus();
}

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

// --- the fleets ---

const keyOf = (f) => `${f.namespace}/${f.name}`;
const pathOf = (key) => `api/podmanagers/${key.split('/').map(encodeURIComponent).join('/')}`;

async function listFleets() {
  page.fleets = (await askJSON('api/podmanagers')).items;
  if (!page.fleets.some((f) => keyOf(f) === page.chosen)) page.chosen = page.fleets.length ? keyOf(page.fleets[0]) : '';
  drawFleets();
  $('empty').hidden = page.fleets.length > 0;
  $('fleet').hidden = !page.chosen;
  if (!page.chosen) setTimeout(() => page.token && !page.chosen && listFleets().catch(failed), refreshLate);
  else if (page.streaming !== page.chosen) choose(page.chosen);
}

function drawFleets() {
  const wanted = $('search').value.trim().toLowerCase();
  const focused = document.activeElement?.dataset?.fleet;
  $('fleets').replaceChildren(...page.fleets
    .filter((f) => !wanted || keyOf(f).toLowerCase().includes(wanted) || keyOf(f) === page.chosen)
    .map((f) => el('li', {}, el('button', { type: 'button', 'data-fleet': keyOf(f), 'aria-current': keyOf(f) === page.chosen, title: f.message || '', onclick: () => choose(keyOf(f)) },
      el('span', { textContent: f.name }),
      el('span', { className: 'numbers', textContent: `${f.ready}/${f.desired}`, title: `${f.ready} of ${f.desired} ready` }),
      el('span', { className: 'space', textContent: `${f.namespace} · ${f.state || 'new'}` })))));
  if (focused) document.querySelector(`[data-fleet="${CSS.escape(focused)}"]`)?.focus();
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
  follow(key);
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
  const counting = page.detail?.pods.some((p) => p.state === 'not-yet-available');
  refreshIn(document.hidden ? 6 * refreshLate : counting ? refreshSeconds : refreshLate);
}

function drawFleet() {
  const d = page.detail;
  $('fleet-name').textContent = keyOf(d);
  $('fleet-state').textContent = [d.state || 'new', d.paused && 'paused', d.pinned && d.state !== 'Pinned' && 'pinned'].filter(Boolean).join(', ');
  $('fleet-state').className = `state ${d.state || ''}`;
  $('fleet-message').textContent = [d.reason, d.message].filter(Boolean).join(': ');
  $('reconcile').disabled = !d.mayReconcile;
  $('reconcile').title = d.mayReconcile ? '' : 'You may not update this PodManager.';
  const counts = { desired: d.desired, live: d.live, ready: d.ready, available: d.available, 'up to date': d.updated, terminating: d.terminating };
  $('counts').replaceChildren(...Object.entries(counts).map(([name, n]) => el('div', {}, el('dt', { textContent: name }), el('dd', { textContent: n, 'data-count': name }))));
  $('rollout').hidden = !d.progress;
  if (d.progress) {
    const { done, total, revision } = d.progress;
    Object.assign($('progress'), { max: Math.max(1, total), value: done });
    $('progress-label').textContent = revision ? 'Rollout' : 'Restart';
    $('progress-text').textContent = revision ? `${done} of ${total} on ${revision}` : `${done} of ${total} restarted`;
  }
  $('held').hidden = d.held.length === 0;
  const held = d.held.slice(0, listedHolds).map((h) => el('li', {},
    `${h.what || 'everything'} is held back by ${h.by}: ${h.why}${h.until ? ` (ends in ${h.until})` : ''}`,
    ...(h.advice ? [el('span', { className: 'advice', textContent: `to do: ${h.advice}` })] : [])));
  if (d.held.length > listedHolds) held.push(el('li', { textContent: `${d.held.length - listedHolds} further actions are held back` }));
  $('blocked').replaceChildren(...held);
  drawPods();
}

// --- the tiles ---

// drawPods changes only what changed: 5,000 tiles are cheap to keep, and dear
// to make anew twice a second.
function drawPods() {
  const d = page.detail;
  const by = $('group').value;
  const wanted = $('search').value.trim().toLowerCase();
  const numbers = new Map(d.revisions.map((r) => [r.name, r.number]));
  const groups = new Map();
  for (const pod of d.pods) {
    const key = pod[by] || (by === 'zone' ? 'no zone' : by === 'node' ? 'not scheduled' : 'no revision');
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(pod);
  }
  const order = [...groups.keys()].sort((a, b) => (by === 'revision' ? (numbers.get(b) || 0) - (numbers.get(a) || 0) : 0) || a.localeCompare(b));
  const box = $('pods');
  box.classList.toggle('many', d.pods.length > manyPods);
  const have = new Map([...box.children].map((g) => [g.dataset.group, g]));
  const wantedTiles = new Set(d.pods.map((p) => p.name));
  for (const [name, tile] of page.tiles) {
    if (!wantedTiles.has(name)) {
      tile.remove();
      page.tiles.delete(name);
    }
  }
  for (const [key, group] of have) if (!groups.has(key)) group.remove();
  order.forEach((key, at) => {
    let group = have.get(key);
    if (!group || !group.isConnected) {
      const tiles = el('div', { className: 'tiles', role: 'listbox' });
      group = el('div', { className: 'group' }, el('h4'), tiles);
      group.dataset.group = key;
    }
    if (box.children[at] !== group) box.insertBefore(group, box.children[at] || null);
    const pods = groups.get(key).sort((a, b) => byName(a.name, b.name));
    const label = by === 'revision' && numbers.has(key) ? `revision ${numbers.get(key)} · ${key}` : key;
    const role = by !== 'revision' ? '' : key === d.updateRevision ? ' (wanted)' : ' (old)';
    group.firstChild.textContent = `${label}${role} · ${pods.length}`;
    group.lastChild.setAttribute('aria-label', `${label}: ${pods.length} pods, ${pods.filter((p) => p.state === 'ready').length} ready`);
    // A cursor and not an index: children[i] is counted anew after every insert.
    let cursor = group.lastChild.firstChild;
    for (const pod of pods) cursor = placeTile(group.lastChild, pod, cursor, wanted);
  });
  const reachable = box.querySelector('.tile[tabindex="0"]') || box.querySelector('.tile');
  if (reachable) reachable.tabIndex = 0;
  drawLegend();
}

// placeTile puts a pod's tile before the cursor and returns the next cursor. It
// touches a tile only where the pod looks other than before.
function placeTile(box, pod, cursor, wanted) {
  let tile = page.tiles.get(pod.name);
  if (!tile) {
    tile = el('button', { type: 'button', tabIndex: -1, role: 'option' });
    tile.dataset.pod = pod.name;
    page.tiles.set(pod.name, tile);
  }
  const old = pod.revision && pod.revision !== page.detail.updateRevision;
  const text = `${pod.name}: ${pod.note || pod.state}${old ? ', old revision' : ''}${pod.node ? `, on ${pod.node}` : ''}`;
  const off = wanted && !text.toLowerCase().includes(wanted) && !page.detail.name.toLowerCase().includes(wanted);
  const name = `tile ${pod.state}${old ? ' old' : ''}${off ? ' off' : ''}`;
  if (tile.className !== name) tile.className = name;
  if (tile.title !== text) {
    tile.title = text;
    tile.setAttribute('aria-label', text);
  }
  if (cursor === tile) return tile.nextSibling;
  box.insertBefore(tile, cursor);
  return cursor;
}

const inWords = (state) => (state === 'not-yet-available' ? 'ready, not yet available' : state);

function drawLegend() {
  const n = {};
  for (const pod of page.detail.pods) n[pod.state] = (n[pod.state] || 0) + 1;
  $('legend').replaceChildren(...states.filter((s) => n[s]).map((s) => el('li', {}, el('i', { className: s }), `${inWords(s)} ${n[s]}`)));
}

// rowLength counts the tiles beside one, not all there are.
function rowLength(tile) {
  const top = tile.offsetTop;
  let n = 1;
  for (let t = tile.previousSibling; t && t.offsetTop === top; t = t.previousSibling) n++;
  for (let t = tile.nextSibling; t && t.offsetTop === top; t = t.nextSibling) n++;
  return n;
}

// One tab stop for all tiles; the arrows move between them.
$('pods').addEventListener('keydown', (e) => {
  if (!e.target.classList.contains('tile')) return;
  const tiles = [...$('pods').querySelectorAll('.tile')];
  const at = tiles.indexOf(e.target);
  const row = e.key === 'ArrowUp' || e.key === 'ArrowDown' ? rowLength(e.target) : 0;
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: row, ArrowUp: -row, Home: -at, End: tiles.length - 1 - at }[e.key];
  if (step === undefined) return;
  e.preventDefault();
  const next = tiles[Math.min(tiles.length - 1, Math.max(0, at + step))];
  tiles[at].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
$('pods').addEventListener('click', (e) => e.target.dataset.pod && showPod(e.target.dataset.pod));

// --- the graph ---

function drawGraph(samples) {
  const canvas = $('graph');
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const g = canvas.getContext('2d');
  g.scale(scale, scale);
  const style = getComputedStyle(document.documentElement);
  // light-dark() is resolved where it is used as a colour, so ask an element for it.
  const colour = (key) => getComputedStyle(document.querySelector(`.key.${key}`)).color;
  const end = Date.now();
  const start = end - 3600e3;
  const top = Math.max(1, ...samples.map((s) => Math.max(s.desired, s.ready, s.updated)));
  const x = (t) => ((new Date(t) - start) / (end - start)) * width;
  const y = (n) => height - 6 - (n / top) * (height - 22);
  g.font = style.font || '12px sans-serif';
  g.fillStyle = colour('desired');
  g.fillText(String(top), 4, 12);
  for (const key of ['desired', 'updated', 'ready']) {
    g.strokeStyle = colour(key);
    g.lineWidth = 2;
    g.setLineDash(key === 'desired' ? [5, 4] : []);
    g.beginPath();
    samples.forEach((s, i) => {
      if (i > 0) g.lineTo(x(s.time), y(samples[i - 1][key]));
      g[i ? 'lineTo' : 'moveTo'](x(s.time), y(s[key]));
    });
    g.stroke();
  }
  const last = samples[samples.length - 1];
  $('graph-text').textContent = last ? `now ${last.desired} desired, ${last.ready} ready, ${last.updated} updated` : 'no samples yet';
  canvas.setAttribute('aria-label', `Pods over the last hour, at most ${top}; ${$('graph-text').textContent}`);
}

// --- the story ---

async function follow(key) {
  page.stream?.abort();
  const stop = new AbortController();
  page.stream = stop;
  let pause = 500;
  while (!stop.signal.aborted && page.token) {
    try {
      const response = await ask(`api/records/stream?limit=100&object=${encodeURIComponent(key)}`, { signal: stop.signal });
      live(true);
      pause = 500;
      await readStream(response.body, (entry) => !stop.signal.aborted && take(entry));
    } catch (err) {
      if (stop.signal.aborted) return;
      if (err.code === 401 || err.code === 403) {
        live(false);
        failed(err);
        return;
      }
    }
    live(false);
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, 15000);
  }
}

async function readStream(body, visit) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const events = rest.split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const data = event.split('\n').find((line) => line.startsWith('data: '));
      if (data) visit(JSON.parse(data.slice(6)));
    }
  }
}

function live(on) {
  $('live').textContent = on ? 'live' : 'connecting…';
  $('live').classList.toggle('on', on);
}

function take(entry) {
  if (page.records.has(entry.id)) return;
  page.records.set(entry.id, entry);
  if (page.records.size > keptRecords) page.records.delete(page.records.keys().next().value);
  if (!page.drawing) {
    page.drawing = requestAnimationFrame(() => {
      page.drawing = 0;
      drawStory();
    });
  }
  refreshIn(refreshSoon);
}

const acted = (e) => Boolean(e.error || e.payload?.decision?.actions?.length || e.payload?.undone?.length || e.triggers.some((t) => t.kind === 'Manual'));

function because(causes) {
  if (!causes.length) return 'no cause is recorded';
  const others = causes.length - 1;
  return `because ${causes[0]}${others ? ` (and ${others === 1 ? 'another cause' : `${others} other causes`})` : ''}`;
}

function drawStory() {
  const wanted = $('search').value.trim().toLowerCase();
  const focused = document.activeElement?.dataset?.record;
  const lines = [...page.records.values()].reverse()
    .filter((e) => !$('quiet').checked || acted(e))
    .filter((e) => !wanted || `${e.summary} ${e.causes.join(' ')} ${e.object.name}`.toLowerCase().includes(wanted))
    .slice(0, 100)
    .map((e) => {
      const line = el('button', { type: 'button', className: e.error ? 'bad' : '', onclick: () => showRecord(e.id) },
        el('time', { dateTime: e.start, textContent: new Date(e.start).toLocaleTimeString() }),
        el('span', { textContent: e.summary }),
        el('span', { className: 'cause', textContent: because(e.causes) }));
      line.dataset.record = e.id;
      return el('li', {}, line);
    });
  if (!lines.length && page.detail) {
    lines.push(...page.detail.history.map((h) => el('li', { textContent: `${new Date(h.time).toLocaleString()}  ${h.text}` })));
  }
  $('story').replaceChildren(...lines);
  if (focused) document.querySelector(`[data-record="${CSS.escape(focused)}"]`)?.focus();
}

// --- the drawer ---

function openDrawer(title, ...content) {
  $('drawer-title').textContent = title;
  $('drawer-body').replaceChildren(...content);
  if (!$('drawer').open) $('drawer').showModal();
}

const section = (title, ...content) => el('section', {}, el('h3', { textContent: title }), ...content);
const items = (tag, list) => el(tag, {}, ...list.map((text) => el('li', {}, text)));
const facts = (pairs) => el('dl', {}, ...pairs.filter(([, v]) => v !== undefined && v !== '' && v !== null).flatMap(([k, v]) => [el('dt', { textContent: k }), el('dd', { textContent: v })]));

async function showRecord(id) {
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

async function showPod(name) {
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

// --- what people do ---

$('close').onclick = () => $('drawer').close();
$('drawer').addEventListener('click', (e) => e.target === $('drawer') && $('drawer').close());
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
