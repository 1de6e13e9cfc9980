// SPDX-License-Identifier: MIT
// The call tree against that of the run that is compared with: what share of all each path had there.
const compare = {
  POINTS: [0.005, 0.02, 0.08], // changes of the share of all, from which a colour begins
  SURE: 1.96, // standard errors: what samples can tell is beyond

  start(data) {
    const numbers = new Map(); // frames that are called the same are the same: lines and directories move
    const number = ([name, file, , module, kind]) => {
      const where = file === null ? (module === null ? '' : data.texts[module]) : data.texts[file];
      const key = `${data.texts[name]}\n${kind}\n${baseName(where)}`;
      if (!numbers.has(key)) numbers.set(key, numbers.size);
      return numbers.get(key);
    };
    this.same = data.diff ? data.frames.map(number) : [];
    this.joined = new Map();
  },

  // The tree of the other run that goes with KEY; null: there is none.
  baseOf(phase, key, upside) {
    const { diff } = page.data;
    if (!diff || phase !== page.data.phases[0] || !diff.flames[key] || !phase.flames[key]) return null;
    return flame.treeOf({ key: 'base', flames: diff.flames }, key, upside);
  },

  // { before: share of all by node, -1 where it was not there; gone: [[name, share]] of what is not here any more }
  join(tree, base) {
    if (this.joined.has(tree)) return this.joined.get(tree);
    const before = new Float64Array(tree.count).fill(-1);
    const gone = [];
    const pairs = [[0, 0]];
    while (pairs.length) {
      const [node, other] = pairs.pop();
      before[node] = base.total[other] / base.all;
      // Where several are called the same the heaviest goes with the heaviest: so they come.
      const others = new Map();
      for (const child of base.children(other)) {
        const number = this.same[base.frame[child]];
        others.set(number, [...(others.get(number) || []), child]);
      }
      for (const child of tree.children(node)) {
        const alike = others.get(this.same[tree.frame[child]]);
        if (alike && alike.length) pairs.push([child, alike.shift()]);
      }
      for (const child of [...others.values()].flat()) gone.push([base.frame[child], base.total[child] / base.all]);
    }
    gone.sort((a, b) => b[1] - a[1]);
    this.joined.set(tree, { before, gone });
    return this.joined.get(tree);
  },

  // How much more of all NODE has, and how sure that is: { more, level }, level -3 (far less) to 3 (far more).
  change(tree, before, node) {
    const now = tree.total[node] / tree.all;
    const was = Math.max(0, before[node]);
    const more = now - was;
    const error = Math.sqrt((now * (1 - now)) / Math.max(1, page.data.run.samples)
      + (was * (1 - was)) / Math.max(1, page.data.diff.base_samples));
    const level = Math.abs(more) < this.SURE * error ? 0 : this.POINTS.filter((point) => Math.abs(more) >= point).length;
    return { more, level: more < 0 ? -level : level };
  },

  colour(level) {
    return level > 0 ? `d-more-${level}` : level < 0 ? `d-less-${-level}` : 'd-same';
  },

  // "+12.3", in points of a hundred; "" where there is nothing to tell.
  sign({ more, level }) {
    return level ? `${more < 0 ? '−' : '+'}${percent(Math.abs(more))} ` : '';
  },

  words(tree, before, node) {
    if (before[node] < 0) return 'not there before';
    const { more, level } = this.change(tree, before, node);
    const told = `${percent(before[node])} % of all before`;
    if (!level) return `${told}: no significant change`;
    return `${told}: ${percent(Math.abs(more))} points ${more < 0 ? 'less' : 'more'} now`;
  },

  legend(data, gone) {
    const item = (colour, words) => {
      const mark = el('i', { 'aria-hidden': 'true' });
      mark.style.background = `var(--${colour})`;
      return el('li', {}, mark, words);
    };
    const lost = gone.filter(([, share]) => share >= this.POINTS[0]).slice(0, 5)
      .map(([frame, share]) => `${data.texts[data.frames[frame][0]]} (${percent(share)} %)`);
    return [item('d-more-3', 'more of all than before (+, in points)'), item('d-less-3', 'less of all than before (−)'),
      item('d-same', 'as before, or nobody can tell'),
      lost.length ? el('li', {}, `not here any more: ${lost.join(', ')}`) : null].filter(Boolean);
  },
};
