// Who is there, and what went wrong with a request.

import { $ } from './dom.js';
import { page } from './state.js';

export function problem(text) {
  $('problem').textContent = text;
  $('problem').hidden = !text;
}

export function failed(err) {
  if (err.name === 'AbortError') return;
  if (err.code === 401) {
    signOut();
    problem(err.message);
    return;
  }
  problem(err.code ? err.message : `The operator does not answer: ${err.message}`);
}

export function takeToken() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (!fragment.has('token')) return;
  page.token = fragment.get('token');
  sessionStorage.setItem('token', page.token);
  // The token shall not stay in the address bar or the history.
  history.replaceState(null, '', location.pathname + location.search);
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
