// As much markdown as the texts of the exercises need. Text is always text, never markup.

const el = (tag, content = [], props = {}) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...[].concat(content));
  return e;
};

// inline knows `code`, **bold**, *emphasis* and [links](…). The page has no files of the repository: a link to one
// is its path, from the root.
function inline(line, file) {
  return line.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|\[[^\]]+\]\([^)]+\))/).filter(Boolean).map((part) => {
    if (part.startsWith('`')) return el('code', part.slice(1, -1));
    if (part.startsWith('**')) return el('b', part.slice(2, -2));
    if (/^\*.+\*$/.test(part)) return el('em', part.slice(1, -1));
    const link = part.match(/^\[([^\]]+)\]\(([^)]+)\)$/);
    if (!link) return part;
    if (link[2].startsWith('https://')) return el('a', link[1], { href: link[2], rel: 'noreferrer', target: '_blank' });
    const path = new URL(link[2], `http://root/${file}`).pathname.slice(1), name = path.split('/').pop();
    return link[1] === name || link[1] === path ? el('code', path) : el('span', [`${link[1]} (`, el('code', path), ')']);
  });
}

// The title is that of the dialog, and the language is chosen by a button.
const besides = /^(# .*|\[[^\]]+\]\(README(\.zh)?\.md\))$/;

// markdown makes elements of the text beside a file: headings, code blocks, lists and paragraphs; a <details> of
// hints stays one.
export function markdown(text, file) {
  const out = [];
  let into = out, list = null, paragraph = null, code = null, details = null;
  const flush = () => { list = paragraph = null; };
  for (const line of text.split('\n')) {
    const bullet = line.match(/^\s*(?:[-*]|\d+\.) (.*)$/), heading = line.match(/^(#{1,4}) (.*)$/), summary = line.match(/<summary>(.*?)<\/summary>/);
    if (line.startsWith('```')) {
      if (code) { code = null; continue; }
      flush();
      code = el('code');
      into.push(el('pre', code));
    } else if (code) code.append(`${line}\n`);
    else if (besides.test(line)) flush();
    else if (line.startsWith('<details>') || summary) {
      details ??= [];
      if (summary) { details.summary = summary[1]; into = details; }
      flush();
    } else if (line.startsWith('</details>')) {
      out.push(el('details', [el('summary', details?.summary || '…'), ...(details || [])]));
      details = null; into = out; flush();
    } else if (heading) { flush(); into.push(el(`h${Math.min(heading[1].length + 1, 5)}`, inline(heading[2], file))); }
    else if (bullet) {
      if (!list) { list = el('ul'); into.push(list); }
      list.append(el('li', inline(bullet[1], file)));
      paragraph = null;
    } else if (!line.trim()) flush();
    else if (list) list.lastElementChild.append(' ', ...inline(line.trim(), file));
    else if (paragraph) paragraph.append(' ', ...inline(line, file));
    else { paragraph = el('p', inline(line, file)); into.push(paragraph); }
  }
  return out;
}
