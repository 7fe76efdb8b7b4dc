// A plan as people read it. Pure.

// waves groups the steps of a plan: pods of a wave that go through the same are one
// line. What is held back comes last, in a wave without a number.
export function waves(steps) {
  const found = new Map();
  for (const step of steps) {
    const number = step.wave || 0;
    if (!found.has(number)) found.set(number, new Map());
    const lines = found.get(number);
    const key = `${step.what}\n${step.reason}`;
    if (!lines.has(key)) lines.set(key, { what: step.what, reason: step.reason, why: step.why, pods: [], count: 0 });
    const line = lines.get(key);
    if (step.pod) line.pods.push(step.pod);
    line.count += step.count || 1;
  }
  return [...found].sort(([a], [b]) => (a || Infinity) - (b || Infinity)).map(([number, lines]) => ({ number, lines: [...lines.values()] }));
}

// named lists a few pods and counts the others.
export function named({ pods, count }, most = 6) {
  const shown = pods.slice(0, most);
  const others = count - shown.length;
  if (!shown.length) return `${count} ${count === 1 ? 'pod' : 'pods'}`;
  return shown.join(', ') + (others > 0 ? ` and ${others} more` : '');
}

// kindOfLine is what a line of a unified diff says.
export function kindOfLine(line) {
  if (line.startsWith('+++') || line.startsWith('---') || line.startsWith('@@')) return 'place';
  if (line.startsWith('+')) return 'added';
  if (line.startsWith('-')) return 'removed';
  return 'same';
}

// ends is when something that takes so many seconds from now is over.
export const ends = (seconds, now = Date.now()) => new Date(now + 1000 * seconds);
