// For how long an answer of the operator is overdue. Pure.

export const patience = 5000; // ms; a beat comes every 2 s

// overdue is in ms: a stream that is open beats all the time, and a request that was
// sent is answered. heard is when anything last came; due is when a request was sent.
export function overdue({ open, heard, due }, now) {
  if (open) return now - heard;
  return due ? now - Math.max(due, heard) : 0;
}
