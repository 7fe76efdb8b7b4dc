// How a fleet went, over as much time as there is data for.

import { $ } from './dom.js';
import { axis } from './time.js';

const bottom = 18; // px for the marks of the axis

// drawGraph draws samples, and a tick for each time at which something was done.
export function drawGraph(samples, done = []) {
  const canvas = $('graph');
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const g = canvas.getContext('2d');
  g.scale(scale, scale);
  // light-dark() is resolved where it is used as a colour, so ask an element for it.
  const colour = (key) => getComputedStyle(document.querySelector(`.key.${key}`)).color;
  const span = axis(samples.map((s) => s.time));
  const top = Math.max(1, ...samples.map((s) => Math.max(s.desired, s.ready, s.updated)));
  const x = (t) => ((new Date(t) - span.start) / (span.end - span.start)) * width;
  const y = (n) => height - bottom - 4 - (n / top) * (height - bottom - 18);
  g.font = '12px system-ui, sans-serif';
  g.fillStyle = colour('desired');
  g.strokeStyle = colour('desired');
  g.fillText(String(top), 4, 12);
  drawMarks(g, span, x, height);
  for (const t of done) if (new Date(t) >= span.start) g.fillRect(x(t) - 1, height - bottom - 6, 2, 6);
  for (const key of ['desired', 'updated', 'ready']) drawLine(g, samples, key, colour(key), x, y);
  const last = samples[samples.length - 1];
  $('graph-text').textContent = last ? `now ${last.desired} desired, ${last.ready} ready, ${last.updated} updated` : 'no samples yet';
  canvas.setAttribute('aria-label', `Pods since ${new Date(span.start).toLocaleTimeString()}, at most ${top}; ${$('graph-text').textContent}`);
}

function drawMarks(g, span, x, height) {
  const format = { hour: '2-digit', minute: '2-digit', ...(span.seconds ? { second: '2-digit' } : {}) };
  g.globalAlpha = 0.3;
  for (const t of span.marks) g.fillRect(x(t), 0, 1, height - bottom);
  g.globalAlpha = 1;
  for (const t of span.marks) g.fillText(new Date(t).toLocaleTimeString([], format), Math.max(0, x(t) - 16), height - 4);
}

function drawLine(g, samples, key, colour, x, y) {
  g.strokeStyle = colour;
  g.lineWidth = 2;
  g.setLineDash(key === 'desired' ? [5, 4] : []);
  g.beginPath();
  samples.forEach((s, i) => {
    if (i > 0) g.lineTo(x(s.time), y(samples[i - 1][key]));
    g[i ? 'lineTo' : 'moveTo'](x(s.time), y(s[key]));
  });
  g.stroke();
}
