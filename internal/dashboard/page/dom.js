// What every view builds with. Text is always text, never markup.

export const $ = (id) => document.getElementById(id);

// el makes an element.
export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined) continue;
    if (key in e && key !== 'list') e[key] = value;
    else e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

const sayFor = 8000; // ms

let saying = 0;

// say shows a sentence for a while. What is bad stays until something else is said.
export function say(text, how = 'good') {
  clearTimeout(saying);
  $('say').textContent = text;
  $('say').className = text ? `say ${how}` : 'say';
  if (how !== 'bad') saying = setTimeout(() => say('', 'bad'), sayFor);
}

// counted is a number with its noun.
export const counted = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;

// inWords is the name of a state as people read it.
export const inWords = (state) => (state === 'not-yet-available' ? 'ready, not yet available' : state);

export const section = (title, ...content) => el('section', {}, el('h3', { textContent: title }), ...content);
export const items = (tag, list) => el(tag, {}, ...list.map((text) => el('li', {}, text)));
export const facts = (pairs) => el('dl', {}, ...pairs.filter(([, v]) => v !== undefined && v !== '' && v !== null).flatMap(([k, v]) => [el('dt', { textContent: k }), el('dd', { textContent: v })]));
