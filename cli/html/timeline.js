// SPDX-License-Identifier: MIT
// What each thread and GPU did, when: bins of time, stacked by what it was, and below them single
// calls of ops, or works of a GPU's streams, each below what has called it.
const timeline = {
  LANE: 26,
  ROW: 16, // of calls
  ARROW: 12, // pixels of the shortest wait that has one
  ARROWS: 200, // at once
  ROWS: 10, // that call each other
  LETTER: 6.1,
  LABEL: 180,
  AXIS: 20,
  // From the bottom of a lane up. Waiting for a CPU stands right above being on one.
  ORDER: ['on CPU', 'kernels', 'copies', 'busy'],
  COLOURS: {},
  SHADES: ['f-o', 'f-p', 'f-n', 'f-g', 'f-c', 'f-k', 'f-i'], // of calls, by name

  start(data) {
    this.lanes = data.timeline.lanes;
    this.wall = data.run.wall_ns;
    this.from = 0;
    this.to = this.wall;
    this.redraw = onceAFrame(() => this.draw());
    byId('timeline').hidden = !this.lanes.length || !this.wall;
    if (byId('timeline').hidden) return;
    this.lanes.forEach((lane) => this.prepare(lane));
    for (const slices of data.slices.lanes) this.addSlices(slices);
    this.layOut();
    this.addArrows(data.arrows);
    this.nameColours(data);
    this.build(data);
  },

  // Bins come without the empty ones at their ends.
  prepare(lane) {
    const names = Object.keys(lane.bins).filter((name) => !lane.gpu || name === 'kernels' || name === 'copies');
    const rank = (name) => (this.ORDER.includes(name) ? this.ORDER.indexOf(name) : this.ORDER.length);
    lane.parts = names.sort((a, b) => rank(a) - rank(b))
      .map((name) => ({ name, first: lane.bins[name][0], values: lane.bins[name].slice(1) }));
    lane.end = Math.max(0, ...lane.parts.map((part) => part.first + part.values.length));
  },

  // To the lane of their thread; a stream is a lane behind its GPU.
  addSlices(slices) {
    const device = slices.device !== undefined;
    let at = this.lanes.findIndex((lane) => !lane.stream && lane.gpu === device
      && (device ? lane.device === slices.device : lane.tid === slices.tid && lane.pid === slices.pid));
    if (at < 0) return;
    if (device) {
      while (at + 1 < this.lanes.length && this.lanes[at + 1].stream) at++;
      const { begin_ns, end_ns, origin_ns, bin_ns, process } = this.lanes[at];
      this.lanes.splice(++at, 0, { begin_ns, end_ns, origin_ns, bin_ns, process, gpu: true, stream: true,
        thread: `stream ${slices.stream}`, parts: [], end: 0, merged: 1 });
    }
    this.lanes[at].rows = this.rowsOf(slices);
  },

  // From waits to the lanes of those that ended them, the longest first.
  addArrows(arrows) {
    const lanes = new Map(this.lanes.filter((lane) => !lane.gpu).map((lane) => [`${lane.pid} ${lane.tid}`, lane]));
    this.arrows = arrows.map(([begin, ns, tid, pid, wakerTid, wakerPid]) => ({ begin, end: begin + ns,
      from: lanes.get(`${pid} ${tid}`), to: lanes.get(`${wakerPid} ${wakerTid}`) }))
      .filter((arrow) => arrow.from && arrow.to && arrow.from !== arrow.to);
  },

  // Each call one row below the one that it is in.
  rowsOf(slices) {
    const rows = [];
    const open = [];
    let begin = 0;
    slices.begin.forEach((since, i) => {
      begin += since;
      const end = begin + slices.ns[i];
      while (open.length && open[open.length - 1] <= begin) open.pop();
      const depth = open.length;
      open.push(end);
      if (depth >= this.ROWS) return;
      const row = rows[depth] || (rows[depth] = { begin: [], end: [], name: [] });
      row.begin.push(begin);
      row.end.push(end);
      row.name.push(slices.name[i]);
    });
    return rows;
  },

  layOut() {
    let top = 0;
    for (const lane of this.lanes) {
      lane.rows = lane.rows || [];
      lane.top = top;
      lane.bar = lane.stream ? 0 : this.LANE;
      top += Math.max(lane.bar + lane.rows.length * this.ROW, this.ROW) + (lane.rows.length ? 4 : 0);
      lane.height = top - lane.top;
    }
    this.tall = top;
  },

  nameColours(data) {
    this.COLOURS = { 'on CPU': 'user', kernels: 'gpu', copies: 'net' };
    for (const phase of data.phases)
      for (const [key, name] of phase.account.parts) this.COLOURS[name] = this.COLOURS[name] || key;
    const known = ['runnable', 'lock', 'file', 'net', 'pipe', 'sleep', 'fault', 'child', 'gpu', 'stopped', 'other'];
    for (const [key, name] of data.metrics) if (known.includes(key)) this.COLOURS[name] = key;
  },

  build(data) {
    this.canvas = el('canvas', { tabindex: 0, role: 'img',
      'aria-label': 'Timeline of threads. Plus and minus zoom, arrow keys move, Escape shows all. The table of threads has the sums.',
      on: {
        mousedown: (event) => this.grab(event),
        mousemove: (event) => this.hover(event),
        wheel: (event) => this.wheel(event),
        keydown: (event) => this.key(event),
      } });
    window.addEventListener('mouseup', (event) => this.drop(event));
    this.reach = el('div', { class: 'reach' });
    this.pane = el('div', { class: 'pane', on: { scroll: () => this.redraw() } }, this.canvas, this.reach);
    this.pane.style.height = `${Math.min(this.tall + this.AXIS + 4, 520)}px`;
    this.info = el('div', { class: 'info', 'aria-live': 'polite' });
    this.range = el('span', { class: 'dim', role: 'status' });
    const left = [data.timeline.left_out ? `; ${count(data.timeline.left_out)} less busy threads are left out` : '',
      data.slices.left_out ? `; ${count(data.slices.left_out)} calls below ${duration(data.slices.least_ns)} are left out` : ''].join('');
    byId('timeline').append(
      el('div', { class: 'title' }, el('h2', { id: 'timeline-title' }, 'Timeline'),
        el('span', { class: 'dim' }, `in bins of ${duration(this.lanes[0].bin_ns)}${left}; ${this.arrows.length ? 'arrows lead from waits to who ended them; ' : ''}drag to zoom, shift and drag to move`)),
      el('div', { class: 'tools' }, button('+', () => this.zoomBy(0.5, 0.5), { 'aria-label': 'Zoom in' }),
        button('−', () => this.zoomBy(2, 0.5), { 'aria-label': 'Zoom out' }),
        button('All', () => this.set(0, this.wall)), this.range),
      this.pane, this.info, this.legend());
    new ResizeObserver(() => this.redraw()).observe(this.pane);
  },

  legend() {
    const names = [...new Set(this.lanes.flatMap((lane) => lane.parts.map((part) => part.name)))];
    return el('ul', { class: 'legend dim' }, ...names.map((name) => {
      const mark = el('i', { 'aria-hidden': 'true' });
      mark.style.background = `var(--${this.COLOURS[name] || 'other'})`;
      return el('li', {}, mark, this.ORDER.includes(name) ? name : `waiting for ${name}`);
    }));
  },

  show() {
    this.redraw();
  },

  label(lane) {
    const name = lane.thread;
    if (lane.stream) return name;
    if (lane.gpu) {
      const owner = lane.process ? ` of ${lane.process}` : '';
      return name === 'GPU' ? `GPU ${lane.tid}${owner}` : `GPU ${lane.tid}${owner}: ${name}`;
    }
    return lane.merged > 1 ? `${name} × ${lane.merged}` : `${name} (${lane.tid})`;
  },

  x(ns) {
    return this.labelWidth + ((ns - this.from) / (this.to - this.from)) * (this.width - this.labelWidth);
  },

  time(x) {
    return this.from + ((x - this.labelWidth) / (this.width - this.labelWidth)) * (this.to - this.from);
  },

  draw() {
    if (!this.canvas) return;
    this.width = this.pane.clientWidth;
    this.height = this.pane.clientHeight;
    this.labelWidth = Math.min(this.LABEL, this.width / 3);
    this.reach.style.height = `${this.tall + this.AXIS}px`;
    const context = fitCanvas(this.canvas, this.width, this.height);
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = 'middle';
    const top = this.pane.scrollTop;
    for (const lane of this.lanes) {
      const y = this.AXIS + lane.top - top;
      if (y > -lane.height && y < this.height) this.drawLane(context, lane, y);
    }
    this.drawArrows(context, top);
    this.drawAxis(context);
    this.drawPhase(context);
    if (this.dragged) this.drawChoice(context);
    this.range.textContent = `${(this.from / 1e9).toFixed(3)} to ${(this.to / 1e9).toFixed(3)} s`;
  },

  drawLane(context, lane, y) {
    const high = this.LANE - 6;
    context.fillStyle = colours.get('panel');
    const begin = Math.max(this.labelWidth, this.x(lane.begin_ns));
    const end = Math.min(this.width, this.x(lane.end_ns));
    if (end > begin) context.fillRect(begin, y + 2, end - begin, lane.height - 4);
    this.drawBins(context, lane, y + this.LANE - 3, high);
    lane.rows.forEach((row, i) => this.drawRow(context, row, y + lane.bar + i * this.ROW));
    context.fillStyle = colours.get('page');
    context.fillRect(0, y, this.labelWidth - 2, lane.height);
    context.fillStyle = colours.get('text');
    context.fillText(clip(this.label(lane), this.labelWidth - 8, 6.4), lane.stream ? 16 : 4, y + (lane.bar || this.ROW) / 2);
  },

  // As many as can be told apart: of waits that are some pixels wide.
  drawArrows(context, top) {
    const middle = (lane) => this.AXIS + lane.top - top + this.LANE / 2;
    let drawn = 0;
    context.strokeStyle = colours.get('text');
    context.fillStyle = colours.get('text');
    for (const arrow of this.arrows) {
      const [x, end] = [this.x(arrow.begin), this.x(arrow.end)];
      if (end - x < this.ARROW || drawn >= this.ARROWS) break;
      if (end < this.labelWidth || end > this.width) continue;
      const [y, to] = [middle(arrow.from), middle(arrow.to)];
      const tip = to - Math.sign(to - y) * 4;
      context.beginPath();
      context.moveTo(Math.max(x, this.labelWidth), y);
      context.lineTo(end, y);
      context.lineTo(end, tip);
      context.stroke();
      context.beginPath();
      context.moveTo(end, to);
      context.lineTo(end - 3, tip);
      context.lineTo(end + 3, tip);
      context.fill();
      drawn++;
    }
  },

  // As many bins as lie in a pixel are one box, or one bin is a box over several. All boxes of one
  // part are filled at once: that is much faster than one by one.
  drawBins(context, lane, low, high) {
    const pixel = (this.to - this.from) / (this.width - this.labelWidth);
    const step = Math.max(1, Math.ceil(pixel / lane.bin_ns));
    const first = Math.max(0, Math.floor((this.from - lane.origin_ns) / lane.bin_ns / step) * step);
    const end = Math.min(lane.end, Math.ceil((this.to - lane.origin_ns) / lane.bin_ns));
    const tops = new Float32Array(Math.max(0, Math.ceil((end - first) / step)));
    const sums = tops.map((_, i) => lane.parts.reduce((sum, part) => sum + this.shareOf(lane, part, first + i * step, step), 0));
    for (const part of lane.parts) {
      context.fillStyle = colours.get(this.COLOURS[part.name] || 'other');
      context.beginPath();
      for (let bin = first, i = 0; bin < end; bin += step, i++) {
        // Where a wait ends within a bin, samples and waits may sum to more than there is.
        const share = this.shareOf(lane, part, bin, step) / Math.max(1, sums[i]);
        if (!share) continue;
        const x = Math.max(this.labelWidth, Math.round(this.x(lane.origin_ns + bin * lane.bin_ns)));
        const to = Math.min(this.width, Math.round(this.x(lane.origin_ns + (bin + step) * lane.bin_ns)));
        if (to > x) context.rect(x, low - tops[i] - share * high, to - x, share * high);
        tops[i] += share * high;
      }
      context.fill();
    }
  },

  // The first of ROW that ends behind NS.
  firstAfter(row, ns) {
    let low = 0;
    let high = row.end.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row.end[middle] <= ns) low = middle + 1;
      else high = middle;
    }
    return low;
  },

  drawRow(context, row, y) {
    let drawn = -1; // up to this pixel
    for (let i = this.firstAfter(row, this.from); i < row.begin.length && row.begin[i] < this.to; i++) {
      const x = Math.max(this.labelWidth, this.x(row.begin[i]));
      const end = Math.max(x + 1, Math.min(this.width, this.x(row.end[i])));
      if (end <= drawn) continue;
      context.fillStyle = colours.get(this.SHADES[row.name[i] % this.SHADES.length]);
      context.fillRect(Math.max(x, drawn), y, end - Math.max(x, drawn) - (end - x > 4 ? 1 : 0), this.ROW - 2);
      drawn = Math.ceil(end);
      if (end - x < 24) continue;
      context.fillStyle = colours.get('f-text');
      context.fillText(clip(page.data.texts[row.name[i]], end - x - 4, this.LETTER), x + 2, y + this.ROW / 2 - 1);
    }
  },

  // Of the STEP bins from BIN on, 0 to 1.
  shareOf(lane, part, bin, step) {
    let sum = 0;
    const from = Math.max(0, bin - part.first);
    const end = Math.min(part.values.length, bin - part.first + step);
    for (let i = from; i < end; i++) sum += part.values[i];
    return Math.min(1, sum / 1000 / step / lane.merged);
  },

  drawAxis(context) {
    context.fillStyle = colours.get('page');
    context.fillRect(0, 0, this.width, this.AXIS);
    context.fillStyle = colours.get('dim');
    const room = (this.to - this.from) / Math.max(2, (this.width - this.labelWidth) / 90);
    const power = 10 ** Math.floor(Math.log10(room));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= room);
    const digits = Math.max(0, 9 - Math.floor(Math.log10(step)));
    for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
      context.fillRect(this.x(at), this.AXIS - 5, 1, 5);
      context.fillText(`${(at / 1e9).toFixed(Math.min(digits, 6))} s`, this.x(at) + 3, this.AXIS / 2);
    }
  },

  // Around the phase that is shown, if it is not the whole run.
  drawPhase(context) {
    const phase = page.phase;
    if (!phase || (!phase.from_ns && phase.to_ns >= this.wall)) return;
    context.fillStyle = colours.get('accent');
    for (const ns of [phase.from_ns, phase.to_ns]) {
      const x = this.x(ns);
      if (x >= this.labelWidth && x <= this.width) context.fillRect(x - 1, 0, 2, this.height);
    }
  },

  drawChoice(context) {
    const [a, b] = [this.dragged.x, this.dragged.now].sort((x, y) => x - y);
    context.globalAlpha = 0.25;
    context.fillStyle = colours.get('accent');
    context.fillRect(a, 0, b - a, this.height);
    context.globalAlpha = 1;
  },

  set(from, to) {
    const least = 1e3; // a microsecond
    const wide = Math.min(this.wall, Math.max(least, to - from));
    this.from = Math.min(Math.max(0, from), this.wall - wide);
    this.to = this.from + wide;
    this.redraw();
  },

  // AT: 0 … 1, what stays where it is.
  zoomBy(factor, at) {
    const wide = this.to - this.from;
    this.set(this.from + wide * at * (1 - factor), this.from + wide * at * (1 - factor) + wide * factor);
  },

  position(event) {
    return event.clientX - this.canvas.getBoundingClientRect().left;
  },

  grab(event) {
    const x = this.position(event);
    if (event.button !== 0 || x < this.labelWidth) return;
    if (event.shiftKey) this.moved = { x, from: this.from, to: this.to };
    else this.dragged = { x, now: x };
  },

  hover(event) {
    const x = this.position(event);
    if (this.moved) {
      const by = ((this.moved.x - x) / (this.width - this.labelWidth)) * (this.moved.to - this.moved.from);
      this.set(this.moved.from + by, this.moved.to + by);
    } else if (this.dragged) {
      this.dragged.now = Math.max(this.labelWidth, x);
      this.redraw();
    }
    this.tell(event, x);
  },

  drop() {
    const dragged = this.dragged;
    this.dragged = null;
    this.moved = null;
    if (!dragged) return;
    const [a, b] = [dragged.x, dragged.now].sort((x, y) => x - y);
    if (b - a > 3) this.set(this.time(a), this.time(b));
    else this.redraw();
  },

  tell(event, x) {
    const box = this.canvas.getBoundingClientRect();
    const y = event.clientY - box.top + this.pane.scrollTop - this.AXIS;
    const lane = this.lanes.find((one) => y >= one.top && y < one.top + one.height);
    if (!lane || x < this.labelWidth) return;
    const at = this.time(x);
    const row = lane.rows[Math.floor((y - lane.top - lane.bar) / this.ROW)];
    const call = row ? this.firstAfter(row, at) : 0;
    if (row && call < row.begin.length && row.begin[call] <= at) {
      this.info.replaceChildren(el('b', {}, page.data.texts[row.name[call]]), ` on ${this.label(lane)}`, el('br'),
        `${duration(row.end[call] - row.begin[call])} from ${(row.begin[call] / 1e9).toFixed(6)} s`);
      return;
    }
    const bin = Math.floor((at - lane.origin_ns) / lane.bin_ns);
    const parts = lane.parts.map((part) => [part.name, this.shareOf(lane, part, bin, 1)]).filter((part) => part[1] > 0.005)
      .sort((a, b) => b[1] - a[1]).map(([name, share]) => `${name} ${percent(share)} %`);
    const arrow = this.arrows.find((one) => one.from === lane && one.begin <= at && at < one.end);
    if (arrow) parts.push(`a wait of ${duration(arrow.end - arrow.begin)} that ${this.label(arrow.to)} ended`);
    this.info.replaceChildren(el('b', {}, this.label(lane)), ` ${lane.process} at ${(at / 1e9).toFixed(4)} s`,
      el('br'), parts.join(' · ') || (at < lane.begin_ns || at > lane.end_ns ? 'it did not live' : 'nothing seen'));
  },

  wheel(event) {
    const wide = this.to - this.from;
    if (event.ctrlKey) {
      event.preventDefault();
      this.zoomBy(event.deltaY < 0 ? 0.8 : 1.25, (this.time(this.position(event)) - this.from) / wide);
    } else if (event.deltaX) {
      event.preventDefault();
      this.set(this.from + (event.deltaX / this.width) * wide, this.to + (event.deltaX / this.width) * wide);
    }
  },

  key(event) {
    const wide = this.to - this.from;
    const does = {
      '+': () => this.zoomBy(0.5, 0.5),
      '=': () => this.zoomBy(0.5, 0.5),
      '-': () => this.zoomBy(2, 0.5),
      ArrowLeft: () => this.set(this.from - wide / 5, this.to - wide / 5),
      ArrowRight: () => this.set(this.from + wide / 5, this.to + wide / 5),
      Escape: () => this.set(0, this.wall),
      Home: () => this.set(0, this.wall),
    };
    if (!does[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    does[event.key]();
  },
};
