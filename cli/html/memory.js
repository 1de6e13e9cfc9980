// SPDX-License-Identifier: MIT
// Memory in use over the run: a curve for the host and each GPU, and of packages; peaks are marked.
const memory = {
  ROW: 44,
  LABEL: 150,
  PACKAGES: 4, // those with the highest peaks

  start(data) {
    const { curves, lines, ops } = data.memory;
    const packages = curves.filter((curve) => curve.kind === 'sampled').sort((a, b) => b.peak_bytes - a.peak_bytes);
    this.curves = curves.filter((curve) => curve.kind !== 'sampled').concat(packages.slice(0, this.PACKAGES));
    byId('memory').hidden = !this.curves.length;
    if (!this.curves.length) return;
    this.wall = data.run.wall_ns;
    this.several = data.processes > 1;
    const sum = this.several && `sum: of all ${count(data.processes)} processes at one moment, with what they share in each of them`
      + (data.run.peak_rss_bytes ? `; the largest process alone: peak RSS ${bytes(data.run.peak_rss_bytes)}` : '');
    this.redraw = onceAFrame(() => this.draw());
    this.canvas = el('canvas', { role: 'img', on: { mousemove: (event) => this.hover(event) } });
    this.canvas.setAttribute('aria-label', this.curves.map((curve) => this.words(curve)).join('; '));
    this.pane = el('div', { class: 'pane' }, this.canvas);
    this.pane.style.height = `${this.ROW * this.curves.length}px`;
    this.info = el('div', { class: 'info', 'aria-live': 'polite' });
    byId('memory').append(
      el('div', { class: 'title' }, el('h2', { id: 'memory-title' }, 'Memory over time'),
        el('span', { class: 'dim' }, 'the most in each bin of time; marks are peaks')),
      this.pane, this.info, el('div', { class: 'dim' }, sum || ''),
      el('div', { class: 'dim' }, lines ? `alive at the peak of what was allocated, about: ${lines}` : ''),
      el('div', { class: 'dim' }, ops && !/^\[[^,]*$/.test(ops) ? `by op: ${ops}` : ''));
    new ResizeObserver(() => this.redraw()).observe(this.pane);
  },

  label(curve) {
    return curve.name === 'host' ? `${curve.kind}${this.several ? ', sum' : ''}` : `${curve.name} ${curve.kind}`;
  },

  words(curve) {
    return `${this.label(curve)}: peak ${curve.kind === 'sampled' ? 'about ' : ''}${bytes(curve.peak_bytes)} at ${duration(curve.peak_at_ns)}`;
  },

  // Curves of the host have one scale, and those of each device.
  most(curve) {
    const host = (other) => ['allocated', 'RSS', 'sampled'].includes(other.kind);
    const same = this.curves.filter((other) => host(other) === host(curve) && (host(curve) || other.name === curve.name));
    return Math.max(1, ...same.map((other) => other.peak_bytes / 1024));
  },

  draw() {
    const width = this.pane.clientWidth;
    const context = fitCanvas(this.canvas, width, this.ROW * this.curves.length);
    const wide = Math.max(1, width - this.LABEL);
    context.font = '11px monospace';
    this.curves.forEach((curve, row) => {
      const base = (row + 1) * this.ROW - 4;
      const high = this.ROW - 10;
      const most = this.most(curve);
      const x = (ns) => this.LABEL + Math.min(1, ns / this.wall) * wide;
      context.fillStyle = colours.get(curve.kind === 'RSS' ? 'kernel' : curve.kind === 'sampled' ? 'lock' : 'net');
      curve.kb.forEach((kb, i) => {
        const left = x(i * curve.bin_ns);
        const tall = (kb / most) * high;
        context.fillRect(left, base - tall, Math.max(0.5, x((i + 1) * curve.bin_ns) - left), tall);
      });
      context.fillStyle = colours.get('text');
      context.fillText(clip(this.label(curve), this.LABEL - 8, 6.6), 0, base - high / 2);
      context.fillText(bytes(curve.peak_bytes), 0, base - high / 2 + 13);
      context.fillRect(x(curve.peak_at_ns) - 0.5, base - high - 2, 1, high + 2);
    });
  },

  hover(event) {
    const box = this.canvas.getBoundingClientRect();
    const curve = this.curves[Math.floor((event.clientY - box.top) / this.ROW)];
    const part = (event.clientX - box.left - this.LABEL) / Math.max(1, box.width - this.LABEL);
    if (!curve || part < 0) return;
    const at = part * this.wall;
    const kb = curve.kb[Math.min(curve.kb.length - 1, Math.floor(at / curve.bin_ns))];
    this.info.textContent = `${this.label(curve)} at ${duration(at)}: ${bytes(kb * 1024)}; ${this.words(curve)}`;
  },
};
