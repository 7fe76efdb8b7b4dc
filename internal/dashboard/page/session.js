// Who is there, and what went wrong with a request.

import { $ } from './dom.js';
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

function away(why) {
  since ||= new Date();
  $('app').classList.add('stale');
  problem(`The operator does not answer since ${since.toLocaleTimeString()}. What you see is from then. (${why})`);
}

// answered: the operator is there, and what is shown is of now.
export function answered() {
  since = null;
  $('app').classList.remove('stale');
  problem('');
}

// takeToken takes the token out of the address: it shall not stay in the address bar
// or the history.
export function takeToken() {
  const route = parse(location.hash);
  if (!route.params.token) return;
  page.token = route.params.token;
  sessionStorage.setItem('token', page.token);
  history.replaceState(null, '', location.pathname + location.search + format({ ...route, params: { ...route.params, token: '' } }));
}

export function signOut() {
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
