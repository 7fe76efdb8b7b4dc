// Times as people read them. Pure: the time of now is an argument.

const units = [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]];

// age is how long ago something was, in its two largest units, as kubectl writes it.
export function age(since, now = Date.now()) {
  let left = Math.max(0, Math.floor((now - new Date(since)) / 1000));
  if (!Number.isFinite(left)) return '';
  const parts = [];
  for (const [unit, size] of units) {
    const n = Math.floor(left / size);
    left -= n * size;
    if (n || parts.length) parts.push([n, unit]);
    if (parts.length === 2) break;
  }
  return parts.filter(([n]) => n).map(([n, unit]) => `${n}${unit}`).join('') || '0s';
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];

// axis is the part of time that data needs: from the first of it until now, at least
// a minute, at most as long as there is data; with about five round marks.
export function axis(times, now = Date.now()) {
  const first = Math.min(now, ...times.map((t) => +new Date(t)).filter(Number.isFinite));
  const start = Math.min(first, now - 60e3);
  const step = 1000 * (steps.find((s) => (now - start) / 1000 / s <= 6) || steps.at(-1));
  const marks = [];
  for (let t = Math.ceil(start / step) * step; t <= now; t += step) marks.push(t);
  return { start, end: now, marks, seconds: step < 60e3 };
}
