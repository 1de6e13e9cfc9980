// SPDX-License-Identifier: MIT
// A call tree: columns of nodes, callers first, each caller's callees right behind it.

class Tree {
  // NODES: { depth, frame, self, total }, arrays of one length.
  constructor(nodes, unit) {
    Object.assign(this, nodes);
    this.unit = unit;
    this.count = this.depth.length;
    this.all = this.total[0];
    this.parent = new Int32Array(this.count).fill(-1);
    this.end = new Int32Array(this.count); // behind the last node below it
    this.start = new Float64Array(this.count); // what is to its left
    this.deepest = 0;
    this.link();
  }

  link() {
    const open = [];
    const filled = new Float64Array(this.count);
    for (let i = 0; i < this.count; i++) {
      while (open.length > this.depth[i]) this.end[open.pop()] = i;
      const up = open.length ? open[open.length - 1] : -1;
      this.parent[i] = up;
      this.start[i] = up < 0 ? 0 : this.start[up] + filled[up];
      if (up >= 0) filled[up] += this.total[i];
      this.deepest = Math.max(this.deepest, this.depth[i]);
      open.push(i);
    }
    for (const i of open) this.end[i] = this.count;
  }

  firstChild(i) {
    return i + 1 < this.end[i] ? i + 1 : -1;
  }

  next(i) {
    const up = this.parent[i];
    return up >= 0 && this.end[i] < this.end[up] ? this.end[i] : -1;
  }

  previous(i) {
    if (this.parent[i] < 0) return -1;
    let before = -1;
    for (let at = this.parent[i] + 1; at < i; at = this.end[at]) before = at;
    return before;
  }

  children(i) {
    const found = [];
    for (let at = this.firstChild(i); at >= 0; at = this.next(at)) found.push(at);
    return found;
  }

  path(i) {
    const nodes = [];
    for (; i >= 0; i = this.parent[i]) nodes.unshift(i);
    return nodes;
  }

  // What lies in nodes whose frame is one of FRAMES, each moment once: { places, sum }.
  sumOf(frames) {
    let places = 0;
    let sum = 0;
    for (let i = 1; i < this.count;) {
      const hit = frames.has(this.frame[i]);
      if (hit) {
        places++;
        sum += this.total[i];
      }
      i = hit ? this.end[i] : i + 1;
    }
    return { places, sum };
  }

  // Callees first, their callers below them. Paths of less than LEAST of all are left out.
  inverted(least) {
    const out = { depth: [0], frame: [this.frame[0]], self: [0], total: [this.all] };
    const first = [];
    for (let i = 1; i < this.count; i++) if (this.self[i]) first.push({ at: i, weight: this.self[i] });
    this.invertBelow(first, 1, least * this.all, out);
    return new Tree(out, this.unit);
  }

  // WAYS: callers (at) of one inverted path with what each weighs.
  invertBelow(ways, depth, least, out) {
    const groups = new Map();
    for (const way of ways) {
      const frame = this.frame[way.at];
      const group = groups.get(frame) || { frame, weight: 0, ways: [] };
      group.weight += way.weight;
      group.ways.push(way);
      groups.set(frame, group);
    }
    const sorted = [...groups.values()].filter((group) => group.weight >= least)
      .sort((a, b) => b.weight - a.weight);
    for (const group of sorted) {
      const callers = group.ways.map((way) => ({ at: this.parent[way.at], weight: way.weight })).filter((way) => way.at > 0);
      const called = callers.reduce((sum, way) => sum + way.weight, 0);
      out.depth.push(depth);
      out.frame.push(group.frame);
      out.total.push(group.weight);
      out.self.push(depth === 1 ? group.weight : group.weight - called);
      this.invertBelow(callers, depth + 1, least, out);
    }
  }
}
