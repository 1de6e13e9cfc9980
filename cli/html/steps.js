// SPDX-License-Identifier: MIT
// How long each step took, one bar each, against the median.
const steps = {
  start() {
    this.redraw = onceAFrame(() => this.draw());
    this.canvas = el('canvas', { role: 'img', on: { mousemove: (event) => this.hover(event) } });
    this.pane = el('div', { class: 'pane' }, this.canvas);
    this.pane.style.height = '140px';
    this.note = el('span', { class: 'dim' });
    this.info = el('div', { class: 'info', 'aria-live': 'polite' });
    byId('steps').append(el('div', { class: 'title' }, el('h2', { id: 'steps-title' }, 'Steps'), this.note), this.pane, this.info, (this.words = el('div')));
    new ResizeObserver(() => this.redraw()).observe(this.pane);
  },

  show(phase) {
    this.data = phase.steps;
    byId('steps').hidden = !this.data;
    if (!this.data) return;
    const { name, shape, between, calls, median_ns } = this.data;
    this.note.textContent = `${count(calls)}${between ? ', from one call of' : ' calls of'} ${name || 'a loop'}`
      + `${shape ? ` (${shape})` : ''}${between ? ' to the next' : ''}; median ${duration(median_ns)}`;
    this.canvas.setAttribute('aria-label', `Durations of ${this.note.textContent}`);
    this.info.textContent = '';
    const { slowest } = this.data;
    this.words.replaceChildren(...(slowest.words || []).map((words) => el('p', {}, words)),
      ...(slowest.rows.length ? [el('details', {}, el('summary', {}, 'What the slowest spent longer on'), new Table(slowest).plain(slowest.rows))] : []));
    this.redraw();
  },

  draw() {
    if (!this.data) return;
    const width = this.pane.clientWidth;
    const height = this.pane.clientHeight;
    const context = fitCanvas(this.canvas, width, height);
    const items = this.data.items;
    const most = Math.max(...items.map((item) => item[3]), 1);
    const wide = width / items.length;
    items.forEach((item, i) => {
      const high = (item[3] / most) * (height - 8);
      context.fillStyle = colours.get(item[3] > 1.5 * this.data.median_ns ? 'kernel' : 'net');
      context.fillRect(i * wide, height - high, Math.max(0.5, wide - (wide > 3 ? 1 : 0)), high);
    });
    const y = height - (this.data.median_ns / most) * (height - 8);
    context.fillStyle = colours.get('text');
    for (let x = 0; x < width; x += 8) context.fillRect(x, y, 4, 1);
  },

  hover(event) {
    const items = this.data.items;
    const box = this.canvas.getBoundingClientRect();
    const item = items[Math.floor(((event.clientX - box.left) / box.width) * items.length)];
    if (!item) return;
    this.info.textContent = `step ${count(item[0])}${item[1] > 1 ? ` and ${count(item[1] - 1)} more, on average` : ''}`
      + ` at ${(item[2] / 1e9).toFixed(3)} s: ${duration(item[3])}, ${(item[3] / this.data.median_ns).toFixed(2)} times the median`;
  },
};
