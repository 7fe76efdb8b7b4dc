// Whether what is shown is of now: each answer of the operator counts, and each beat of
// the stream.

import { overdue, patience } from './beat.js';
import { $ } from './dom.js';
import { answered, away } from './session.js';
import { page } from './state.js';

const look = 500; // ms between two looks
const giveUp = 3 * patience; // a connection that is silent for so long is made anew

let lost = false;
let looked = 0;

// streams says whether the stream is open.
export function streams(open) {
  page.open = open;
  show();
}

function show() {
  const on = page.open && !lost;
  $('live').textContent = on ? 'live' : !page.streaming || !page.token ? '' : lost ? 'no answer' : 'connecting…';
  $('live').classList.toggle('on', on);
}

setInterval(() => {
  const late = Date.now() - looked > 3 * look;
  looked = Date.now();
  if (late) return; // the tab slept: what came meanwhile is read before the next look
  const silent = page.token ? overdue({ open: page.open, seen: page.seen, due: page.due }, Date.now()) : 0;
  if (silent > giveUp) page.attempt?.abort();
  if (silent > patience) away('It accepts connections and says nothing.');
  else if (lost) answered();
  if (lost === silent > patience) return;
  lost = silent > patience;
  show();
}, look);
