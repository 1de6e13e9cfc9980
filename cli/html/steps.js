// SPDX-License-Identifier: MIT
// How long each step took and what it spent its time on, one bar each, against the median.
const steps = {
  // Where a part stands in an item, its colour and its name; the first is lowest in a bar.
  parts: [
    [4, 'gpu', 'kernels'],
    [5, 'file', 'copies'],
    [6, 'lock', 'communication'],
    [7, 'user', 'DataLoader'],
    [8, 'net', 'CPU ops'],
    [10, 'other', 'Python and other'],
    [9, 'sleep', 'idle'],
  ],

  start() {
    this.redraw = onceAFrame(() => this.draw());
    this.canvas = el('canvas', { role: 'img', on: { mousemove: (event) => this.hover(event) } });
    this.pane = el('div', { class: 'pane' }, this.canvas);
    this.pane.style.height = '140px';
    this.note = el('span', { class: 'dim' });
    this.legend = el('ul', { class: 'legend dim' });
    this.info = el('div', { class: 'info', 'aria-live': 'polite' });
    byId('steps').append(el('div', { class: 'title' }, el('h2', { id: 'steps-title' }, 'Steps'), this.note), this.pane, this.legend, this.info, (this.words = el('div')));
    new ResizeObserver(() => this.redraw()).observe(this.pane);
  },

  show(phase) {
    this.data = phase.steps;
    byId('steps').hidden = !this.data;
    if (!this.data) return;
    const { name, shape, between, calls, median_ns, long_steps, every } = this.data;
    const lengths = long_steps && `two lengths: ${count(this.data.short_steps)} of ${duration(this.data.short_median_ns)}`
      + ` and ${count(long_steps)} of ${duration(this.data.long_median_ns)}${every ? `, one in ${every}` : ''}`;
    this.note.textContent = `${count(calls)}${between ? ', from one call of' : ' calls of'} ${name || 'a loop'}`
      + `${shape ? ` (${shape})` : ''}${between ? ' to the next' : ''}; ${lengths || `median ${duration(median_ns)}`}`;
    this.canvas.setAttribute('aria-label', `Durations of ${this.note.textContent}`);
    this.shown = this.parts.filter(([at]) => this.data.items.some((item) => item[at]));
    const known = this.data.items.filter((item) => item[4] !== null);
    this.legend.replaceChildren(...this.shown.map(([at, colour, words]) => {
      const mark = el('i', { 'aria-hidden': 'true' });
      mark.style.background = `var(--${colour})`;
      const mean = known.reduce((sum, item) => sum + item[at], 0) / known.length;
      return el('li', {}, mark, `${words} ${duration(mean)}`);
    }));
    this.info.textContent = '';
    const { slowest } = this.data;
    this.words.replaceChildren(...(slowest.words || []).map((words) => el('p', {}, words)),
      ...(slowest.rows.length ? [el('details', {}, el('summary', {}, 'What the slowest spent longer on'), new Table(slowest).plain(slowest.rows))] : []));
    this.redraw();
  },

  // The median of steps of its length.
  usual(item) {
    const { long_steps, long_from_ns, short_median_ns, long_median_ns, median_ns } = this.data;
    if (!long_steps) return median_ns;
    return item[3] >= long_from_ns ? long_median_ns : short_median_ns;
  },

  draw() {
    if (!this.data) return;
    const width = this.pane.clientWidth;
    const height = this.pane.clientHeight;
    const context = fitCanvas(this.canvas, width, height);
    const items = this.data.items;
    const lengthOf = (item) => Math.max(item[3], this.shown.reduce((sum, [at]) => sum + (item[at] || 0), 0));
    const most = Math.max(...items.map(lengthOf), 1);
    const wide = width / items.length;
    items.forEach((item, i) => {
      const slow = item[3] > 1.5 * this.usual(item);
      const bar = Math.max(0.5, wide - (wide > 3 ? 1 : 0));
      let y = height;
      const put = (colour, ns) => {
        const high = (ns / most) * (height - 8);
        y -= high;
        context.fillStyle = colours.get(colour);
        context.fillRect(i * wide, y, bar, high);
      };
      if (item[4] === null) put(slow ? 'kernel' : 'net', item[3]);
      else this.shown.forEach(([at, colour]) => put(colour, item[at]));
      if (!slow) return;
      context.fillStyle = colours.get('kernel');
      context.fillRect(i * wide, y - 4, bar, 3);
    });
    context.fillStyle = colours.get('text');
    const { long_steps, short_median_ns, long_median_ns, median_ns } = this.data;
    for (const usual of long_steps ? [short_median_ns, long_median_ns] : [median_ns]) {
      const y = height - (usual / most) * (height - 8);
      for (let x = 0; x < width; x += 8) context.fillRect(x, y, 4, 1);
    }
  },

  hover(event) {
    const items = this.data.items;
    const box = this.canvas.getBoundingClientRect();
    const item = items[Math.floor(((event.clientX - box.left) / box.width) * items.length)];
    if (!item) return;
    const parts = item[4] === null ? [] : this.shown.filter(([at]) => item[at]).map(([at, , words]) => `${words} ${duration(item[at])}`);
    this.info.textContent = `step ${count(item[0])}${item[1] > 1 ? ` and ${count(item[1] - 1)} more, on average` : ''}`
      + ` at ${(item[2] / 1e9).toFixed(3)} s: ${duration(item[3])}, ${(item[3] / this.usual(item)).toFixed(2)} times the median`
      + `${parts.length ? `: ${parts.join(', ')}` : ''}`;
  },
};
