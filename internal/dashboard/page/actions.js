// What the viewer can do with a fleet. Only what the API server allows the viewer is
// offered, and every action shows its plan before it is done.

import { askJSON, send } from './api.js';
import { $, counted, el, say } from './dom.js';
import { drawPlan } from './planview.js';
import { failed } from './session.js';
import { keyOf, page, pathOf } from './state.js';

const planSoon = 300; // ms after a key, so that a word is one plan

const nothing = { actions: [], sights: [], why: '' };

// fetchRights asks what the viewer may do with the fleet that is open.
export async function fetchRights() {
  const at = page.route;
  try {
    const rights = await askJSON(`${pathOf(at)}/rights`);
    if (keyOf(at) === keyOf(page.route)) page.rights = rights;
  } catch (err) {
    page.rights = nothing;
    if (err.code !== 404) failed(err);
  }
  drawActions();
}

export const may = (action) => (page.rights || nothing).actions.includes(action);
export const sees = (sight) => (page.rights || nothing).sights.includes(sight);

// actions are those of a fleet, in the order of their buttons. fields makes the
// inputs; read makes the action of them, or says nothing while they are incomplete;
// agree names the button that does it.
const actions = {
  scale: {
    text: 'Scale…',
    title: (d) => `Scale ${d.name}`,
    fields: (d) => [el('label', {}, 'Pods ', el('input', { type: 'number', min: 0, step: 1, value: d.desired, required: true, name: 'replicas' }))],
    read: (form) => (form.replicas.value === '' ? null : { replicas: Number(form.replicas.value) }),
    agree: (wanted) => `Scale to ${wanted.replicas}`,
  },
  'set-image': {
    text: 'Set image…',
    title: (d) => `Set the image of ${d.name}`,
    fields: (d) => d.images.map((i) => el('label', {}, `${i.container} `, el('input', { value: i.image, name: `image-${i.container}`, required: true, spellcheck: false, autocomplete: 'off' }))),
    read: (form, d) => {
      const images = d.images.map((i) => [i, form[`image-${i.container}`].value.trim()]).filter(([i, image]) => image && image !== i.image).map(([i, image]) => `${i.container}=${image}`);
      return images.length ? { images } : null;
    },
    agree: (wanted) => `Set ${wanted.images.length === 1 ? wanted.images[0] : `${wanted.images.length} images`}`,
  },
  pause: { text: 'Pause…', title: (d) => `Pause the rollout of ${d.name}`, shown: (d) => !d.paused, agree: () => 'Pause' },
  resume: { text: 'Resume…', title: (d) => `Resume the rollout of ${d.name}`, shown: (d) => d.paused, agree: () => 'Resume' },
  restart: { text: 'Restart…', danger: true, title: (d) => `Recreate all pods of ${d.name}`, agree: (wanted, d) => `Recreate ${counted(d.pods.length, 'pod')}` },
  undo: {
    text: 'Undo…',
    title: (d) => `Take ${d.name} back to an earlier revision`,
    shown: (d) => d.revisions.length > 1,
    fields: (d) => [el('label', {}, 'Revision ', el('select', { name: 'revision' },
      ...earlier(d).map((r) => el('option', { value: r.name, textContent: `${r.number} · ${r.name}` }))))],
    read: (form) => ({ revision: form.revision.value }),
    agree: (wanted, d) => `Go back to revision ${d.revisions.find((r) => r.name === wanted.revision)?.number ?? wanted.revision}`,
  },
  unpin: { text: 'Unpin…', title: (d) => `Let ${d.name} follow its template again`, shown: (d) => d.pinned, agree: () => 'Unpin' },
  'delete-pod': { title: (d, pod) => `Delete pod ${pod}`, shown: () => false, read: (form, d, pod) => ({ pod }), agree: (wanted) => `Delete ${wanted.pod}` },
};

// earlier are the revisions to go back to, newest first.
export const earlier = (d) => d.revisions.filter((r) => r.name !== d.updateRevision).sort((a, b) => b.number - a.number);

export function drawActions() {
  const d = page.detail;
  const offered = d ? Object.entries(actions).filter(([verb, a]) => may(verb) && (a.shown ? a.shown(d) : true)) : [];
  const focused = document.activeElement?.dataset?.action;
  const wanted = offered.map(([verb]) => verb).join();
  if ($('actions').dataset.verbs !== wanted) {
    $('actions').dataset.verbs = wanted;
    $('actions').replaceChildren(...offered.map(([verb, a]) => el('button', { type: 'button', textContent: a.text, className: a.danger ? 'danger' : '', 'data-action': verb })));
    if (focused) document.querySelector(`[data-action="${focused}"]`)?.focus();
  }
  $('rights').textContent = page.rights?.why || lacking(page.rights?.missing || []);
}

// lacking names what is not shown, and the right that would show it.
function lacking(missing) {
  return missing.length ? `You do not see: ${missing.map((m) => `${m.hides} (needs the right to ${m.right})`).join('; ')}.` : '';
}

// --- the dialog ---

let open = null; // { verb, pod, fleet, plan, timer, asked }

export function openAction(verb, pod = '') {
  const d = page.detail;
  open = { verb, pod, fleet: { resource: d.resource, namespace: d.namespace, name: d.name }, detail: d, plan: null, timer: 0, asked: 0 };
  const a = actions[verb];
  $('ask-title').textContent = a.title(d, pod);
  $('ask-fields').replaceChildren(...(a.fields ? a.fields(d) : []));
  $('ask-error').textContent = '';
  $('ask-do').textContent = (a.text || '').replace('…', '');
  show(null);
  $('ask').showModal();
  makePlan();
}

// show shows a plan, or none: then there is nothing to plan yet, or one is being made.
function show(plan, wanted = action()) {
  open.plan = plan;
  $('ask-plan').replaceChildren(...(plan ? drawPlan(plan) : []));
  $('ask-plan').setAttribute('aria-busy', String(!plan && Boolean(wanted)));
  $('ask-do').disabled = !plan;
  $('ask-do').classList.toggle('disruptive', Boolean(plan?.disruptive));
  if (wanted) $('ask-do').textContent = actions[open.verb].agree(wanted, open.detail);
}

// action is what the inputs say, or null while they say nothing.
function action() {
  const a = actions[open.verb];
  const form = $('ask-form').elements;
  if (!$('ask-form').checkValidity()) return null;
  const rest = a.read ? a.read(form, open.detail, open.pod) : {};
  return rest && { verb: open.verb, ...rest };
}

// wrong is what is wrong with the inputs.
function wrong() {
  const input = $('ask-form').querySelector('input:invalid');
  if (!input || input.validity.valueMissing) return '';
  return input.type === 'number' ? `A fleet has 0, 1, 2 or more pods, not ${input.value || 'this'}.` : input.validationMessage;
}

async function makePlan() {
  const wanted = action();
  const asked = ++open.asked;
  show(null, wanted);
  $('ask-error').textContent = wrong();
  if (!wanted) return;
  try {
    const plan = await send(`${pathOf(open.fleet)}/plan`, wanted);
    if (asked === open?.asked) {
      $('ask-error').textContent = '';
      show(plan, wanted);
    }
  } catch (err) {
    if (asked === open?.asked) $('ask-error').textContent = err.message;
  }
}

async function doIt() {
  const wanted = action();
  if (!wanted || !open.plan) return;
  const { plan, fleet } = open;
  $('ask-do').disabled = true;
  try {
    await send(`${pathOf(fleet)}/act`, { ...wanted, basis: plan.basis });
    say(`${$('ask-title').textContent}: accepted by the API server.`);
    $('ask').close();
    document.dispatchEvent(new Event('acted'));
  } catch (err) {
    // The new plan is shown below the sentence: agreeing to it is another decision.
    if (err.code === 409) await makePlan();
    $('ask-error').textContent = err.message;
    if (err.code === 403) fetchRights();
  }
}

$('actions').addEventListener('click', (e) => e.target.dataset.action && openAction(e.target.dataset.action));
$('ask-form').addEventListener('input', () => {
  clearTimeout(open.timer);
  show(null);
  $('ask-error').textContent = wrong();
  open.asked += 1; // what was asked before is about other inputs
  open.timer = setTimeout(makePlan, planSoon);
});
$('ask-form').onsubmit = (e) => {
  e.preventDefault();
  doIt();
};
$('ask-cancel').onclick = () => $('ask').close();
$('ask').addEventListener('close', () => {
  clearTimeout(open?.timer);
  open = null;
});
