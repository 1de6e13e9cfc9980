// SPDX-License-Identifier: MIT
// The tables: sorted by any column, filtered by words, and only those rows built that are in sight.
class Table {
  // DATA: { columns: [[key, title, kind]], rows, left_out }
  constructor(data) {
    this.ROW = 26;
    this.SPARE = 12; // rows above and below those in sight
    this.data = data;
    this.rows = data.rows;
    this.shown = this.columnsWithValues();
    this.sorted = 0; // index in shown
    this.falling = true;
    this.build();
    this.arrange('');
  }

  static isNumber(kind) {
    return kind !== 'text' && kind !== 'place';
  }

  static cell(value, kind) {
    if (value === null || value === undefined) return '';
    switch (kind) {
      case 'ns': return value ? duration(value) : '';
      case 'bytes': return value ? bytes(value) : '';
      case 'share': return value ? percent(value) : '';
      case 'change': return value ? `${value < 0 ? '−' : '+'}${duration(Math.abs(value))}` : '';
      case 'ratio': return `${value < 0 ? '−' : '+'}${percent(Math.abs(value))}`;
      case 'count': return count(value);
      case 'number': return value.toPrecision(3);
      case 'any': return anyNumber(value);
      case 'moment': return `${(value / 1e9).toFixed(3)} s`;
      case 'place': return placeText(value);
      default: return value;
    }
  }

  // A column of nothing but zeros says nothing.
  columnsWithValues() {
    return this.data.columns.map((column, i) => ({ key: column[0], title: column[1], kind: column[2], i }))
      .filter((column) => this.data.rows.some((row) => (Array.isArray(row[column.i]) ? row[column.i].some(Boolean) : row[column.i])));
  }

  build() {
    this.heads = this.shown.map((column, k) => el('th', { scope: 'col', class: Table.isNumber(column.kind) ? 'num' : '', 'data-key': column.key },
      button(column.title, () => this.sortBy(k))));
    this.body = el('tbody', {});
    this.above = el('tr', { class: 'spacer', 'aria-hidden': 'true' }, el('td', { colspan: this.shown.length }));
    this.below = el('tr', { class: 'spacer', 'aria-hidden': 'true' }, el('td', { colspan: this.shown.length }));
    this.element = el('table', {}, el('caption', { class: 'hidden-text' }, this.data.title),
      el('thead', {}, el('tr', { 'aria-rowindex': 1 }, ...this.heads)), this.body);
    this.draw = onceAFrame(() => this.fill());
    this.filter = el('input', { type: 'search', placeholder: 'Filter', 'aria-label': `Filter ${this.data.title}`,
      on: { input: () => this.arrange(this.filter.value) } });
    this.status = el('span', { class: 'dim', role: 'status' });
    this.scroll = el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': this.data.title,
      on: { scroll: () => this.draw() } }, this.element);
    this.all = el('div', {}, el('div', { class: 'tools' }, this.filter, this.status,
      el('span', { class: 'dim' }, this.data.note || '')), this.scroll, ...(this.data.words || []).map((words) => el('p', { class: 'dim' }, words)));
  }

  // ROWS of it, all built, to be read and printed.
  plain(rows) {
    return el('table', { class: 'plain' }, el('thead', {}, el('tr', {}, ...this.shown.map((column) =>
      el('th', { scope: 'col', class: Table.isNumber(column.kind) ? 'num' : '' }, column.title)))),
    el('tbody', {}, ...rows.map((row, i) => this.row(row, i))));
  }

  sortBy(k) {
    this.falling = this.sorted === k ? !this.falling : Table.isNumber(this.shown[k].kind);
    this.sorted = k;
    this.arrange(this.filter.value);
  }

  arrange(words) {
    const wanted = words.toLowerCase();
    const texts = this.shown.filter((column) => !Table.isNumber(column.kind));
    const has = (row, column) => {
      const value = row[column.i];
      return (Array.isArray(value) ? placeTitle(value) : value || '').toLowerCase().includes(wanted);
    };
    this.rows = wanted ? this.data.rows.filter((row) => texts.some((column) => has(row, column))) : [...this.data.rows];
    const column = this.shown[this.sorted];
    if (column) this.rows.sort((a, b) => this.compare(a[column.i], b[column.i], column.kind));
    this.heads.forEach((head, k) => head.setAttribute('aria-sort', k !== this.sorted ? 'none' : this.falling ? 'descending' : 'ascending'));
    this.shown.forEach((one, k) => {
      this.heads[k].firstChild.textContent = `${one.title}${k !== this.sorted ? '' : this.falling ? ' ▾' : ' ▴'}`;
    });
    const left = this.data.left_out ? `; ${count(this.data.left_out)} smaller ones are not in this page` : '';
    this.status.textContent = `${count(this.rows.length)} rows${left}`;
    this.element.setAttribute('aria-rowcount', this.rows.length + 1);
    this.scroll.scrollTop = 0;
    this.fill();
  }

  compare(a, b, kind) {
    // Changes by their size, whichever way they go.
    const order = kind === 'change' ? Math.abs(a) - Math.abs(b) : Table.isNumber(kind) ? (a ?? -Infinity) - (b ?? -Infinity) || 0
      : Table.cell(a, kind).localeCompare(Table.cell(b, kind));
    return this.falling ? -order : order;
  }

  fill() {
    const height = this.scroll.clientHeight || 512;
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / this.ROW) - this.SPARE);
    const end = Math.min(this.rows.length, first + Math.ceil(height / this.ROW) + 2 * this.SPARE);
    this.above.firstChild.style.height = `${first * this.ROW}px`;
    this.below.firstChild.style.height = `${(this.rows.length - end) * this.ROW}px`;
    const rows = [];
    for (let i = first; i < end; i++) rows.push(this.row(this.rows[i], i));
    this.body.replaceChildren(this.above, ...rows, this.below);
  }

  row(row, i) {
    return el('tr', { 'aria-rowindex': i + 2 }, ...this.shown.map((column) => {
      const value = row[column.i];
      if (Table.isNumber(column.kind)) return el('td', { class: 'num' }, Table.cell(value, column.kind));
      if (column.kind === 'place') return el('td', { class: 'text' }, placeLink(value));
      return el('td', { class: 'text', title: value }, value || '');
    }));
  }
}

const tables = {
  start() {
    this.tabs = el('div', { class: 'tools', role: 'tablist', 'aria-label': 'Tables', on: { keydown: (event) => this.keys(event) } });
    this.panel = el('div', { role: 'tabpanel', id: 'table-panel', 'aria-labelledby': 'tables-title' });
    byId('tables').append(el('h2', { id: 'tables-title' }, 'Tables'), this.tabs, this.panel);
  },

  // What is of the whole run is the same in all phases.
  of(phase) {
    return Object.entries({ ...page.data.phases[0].tables, ...phase.tables }).filter(([, table]) => table.rows.length);
  },

  show(phase) {
    const all = this.of(phase);
    byId('tables').hidden = !all.length;
    this.built = new Map();
    this.data = new Map(all);
    this.tabs.replaceChildren(...all.map(([key, table]) =>
      button(table.title, () => this.choose(key), { role: 'tab', 'data-key': key, 'aria-controls': 'table-panel' })));
    if (all.length) this.choose(this.data.has(this.key) ? this.key : all[0][0]);
  },

  choose(key) {
    this.key = key;
    for (const tab of this.tabs.children) {
      tab.setAttribute('aria-selected', tab.dataset.key === key);
      tab.tabIndex = tab.dataset.key === key ? 0 : -1;
    }
    if (!this.built.has(key)) this.built.set(key, new Table(this.data.get(key)));
    this.table = this.built.get(key);
    this.panel.replaceChildren(this.table.all);
    this.table.fill();
  },

  keys(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const tabs = [...this.tabs.children];
    const next = tabs[(tabs.findIndex((tab) => tab.dataset.key === this.key) + step + tabs.length) % tabs.length];
    event.preventDefault();
    this.choose(next.dataset.key);
    next.focus();
  },
};
