// For how long an answer of the operator is overdue. Pure.

export const patience = 5000; // ms; a beat comes every 2 s

// overdue is in ms: a stream that is open beats all the time, and a request that was
// sent is answered. seen is when anything last came; due is when a request was sent.
export function overdue({ open, seen, due }, now) {
  if (open) return now - seen;
  return due ? now - Math.max(due, seen) : 0;
}
