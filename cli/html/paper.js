// SPDX-License-Identifier: MIT
// On paper: drawings as wide as a page and light, and the first rows of each table.
const paper = {
  ROWS: 25,
  HIGH: 620, // pixels of a drawing, at most

  start() {
    window.addEventListener('beforeprint', () => this.begin());
    window.addEventListener('afterprint', () => this.end());
  },

  begin() {
    if (this.theme) return;
    this.theme = theme.name;
    this.heights = [flame, timeline, steps].map((part) => part.pane.style.height);
    this.opened = [...byId('findings').querySelectorAll('details:not([open])')];
    for (const one of this.opened) one.open = true;
    document.documentElement.dataset.printing = 'true';
    theme.set('light');
    for (const part of [flame, timeline]) {
      part.pane.scrollTop = 0;
      part.pane.style.height = `${Math.min(this.HIGH, part.reach.offsetHeight || part.pane.scrollHeight)}px`;
    }
    for (const part of [flame, timeline, steps]) part.draw();
    this.added = [this.tables('tables', [...tables.data.values()])];
    if (page.data.diff) this.added.push(this.tables('diff', Object.values(page.data.diff.tables).filter((table) => table.rows.length)));
  },

  end() {
    if (!this.theme) return;
    for (const one of this.added) one.remove();
    for (const one of this.opened) one.open = false;
    delete document.documentElement.dataset.printing;
    [flame, timeline, steps].forEach((part, i) => { part.pane.style.height = this.heights[i]; });
    theme.set(this.theme);
    this.theme = null;
  },

  tables(section, all) {
    const element = el('div', { class: 'printed' }, ...all.map((table) => this.table(table)));
    byId(section).append(element);
    return element;
  },

  table(data) {
    const whole = new Table(data);
    const left = data.rows.length - Math.min(data.rows.length, this.ROWS) + (data.left_out || 0);
    return el('div', {}, el('h3', {}, data.title),
      whole.plain(whole.rows.slice(0, this.ROWS)),
      left ? el('p', { class: 'dim' }, `and ${count(left)} more rows`) : null);
  },
};
