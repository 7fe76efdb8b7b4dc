// Requests to the page's own origin, with the token of this tab unless another is given.

import { page } from './state.js';

export class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export async function ask(path, { token = page.token, ...options } = {}) {
  const headers = { ...options.headers, Authorization: `Bearer ${token}` };
  const response = await fetch(path, { ...options, headers, credentials: 'omit' });
  page.seen = Date.now();
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new Refused(response.status, body.message || response.statusText);
}

export const askJSON = async (path, options) => (await ask(path, options)).json();

// send posts JSON and returns the answer.
export const send = (path, body, options = {}) => askJSON(path, { ...options, method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

// readStream reads server-sent events until their end.
export async function readStream(body, visit) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    page.seen = Date.now();
    rest += value;
    const events = rest.split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const data = event.split('\n').find((line) => line.startsWith('data: '));
      if (data) visit(JSON.parse(data.slice(6)));
    }
  }
}
