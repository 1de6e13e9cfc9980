// SPDX-License-Identifier: MIT
// Source files with what their lines took, as far as the files could be read when the page was made.
const source = {
  FILES: 30,

  start(data) {
    for (const file of data.sources) page.sourceOf.set(file.file, file);
    this.list = el('div', { class: 'list', role: 'group', 'aria-label': 'Files' });
    this.view = el('div', {});
    byId('source').append(
      el('div', { class: 'title' }, el('h2', { id: 'source-title' }, 'Hot source'),
        el('span', { class: 'dim' }, 'the hottest lines of each file, and what is around them')),
      el('div', { class: 'files' }, this.list, this.view));
  },

  show(phase) {
    const table = phase.tables.lines;
    const at = Object.fromEntries(table.columns.map((column, i) => [column[0], i]));
    this.files = new Map();
    for (const row of table.rows) {
      const [file, line] = row[at.place];
      const one = this.files.get(file) || { file, self: 0, lines: new Map() };
      one.self += row[at.self];
      one.lines.set(line, { self: row[at.self], total: row[at.total], share: row[at.total_share], own: row[at.self_share] });
      this.files.set(file, one);
    }
    this.sorted = [...this.files.values()].sort((a, b) => b.self - a.self).slice(0, this.FILES);
    const own = this.sorted.filter((one) => one.self);
    if (own.length) this.sorted = own;
    byId('source').hidden = !this.sorted.length;
    this.list.replaceChildren(...this.sorted.map((one) => button('', () => this.open(one.file, null), { 'data-file': one.file, title: one.file })));
    this.sorted.forEach((one, i) => this.list.children[i].append(
      el('span', {}, this.label(one.file)), el('span', { class: 'num' }, duration(one.self))));
    // Something that can be read says more than the lines of a library alone.
    const [first] = this.sorted.filter((one) => page.sourceOf.has(one.file)).concat(this.sorted);
    if (first) this.open(this.files.has(this.current) ? this.current : first.file, null);
  },

  // With its directory where others are called the same.
  label(file) {
    const name = baseName(file);
    const alike = this.sorted.filter((one) => baseName(one.file) === name).length > 1;
    return alike ? file.split('/').slice(-2).join('/') : name;
  },

  goTo(file, line) {
    this.open(file, line);
    byId('source').scrollIntoView({ block: 'start' });
    const row = this.view.querySelector('tr.at');
    if (row) row.scrollIntoView({ block: 'center' });
  },

  open(file, line) {
    this.current = file;
    for (const one of this.list.children) one.setAttribute('aria-pressed', one.dataset.file === file);
    const hot = this.files.get(file) || { lines: new Map() };
    const text = page.sourceOf.get(file);
    const body = el('tbody', {});
    const most = Math.max(...[...hot.lines.values()].map((one) => one.self), 1);
    if (text) {
      text.stretches.forEach((stretch, i) => {
        if (i) body.append(el('tr', { class: 'gap' }, el('td', { colspan: 4 })));
        stretch.slice(1).forEach((words, k) => body.append(this.row(stretch[0] + k, words, hot.lines.get(stretch[0] + k), line, most)));
      });
    } else {
      for (const number of [...hot.lines.keys()].sort((a, b) => a - b))
        body.append(this.row(number, '', hot.lines.get(number), line, most));
    }
    const remarks = [text ? null : 'The file could not be read when this page was made.',
      text && text.newer ? 'The source is newer than the program: lines may have moved.' : null].filter(Boolean);
    this.view.replaceChildren(el('p', { class: 'code' }, file), el('p', { class: 'dim' }, remarks.join(' ')),
      el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Lines of ${file}` }, el('table', { class: 'lines' },
        el('thead', {}, el('tr', {}, ...[['self', 'num'], ['total', 'num'], ['line', 'num'], ['source', '']]
          .map(([title, kind]) => el('th', { scope: 'col', class: kind }, title)))), body)));
  },

  row(number, words, hot, wanted, most) {
    const self = el('td', { class: 'num', title: hot ? `${percent(hot.own)} %` : null }, hot && hot.self ? duration(hot.self) : '');
    if (hot && hot.self) self.style.background = `rgba(var(--heat), ${(0.08 + (0.55 * hot.self) / most).toFixed(3)})`;
    return el('tr', { class: number === wanted ? 'at' : null }, self,
      el('td', { class: 'num', title: hot ? `${percent(hot.share)} %` : null }, hot && hot.total ? duration(hot.total) : ''),
      el('td', { class: 'no' }, number), el('td', { class: 'src' }, words));
  },
};
