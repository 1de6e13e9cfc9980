// SPDX-License-Identifier: MIT
// The flame graph: callers above their callees, as wide as their time. Only what is in sight is drawn.
const flame = {
  ROW: 19,
  LETTER: 6.7, // width of a letter of the font below
  FONT: '11px ui-monospace, "DejaVu Sans Mono", monospace',
  NARROW: 3, // pixels: below, neighbours of one colour are drawn as one
  INVERTED_LEAST: 0.0005,
  ROWS_LEAST: 8,
  KINDS: { x: 'no code', n: 'native', i: 'inlined', k: 'kernel', p: 'Python', c: 'C function called by Python', o: 'op', g: "waiting for Python's lock" },

  start(data) {
    this.data = data;
    this.trees = new Map(); // of a phase and a key: built when they are asked for
    this.key = null;
    this.upside = false;
    this.query = '';
    this.hits = null;
    this.focus = 0;
    this.cursor = 0;
    this.redraw = onceAFrame(() => this.draw());
    this.build();
  },

  build() {
    this.search = el('input', { type: 'search', placeholder: 'Search   /', 'aria-label': 'Search the flame graph',
      on: { input: () => this.find(this.search.value), keydown: (event) => this.searchKey(event) } });
    this.found = el('span', { class: 'dim', role: 'status' });
    this.modes = el('div', { class: 'group', role: 'group', 'aria-label': 'What the width shows' });
    this.turn = button('Invert', () => this.invert(), { 'aria-pressed': 'false', title: 'Callees first, their callers below' });
    this.home = button('Reset zoom', () => this.zoom(0));
    this.versus = button('Changes', () => this.against(), { 'aria-pressed': 'true',
      title: 'Colours by how much more, or less, of all a path has than in the run that is compared with' });
    this.comparing = true;
    this.canvas = el('canvas', { tabindex: 0, role: 'img',
      'aria-label': 'Flame graph. Arrow keys move, Enter zooms, Escape resets; the table below has the same.',
      'aria-describedby': 'flame-info',
      on: {
        click: (event) => this.click(event),
        mousemove: (event) => this.hover(event),
        mouseleave: () => this.tell(this.cursor),
        keydown: (event) => this.key_(event),
        focus: () => this.redraw(),
        blur: () => this.redraw(),
      } });
    this.reach = el('div', { class: 'reach' });
    this.pane = el('div', { class: 'pane', on: { scroll: () => this.redraw() } }, this.canvas, this.reach);
    this.info = el('div', { class: 'info', id: 'flame-info', 'aria-live': 'polite' });
    this.legend = el('ul', { class: 'legend dim' });
    this.table = el('div', {});
    this.alternative = el('details', { on: { toggle: () => this.fillTable() } },
      el('summary', {}, 'As a table: what the focused frame calls'), this.table);
    byId('flame').append(
      el('div', { class: 'title' }, el('h2', { id: 'flame-title' }, 'Call tree'),
        (this.note = el('span', { class: 'dim' }))),
      el('div', { class: 'tools' }, this.modes, this.turn, this.home, this.versus, this.search, this.found),
      this.info, this.pane, this.legend, this.alternative);
    new ResizeObserver(() => this.redraw()).observe(this.pane);
  },

  show(phase) {
    const keys = Object.keys(phase.flames);
    byId('flame').hidden = !keys.length;
    if (!keys.length) return;
    if (!keys.includes(this.key)) this.key = keys[0];
    this.modes.replaceChildren(...keys.map((key) =>
      button(phase.flames[key].title, () => this.choose(key), { 'data-key': key, 'aria-pressed': String(key === this.key) })));
    this.load();
  },

  choose(key) {
    this.key = key;
    for (const one of this.modes.children) one.setAttribute('aria-pressed', one.dataset.key === key);
    this.load();
  },

  invert() {
    this.upside = !this.upside;
    this.turn.setAttribute('aria-pressed', this.upside);
    this.load();
  },

  against() {
    this.comparing = !this.comparing;
    this.versus.setAttribute('aria-pressed', this.comparing);
    this.load();
  },

  treeOf(phase, key, upside) {
    const name = `${phase.key} ${key} ${upside}`;
    if (!this.trees.has(name)) {
      const nodes = phase.flames[key];
      const tree = upside ? this.treeOf(phase, key, false).inverted(this.INVERTED_LEAST) : new Tree(nodes, nodes.unit);
      this.trees.set(name, tree);
    }
    return this.trees.get(name);
  },

  load() {
    this.tree = this.treeOf(page.phase, this.key, this.upside);
    const base = compare.baseOf(page.phase, this.key, this.upside);
    this.versus.hidden = !base;
    this.joined = base && this.comparing ? compare.join(this.tree, base) : null;
    this.focus = 0;
    this.cursor = 0;
    const rows = Math.max(this.ROWS_LEAST, this.tree.deepest + 1);
    this.pane.style.height = `min(60vh, 34rem, ${rows * this.ROW + 4}px)`;
    this.pane.scrollTop = 0;
    const least = this.upside ? this.INVERTED_LEAST : page.phase.flames[this.key].least_share;
    this.note.textContent = `${amount(this.tree.all, this.tree.unit)}, ${page.phase.flames[this.key].title}`
      + `${this.upside ? ', callees first' : ''}; without paths below ${(100 * least).toFixed(2)} %`;
    this.showLegend();
    this.find(this.query);
    this.tell(0);
    this.fillTable();
  },

  showLegend() {
    if (this.joined) {
      this.legend.replaceChildren(...compare.legend(this.data, this.joined.gone));
      return;
    }
    const kinds = new Set(Array.from(this.tree.frame, (frame) => this.data.frames[frame][4]));
    this.legend.replaceChildren(...Object.keys(this.KINDS).filter((kind) => kinds.has(kind)).map((kind) => {
      const mark = el('i', { 'aria-hidden': 'true' });
      mark.style.background = `var(--f-${kind})`;
      return el('li', {}, mark, this.KINDS[kind]);
    }));
  },

  text(index) {
    return index === null ? null : this.data.texts[index];
  },

  name(node) {
    return this.text(this.data.frames[this.tree.frame[node]][0]);
  },

  place(node) {
    const [, file, line, module] = this.data.frames[this.tree.frame[node]];
    return [this.text(file), line || null, this.text(module)];
  },

  // What is on the screen: x of a moment in the tree, in pixels.
  scale() {
    return this.width / this.tree.total[this.focus];
  },

  draw() {
    const tree = this.tree;
    if (!tree) return;
    this.width = this.pane.clientWidth;
    this.height = this.pane.clientHeight;
    this.top = this.pane.scrollTop; // asked for once: it is slow
    this.active = document.activeElement === this.canvas;
    this.reach.style.height = `${(tree.deepest + 1) * this.ROW}px`;
    const context = fitCanvas(this.canvas, this.width, this.height);
    context.font = this.FONT;
    context.textBaseline = 'middle';
    context.fillStyle = colours.get('page');
    context.fillRect(0, 0, this.width, this.height);
    for (const node of tree.path(this.focus).slice(0, -1)) this.box(context, node, 0, this.width, true);
    const scale = this.scale();
    const origin = tree.start[this.focus];
    const runs = new Map(); // by depth: of boxes too narrow to tell apart, what is not drawn yet
    for (let i = this.focus; i < tree.end[this.focus];) {
      const wide = tree.total[i] * scale;
      const y = tree.depth[i] * this.ROW - this.top;
      if (wide < 0.4 || y > this.height) {
        i = tree.end[i];
        continue;
      }
      if (y > -this.ROW && (wide >= this.NARROW || i === this.cursor)) this.box(context, i, (tree.start[i] - origin) * scale, wide, false);
      else if (y > -this.ROW) this.addToRun(context, runs, i, (tree.start[i] - origin) * scale, wide);
      i++;
    }
    for (const run of runs.values()) this.drawRun(context, run);
  },

  // The name of NODE's colour in the style sheet.
  colourOf(node) {
    const frame = this.tree.frame[node];
    if (this.hits && this.hits.has(frame)) return 'f-hit';
    return this.joined ? compare.colour(this.change(node).level) : `f-${this.data.frames[frame][4]}`;
  },

  change(node) {
    return compare.change(this.tree, this.joined.before, node);
  },

  label(node) {
    const name = this.name(node);
    if (!this.joined || !node) return name;
    return this.joined.before[node] < 0 ? `new: ${name}` : `${compare.sign(this.change(node))}${name}`;
  },

  addToRun(context, runs, node, x, width) {
    const run = runs.get(this.tree.depth[node]);
    const frame = this.tree.frame[node];
    const hit = this.hits && this.hits.has(frame);
    const colour = this.colourOf(node);
    if (run && run.colour === colour && x - run.end < 1) {
      run.end = x + width;
      return;
    }
    if (run) this.drawRun(context, run);
    runs.set(this.tree.depth[node], { colour, faded: this.hits && !hit, x, end: x + width, depth: this.tree.depth[node] });
  },

  drawRun(context, run) {
    context.globalAlpha = run.faded ? 0.45 : 1;
    context.fillStyle = colours.get(run.colour);
    context.fillRect(run.x, run.depth * this.ROW - this.top, run.end - run.x, this.ROW - 1);
    context.globalAlpha = 1;
  },

  box(context, node, x, width, faded) {
    const hit = this.hits && this.hits.has(this.tree.frame[node]);
    const y = this.tree.depth[node] * this.ROW - this.top;
    const inner = Math.max(0.4, width - (width > 3 ? 1 : 0));
    context.globalAlpha = faded || (this.hits && !hit) ? 0.45 : 1;
    context.fillStyle = colours.get(this.colourOf(node));
    context.fillRect(x, y, inner, this.ROW - 1);
    context.globalAlpha = 1;
    if (width > 24) {
      context.fillStyle = colours.get(hit ? 'f-hit-text' : 'f-text');
      context.fillText(clip(this.label(node), width - 6, this.LETTER), x + 3, y + this.ROW / 2);
    }
    if (node === this.cursor && this.active) {
      context.strokeStyle = colours.get('text');
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(2, inner - 2), this.ROW - 3);
    }
  },

  // The node at a place of the canvas; -1: none.
  nodeAt(event) {
    const tree = this.tree;
    const box = this.canvas.getBoundingClientRect();
    const depth = Math.floor((event.clientY - box.top + this.pane.scrollTop) / this.ROW);
    const path = tree.path(this.focus);
    if (depth < path.length) return path[depth] ?? -1;
    const moment = tree.start[this.focus] + (event.clientX - box.left) / this.scale();
    for (let i = this.focus + 1; i < tree.end[this.focus];) {
      const inside = moment >= tree.start[i] && moment < tree.start[i] + tree.total[i];
      if (inside && tree.depth[i] === depth) return i;
      i = inside ? i + 1 : tree.end[i];
    }
    return -1;
  },

  tell(node) {
    const tree = this.tree;
    const up = tree.parent[node];
    const self = tree.self[node];
    const place = placeTitle(this.place(node));
    const numbers = [`${amount(tree.total[node], tree.unit)}, ${percent(tree.total[node] / tree.all)} % of all`];
    if (up > 0) numbers.push(`${percent(tree.total[node] / tree.total[up])} % of ${this.upside ? 'its callee' : 'its caller'}`);
    if (self && !this.upside) numbers.push(`itself ${amount(self, tree.unit)}`);
    if (this.joined && node) numbers.push(compare.words(tree, this.joined.before, node));
    this.info.replaceChildren(el('b', {}, this.name(node)), el('span', { class: 'dim' }, place ? `  ${place}` : ''),
      el('br'), numbers.join(' · '));
  },

  hover(event) {
    const node = this.nodeAt(event);
    this.canvas.style.cursor = node >= 0 ? 'pointer' : 'default';
    if (node >= 0) this.tell(node);
  },

  click(event) {
    const node = this.nodeAt(event);
    if (node >= 0) this.zoom(node === this.focus ? Math.max(0, this.tree.parent[node]) : node);
  },

  zoom(node) {
    this.focus = node;
    this.move(node);
    this.fillTable();
  },

  move(node) {
    if (node < 0) return;
    this.cursor = node;
    const y = this.tree.depth[node] * this.ROW;
    if (y < this.pane.scrollTop) this.pane.scrollTop = y;
    if (y + this.ROW > this.pane.scrollTop + this.pane.clientHeight)
      this.pane.scrollTop = y + this.ROW - this.pane.clientHeight;
    this.tell(node);
    this.redraw();
  },

  key_(event) {
    const tree = this.tree;
    const moves = {
      ArrowUp: () => this.move(tree.parent[this.cursor]),
      ArrowDown: () => this.move(tree.firstChild(this.cursor)),
      ArrowLeft: () => this.move(tree.previous(this.cursor)),
      ArrowRight: () => this.move(tree.next(this.cursor)),
      Home: () => this.move(0),
      Enter: () => this.zoom(this.cursor),
      Escape: () => this.zoom(0),
    };
    if (!moves[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    // Out of the part that is zoomed to there is nothing to be seen: then that is shown.
    moves[event.key]();
    if (this.cursor < this.focus || this.cursor >= tree.end[this.focus]) this.zoom(this.cursor);
  },

  searchKey(event) {
    if (event.key === 'Escape') {
      this.search.value = '';
      this.find('');
      this.canvas.focus();
    } else if (event.key === 'Enter') {
      this.nextHit();
    }
  },

  find(query) {
    this.query = query;
    const wanted = query.toLowerCase();
    this.hits = null;
    this.found.textContent = '';
    if (wanted) {
      this.hits = new Set();
      this.data.frames.forEach((frame, i) => {
        const file = this.text(frame[1]);
        if (this.text(frame[0]).toLowerCase().includes(wanted) || (file && file.toLowerCase().includes(wanted)))
          this.hits.add(i);
      });
      const { places, sum } = this.tree.sumOf(this.hits);
      this.found.textContent = `${percent(sum / this.tree.all)} % (${amount(sum, this.tree.unit)}) in ${count(places)} ${places === 1 ? 'place' : 'places'}`;
    }
    this.redraw();
  },

  nextHit() {
    const tree = this.tree;
    for (let step = 1; step <= tree.count; step++) {
      const i = (this.cursor + step) % tree.count;
      if (this.hits && this.hits.has(tree.frame[i])) {
        if (i < this.focus || i >= tree.end[this.focus]) this.focus = 0;
        this.move(i);
        return;
      }
    }
  },

  fillTable() {
    if (!this.alternative.open || !this.tree) return;
    const tree = this.tree;
    const way = el('p', {}, ...tree.path(this.focus).flatMap((node, i) =>
      [i ? ' › ' : '', button(this.name(node), () => this.zoom(node), { class: 'place' })]));
    const rows = tree.children(this.focus).map((node) => el('tr', {},
      el('td', { class: 'num' }, amount(tree.total[node], tree.unit)),
      el('td', { class: 'num' }, percent(tree.total[node] / tree.all)),
      this.joined ? el('td', {}, compare.words(tree, this.joined.before, node)) : null,
      el('td', { class: 'num' }, this.upside ? '' : amount(tree.self[node], tree.unit)),
      el('td', { class: 'text' }, button(this.name(node), () => this.zoom(node), { class: 'place' })),
      el('td', { class: 'text' }, placeText(this.place(node)))));
    this.table.replaceChildren(way, el('div', { class: 'scroll', tabindex: 0 }, el('table', {},
      el('thead', {}, el('tr', {}, ...[['total', 'num'], ['% of all', 'num'],
        ...(this.joined ? [['before', '']] : []), ['itself', 'num'], [this.upside ? 'caller' : 'callee', ''], ['where', '']]
        .map(([title, kind]) => el('th', { scope: 'col', class: kind }, title)))),
      el('tbody', {}, ...rows))));
  },
};
