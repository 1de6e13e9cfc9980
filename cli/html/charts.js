// SPDX-License-Identifier: MIT
// Which ops, kernels and modules take the time, as bars: from the same rows as the tables.
const charts = {
  SHOWN: 8,

  // Which table, by which column, of what, in which colour, and whether its rows sum to a whole.
  kinds: [
    { table: 'ops', by: 'self', name: 'name', title: 'Ops by self time on the host', colour: 'net', whole: true },
    { table: 'ops', by: 'gpu', name: 'name', title: 'Ops by the time of what they launched on GPUs', colour: 'gpu' },
    { table: 'gpu', by: 'time', name: 'name', title: 'Kernels and copies by time on GPUs', colour: 'gpu', whole: true },
    { table: 'op_modules', by: 'total', name: 'name', title: 'Modules by time, with those within', colour: 'user' },
  ],

  // Rows of one name are one bar: a table has one for each shape.
  sums(table, by, name) {
    const at = (key) => table.columns.findIndex((column) => column[0] === key);
    const value = at(by);
    const label = at(name);
    if (value < 0 || label < 0) return [];
    const sums = new Map();
    for (const row of table.rows)
      if (row[value]) sums.set(row[label] || '?', (sums.get(row[label] || '?') || 0) + row[value]);
    return [...sums].sort((a, b) => b[1] - a[1]);
  },

  bar(name, ns, most, all, colour) {
    const bar = el('span', { class: 'bar', 'aria-hidden': 'true' });
    bar.style.width = `${(100 * ns) / most}%`;
    bar.style.background = `var(--${colour})`;
    return el('li', { title: name }, bar, el('span', { class: 'name' }, name), el('span', { class: 'num' }, duration(ns)),
      el('span', { class: 'num dim' }, all ? `${percent(ns / all)} %` : ''));
  },

  chart(kind, table) {
    const sums = this.sums(table, kind.by, kind.name);
    if (sums.length < 2) return null;
    const all = kind.whole && !table.left_out ? sums.reduce((sum, [, ns]) => sum + ns, 0) : 0;
    const rest = sums.slice(this.SHOWN);
    const bars = sums.slice(0, this.SHOWN).map(([name, ns]) => this.bar(name, ns, sums[0][1], all, kind.colour));
    if (rest.length && kind.whole) {
      const ns = rest.reduce((sum, [, one]) => sum + one, 0);
      bars.push(this.bar(`${count(rest.length)} others`, ns, Math.max(sums[0][1], ns), all, 'other'));
    }
    return el('div', { 'data-chart': `${kind.table}-${kind.by}` }, el('h3', {}, kind.title), el('ol', {}, ...bars));
  },

  show(phase) {
    const made = this.kinds.map((kind) => phase.tables[kind.table] && this.chart(kind, phase.tables[kind.table])).filter(Boolean);
    const section = byId('charts');
    section.hidden = !made.length;
    section.replaceChildren(el('h2', { id: 'charts-title' }, 'Ops, kernels and modules'), el('div', { class: 'charts' }, ...made));
  },
};
