// How bad it is, in one word that the whole page shares. Pure.

// order is from what needs a person most.
export const order = ['stuck', 'short', 'moving', '', 'held', 'fine'];

const words = { stuck: 'stuck', short: 'too few pods', moving: 'changing', fine: 'Ready' };

// wordOf is the severity as people read it. What a user stopped has the name of that.
export const wordOf = (f) => words[f.severity] || f.state || 'new';

// classOf is its class in the style sheet.
export const classOf = (f) => f.severity || 'unseen';
