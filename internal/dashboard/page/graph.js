// The last hour as a graph.

import { $ } from './dom.js';

export function drawGraph(samples) {
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
