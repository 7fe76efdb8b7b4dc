// As much markdown as the texts of the exercises need. Text is always text, never markup.

const el = (tag, content = [], props = {}) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...[].concat(content));
  return e;
};

// inline knows `code`, **bold** and [links](…), whose address is shown only where it is a web page's.
function inline(line) {
  return line.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).filter(Boolean).map((part) => {
    if (part.startsWith('`')) return el('code', part.slice(1, -1));
    if (part.startsWith('**')) return el('b', part.slice(2, -2));
    const link = part.match(/^\[([^\]]+)\]\(([^)]+)\)$/);
    if (!link) return part;
    return link[2].startsWith('https://') ? el('a', link[1], { href: link[2], rel: 'noreferrer', target: '_blank' }) : el('span', `${link[1]} (${link[2]})`);
  });
}

// markdown makes elements of a text: headings, code blocks, lists and paragraphs; a <details> of hints stays one.
export function markdown(source) {
  const out = [];
  let into = out, list = null, paragraph = null, code = null, details = null;
  const flush = () => { list = paragraph = null; };
  for (const line of source.split('\n')) {
    const bullet = line.match(/^\s*(?:[-*]|\d+\.) (.*)$/), heading = line.match(/^(#{1,4}) (.*)$/), summary = line.match(/<summary>(.*?)<\/summary>/);
    if (line.startsWith('```')) {
      if (code) { code = null; continue; }
      flush();
      code = el('code');
      into.push(el('pre', code));
    } else if (code) code.append(`${line}\n`);
    else if (line.startsWith('<details>') || summary) {
      details ??= [];
      if (summary) { details.summary = summary[1]; into = details; }
      flush();
    } else if (line.startsWith('</details>')) {
      out.push(el('details', [el('summary', details?.summary || '…'), ...(details || [])]));
      details = null; into = out; flush();
    } else if (heading) { flush(); into.push(el(`h${Math.min(heading[1].length + 1, 5)}`, inline(heading[2]))); }
    else if (bullet) {
      if (!list) { list = el('ul'); into.push(list); }
      list.append(el('li', inline(bullet[1])));
      paragraph = null;
    } else if (!line.trim()) flush();
    else if (list) list.lastElementChild.append(' ', ...inline(line.trim()));
    else if (paragraph) paragraph.append(' ', ...inline(line));
    else { paragraph = el('p', inline(line)); into.push(paragraph); }
  }
  return out;
}
