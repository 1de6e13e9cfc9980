// SPDX-License-Identifier: MIT
// What is different from another run, where one was named when the page was made.
const diff = {
  start(data) {
    byId('diff').hidden = !data.diff;
    if (!data.diff) return;
    const { sentence, doubt, base, base_start_realtime_ns, base_wall_ns, differences } = data.diff;
    const when = new Date(base_start_realtime_ns / 1e6).toISOString().replace('T', ' ').slice(0, 16);
    this.tabs = el('div', { class: 'tools', role: 'tablist', 'aria-label': 'Tables of changes' });
    this.panel = el('div', { role: 'tabpanel', 'aria-labelledby': 'diff-title' });
    byId('diff').append(...[
      el('div', { class: 'title' }, el('h2', { id: 'diff-title' }, 'Compared with another run'),
        el('span', { class: 'dim' }, `${base || '?'} of ${when} UTC, ${duration(base_wall_ns)}`)),
      el('p', {}, el('strong', {}, sentence)), doubt ? el('p', {}, doubt) : null,
      differences.length ? el('ul', { class: 'dim' }, ...differences.map(([what, before, now]) =>
        el('li', {}, `${what}: ${before || 'unknown'}, now ${now || 'unknown'}`))) : null,
      this.tabs, this.panel].filter(Boolean));
    const tables_ = Object.entries(data.diff.tables).filter(([, table]) => table.rows.length);
    this.tabs.append(...tables_.map(([key, table]) => button(table.title, () => this.choose(key), { role: 'tab', 'data-key': key })));
    if (tables_.length) this.choose((tables_.find(([key]) => key === 'function') || tables_[0])[0]);
  },

  choose(key) {
    for (const tab of this.tabs.children) tab.setAttribute('aria-selected', String(tab.dataset.key === key));
    this.table = new Table(page.data.diff.tables[key]);
    this.panel.replaceChildren(this.table.all);
    this.table.fill();
  },
};
