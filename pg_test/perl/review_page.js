// The review page without a browser: `node review_page.js PAGE STEPS` runs the page's own script on a document that has what this
// script uses and no more, and prints as JSON what a reader sees after each step. 066_review_page.pl calls it; the page has been
// found well-formed before. A step is ["mark", id of a pair, value], ["set", id of a field, value] or ["press", id].
'use strict';

class Element {
  constructor(tag, attributes = {}) {
    Object.assign(this, { tag, attributes, children: [], parent: null });
    this.hidden = 'hidden' in attributes;
    this.checked = 'checked' in attributes;
    if (tag === 'template') this.content = new Element('fragment');
    if (tag !== 'select') this.value = attributes.value ?? '';
  }
  get dataset() {
    return Object.fromEntries(Object.entries(this.attributes).map(([name, value]) => [name.replace(/^data-/, ''), value]));
  }
  get textContent() { return this.children.map(c => c.textContent ?? c).join(''); }
  set textContent(text) { this.children = [String(text)]; }
  append(...nodes) {
    for (const node of nodes.flatMap(n => n.tag === 'fragment' ? n.children : [n])) {
      if (node.parent) node.parent.children = node.parent.children.filter(c => c !== node);
      if (typeof node !== 'string') node.parent = this;
      this.children.push(node);
    }
  }
  add(option) { this.append(option); }
  cloneNode() {
    const copy = new Element(this.tag, this.attributes);
    copy.append(...this.children.map(c => typeof c === 'string' ? c : c.cloneNode()));
    return copy;
  }
  matches(selector) {
    const [, tag, name, id, checked] = /^(\w+)?(?:\.(\w+))?(?:#([\w-]+))?(:checked)?$/.exec(selector);
    return (!tag || tag === this.tag) && (!name || (this.attributes.class ?? '').split(' ').includes(name))
      && (!id || id === this.attributes.id) && (!checked || this.checked);
  }
  querySelectorAll(selectors) {
    const inner = this.children.filter(c => c instanceof Element);
    return inner.flatMap(c => [...selectors.split(', ').some(s => c.matches(s)) ? [c] : [], ...c.querySelectorAll(selectors)]);
  }
  querySelector(selectors) { return this.querySelectorAll(selectors)[0] ?? null; }
  select() { document.selected = this; }
}

// A select has the value of an option: the first, until one is set, as in a browser.
Object.defineProperty(Element.prototype, 'value', {
  get() { return this.tag === 'select' ? this.picked ?? optionValue(this.querySelector('option')) : this.written; },
  set(value) {
    if (this.tag === 'select' && !this.querySelectorAll('option').some(o => optionValue(o) === value)) throw Error(`no option ${value}`);
    this[this.tag === 'select' ? 'picked' : 'written'] = value;
  },
});
const optionValue = option => option.attributes.value ?? option.textContent;

const characters = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&#92;': '\\', '&#xFFFD;': '\uFFFD' };
const ids = new Map();
const parse = page => {
  const root = new Element('fragment'), open = [root];
  for (const [, close, tag, given, text] of page.matchAll(/<(\/?)(\w+)((?: [\w:-]+="[^"]*")*)\/?>|([^<]+)/g)) {
    const last = open.at(-1).content ?? open.at(-1);
    if (text) last.append(text.replace(/&[^;]+;/g, entity => characters[entity]));
    else if (close) open.pop();
    else {
      const element = new Element(tag, Object.fromEntries([...given.matchAll(/ ([\w:-]+)="([^"]*)"/g)].map(a => a.slice(1))));
      last.append(element);
      ids.set(element.attributes.id, element);
      if (!['meta', 'line', 'rect', 'input', 'img'].includes(tag)) open.push(element);
    }
  }
  return root;
};

const [, page, script] = /^<!DOCTYPE html>\n(.*)<script>(.*)<\/script>/s.exec(require('fs').readFileSync(process.argv[2], 'utf8'));
const document = parse(page), all = (what, where = document) => where.querySelectorAll(what);
const byId = id => ids.get(id) ?? null;
document.getElementById = byId;
document.execCommand = what => { document.copied = what === 'copy' ? document.selected.value : null; };
const Option = function (text) { const option = new Element('option'); option.append(text); return option; };
new Function('document', 'Option', script)(document, Option);

const does = {
  mark(id, value) {
    const inputs = all('input', byId(id)), input = inputs.find(i => i.value === value);
    all('input').filter(i => i.name === input.name).forEach(i => { i.checked = i === input; });
    input.onchange();
  },
  set(id, value) { byId(id).value = value; (byId(id).oninput ?? byId(id).onchange)(); },
  press(id) { byId(id).onclick(); },
};
const seen = () => ({
  decisions: byId('decisions').value, copied: document.copied ?? '', file: byId('save').download,
  saved: decodeURIComponent(byId('save').href.replace(/^.*?,/, '')), decided: all('.decided').map(e => e.textContent), would: byId('would').textContent,
  marked: all('.pair').filter(p => p.querySelector('input:checked').value).map(p => p.attributes.id),
  lists: all('.list').map(list => all('.row', list).map(row => row.attributes.id)), without: all('.script').filter(e => e.hidden).length,
  shown: all('.unit').filter(unit => !unit.hidden).map(unit => (unit.attributes.id ? unit : unit.querySelector('.row')).attributes.id),
});
process.stdout.write(JSON.stringify([['start'], ...JSON.parse(process.argv[3])].map(([what, ...given]) => { does[what]?.(...given); return seen(); })));
