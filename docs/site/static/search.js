// Search in all pages. It works without a server: the index is a script, which is
// loaded when the search is used for the first time.
const base = new URL('.', document.querySelector('.home').href);
const form = document.querySelector('.search');
const box = document.getElementById('search');
const found = document.getElementById('found');
const most = 12;

let loading;
function load() {
  loading ||= new Promise((loaded, failed) => {
    const script = document.createElement('script');
    script.src = new URL('search-index.js', base);
    script.onload = loaded;
    script.onerror = failed;
    document.head.append(script);
  });
  return loading;
}

const has = (text, words) => words.every((word) => text.toLowerCase().includes(word));

// hits are the pages with all words, the best first: in the title, in a heading, in the text.
function hits(words) {
  const all = [];
  for (const page of window.searchIndex) {
    const heading = page.headings.find((h) => has(h.title, words));
    const rank = has(page.title, words) ? 0 : heading ? 1 : has(page.title + page.text, words) ? 2 : 3;
    if (rank < 3) all.push({ page, heading: rank === 1 ? heading : undefined, rank });
  }
  return all.sort((a, b) => a.rank - b.rank);
}

// excerpt is the text around the first word.
function excerpt(text, words) {
  const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 40);
  return (at > 0 ? '…' : '') + text.slice(at, at + 140).replace(/\s+/g, ' ') + '…';
}

function item({ page, heading }, words) {
  const line = document.createElement('li'), link = document.createElement('a'), about = document.createElement('span');
  link.href = new URL(page.url + (heading ? `#${heading.id}` : ''), base);
  link.textContent = heading ? `${page.title}: ${heading.title}` : page.title;
  about.textContent = excerpt(page.text, words);
  line.append(link, about);
  return line;
}

async function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return found.replaceChildren();
  await load();
  const all = hits(words);
  found.replaceChildren(...all.slice(0, most).map((hit) => item(hit, words)));
  if (all.length === 0) found.textContent = 'Nothing found';
}

form.hidden = false;
box.addEventListener('input', search);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  found.querySelector('a')?.click();
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== box) {
    event.preventDefault();
    box.focus();
  }
  if (event.key === 'Escape') {
    box.value = '';
    found.replaceChildren();
  }
});
