// Who is there, and what went wrong with a request.

import { askJSON } from './api.js';
import { $, say } from './dom.js';
import { format, parse } from './route.js';
import { page } from './state.js';

export function problem(text) {
  $('problem').textContent = text;
  $('problem').hidden = !text;
}

// failed says what went wrong. Without an answer, what is shown stays, and looks old.
export function failed(err) {
  if (err.name === 'AbortError') return;
  if (err.code === 401) {
    signOut();
    problem(err.message);
    return;
  }
  if (unanswered(err)) away(err.message);
  else problem(err.message);
}

// A proxy before the operator answers 502 to 504 in its place.
const unanswered = (err) => !err.code || (err.code >= 502 && err.code <= 504);

let since = null;

// away: nothing has come from the operator since it last answered.
export function away(why) {
  since ||= new Date(page.seen || Date.now());
  $('app').classList.add('stale');
  problem(`The operator has not answered since ${since.toLocaleTimeString()}. What you see is from then. (${why})`);
}

// answered: the operator is there, and what is shown is of now.
export function answered() {
  since = null;
  $('app').classList.remove('stale');
  problem('');
}

// takeToken takes the token out of the address: it shall not stay in the address bar
// or the history. The token of another person replaces a login only where the reader
// agrees: a link of another would have them work under a foreign name. It returns
// whether there is a new login.
export async function takeToken() {
  const route = parse(location.hash), { token } = route.params;
  if (!token) return false;
  history.replaceState(null, '', location.pathname + location.search + format({ ...route, params: { ...route.params, token: '' } }));
  // One question at a time, also for a link whose owner is known only after the answer.
  if (token === page.token || $('other').open) return false;
  const before = page.token;
  if (before && !(await mayReplace(before, token))) return false;
  if (page.token !== before) return false; // signed in or out meanwhile
  keepToken(token);
  return true;
}

export function keepToken(token) {
  page.token = token;
  sessionStorage.setItem('token', token);
}

async function mayReplace(before, token) {
  try {
    const [now, then] = await Promise.all([ownerOf(before), ownerOf(token)]);
    if (!now || now === then) return true;
    if (then) return await agreed(now, then);
    say('The operator does not know the token of this link.', 'bad');
  } catch (err) {
    failed(err);
  }
  return false;
}

// ownerOf is empty for a token that is not known, or no longer.
const ownerOf = (token) => askJSON('api/whoami', { token }).then(({ user }) => user, (err) => (err.code === 401 ? '' : Promise.reject(err)));

function agreed(now, then) {
  const dialog = $('other');
  if (dialog.open) return false; // another link was quicker, and an answer is to what was read
  $('other-text').textContent = `You use this page as ${now}. The link logs you in as ${then}: you would see what ${then} may see, and what you do would be done as ${then}.`;
  $('other-stay').textContent = `Stay ${now}`;
  $('other-become').textContent = `Continue as ${then}`;
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener('close', () => resolve(dialog.returnValue === 'become'), { once: true }));
}

export function signOut() {
  page.stream?.abort();
  page.open = false;
  $('live').textContent = '';
  $('live').classList.remove('on');
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
