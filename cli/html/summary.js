// SPDX-License-Identifier: MIT
// The header, the verdict, the findings, the warm-up note and the wall time.

// A place that can be gone to, where its source is here.
function placeLink(place) {
  const text = placeText(place);
  if (!text) return null;
  if (!place[0] || !page.sourceOf.has(place[0])) return el('code', { title: placeTitle(place) }, text);
  return button(text, () => source.goTo(place[0], place[1]), { class: 'place', title: placeTitle(place) });
}

const header = {
  start(data) {
    const run = data.run;
    const pids = (run.attached_pids || String(run.attached_pid)).split(',');
    const status = run.signal !== null ? `killed by signal ${run.signal}`
      : run.exit_status !== null ? `exit ${run.exit_status}`
      : !run.complete ? 'unfinished'
      : !run.attached_pid ? 'exit unknown'
      : `attached to ${pids.length === 1 ? 'PID' : 'PIDs'} ${pids.join(', ')}`;
    const plural = (number, word, many) => `${count(number)} ${number === 1 ? word : many}`;
    document.title = `bottleneck: ${run.command || '?'}`;
    byId('command').textContent = run.command || '?';
    byId('facts').textContent = [
      duration(run.wall_ns), status, plural(data.processes, 'process', 'processes'),
      plural(data.threads, 'thread', 'threads'), run.host,
      new Date(run.start_realtime_ns / 1e6).toISOString().replace('T', ' ').slice(0, 16) + ' UTC',
      data.cut,
    ].filter(Boolean).join(' · ');
    byId('footer').textContent = `bottleneck ${run.version || ''}: made without network access, and needs none.`;
    this.startPhases(data);
  },

  startPhases(data) {
    const nav = byId('phases');
    nav.hidden = data.phases.length < 2;
    nav.append(el('span', { class: 'dim' }, 'Show'));
    this.buttons = data.phases.map((phase) =>
      button(`${phase.title} (${duration(phase.to_ns - phase.from_ns)})`, () => choosePhase(phase),
        { 'data-phase': phase.key }));
    nav.append(...this.buttons);
  },

  show(phase) {
    for (const one of this.buttons)
      one.setAttribute('aria-pressed', one.dataset.phase === phase.key);
  },
};

const verdict = {
  show(phase) {
    byId('verdict').replaceChildren(
      el('p', { class: 'sentence' }, phase.verdict.sentence),
      el('p', { class: 'next' }, phase.verdict.next));
  },
};

const findings = {
  SHOWN: 3,

  show(phase) {
    const own = phase.findings.filter((finding) => !finding.covered_by);
    const rest = phase.findings.filter((finding) => finding.covered_by);
    const section = byId('findings');
    const note = phase.findings_from_ns && !phase.from_ns
      ? `after ${duration(phase.findings_from_ns)}, in the steady state` : '';
    section.replaceChildren(el('div', { class: 'title' },
      el('h2', { id: 'findings-title' }, own.length > 1 ? 'Findings, worst first' : 'Findings'),
      el('span', { class: 'dim' }, note)));
    if (!own.length)
      section.append(el('p', {},
        `Nothing stood out: ${phase.rules_asked} of ${phase.rules} rules could be asked.`));
    section.append(this.list(own.slice(0, this.SHOWN), 1));
    if (own.length > this.SHOWN)
      section.append(el('details', { class: 'more' }, el('summary', {}, `${own.length - this.SHOWN} more`),
        this.list(own.slice(this.SHOWN), this.SHOWN + 1)));
    if (rest.length)
      section.append(el('details', {}, el('summary', {}, `${rest.length} that these explain`), this.list(rest, 0)));
  },

  list(items, start) {
    return el('ol', { class: 'findings' }, ...items.map((item, i) => this.item(item, start ? start + i : 0)));
  },

  item(finding, number) {
    const place = finding.file ? [finding.file, finding.line, null] : null;
    const head = el('div', { class: 'head' },
      el('span', { class: 'id' }, `${number ? `${number}. ` : ''}${finding.id}`),
      finding.saving_ns ? el('span', { class: 'saving' }, duration(finding.saving_ns)) : null,
      el('span', {}, finding.title),
      placeLink(place),
      this.saves(finding));
    const evidence = finding.evidence.map((row) => this.evidence(row));
    return el('li', { class: `finding ${finding.severity}` }, head,
      el('p', {}, `${finding.fact}.`),
      evidence.length ? el('ul', {}, ...evidence) : null,
      el('p', {}, el('strong', {}, 'Do: '), finding.advice || ''));
  },

  // What a change at the place saves, where it is known from where to where.
  saves(finding) {
    if (!finding.function || !finding.saving_high_ns) return null;
    const high = duration(finding.saving_high_ns), low = duration(finding.saving_low_ns || 0);
    const range = finding.saving_low_ns && low !== high ? `${low} to ${high}` : `at most ${high}`;
    return el('span', { class: 'range' }, `a change there saves ${range}`);
  },

  evidence(row) {
    const numbers = [row.ns ? duration(row.ns) : null, row.share ? `${percent(row.share)} %` : null,
      row.calls ? `${count(row.calls)} calls` : null].filter(Boolean).join(', ');
    return el('li', {}, el('code', {}, row.function || '?'), ' ',
      row.file ? placeLink([row.file, row.line, null]) : null,
      row.callee ? ` calling ${row.callee}` : '', numbers ? `: ${numbers}` : '');
  },
};

const warmup = {
  start(data) {
    const lines = data.phases[0].notes.warmup;
    if (!lines) return;
    const section = byId('warmup');
    section.hidden = false;
    section.append(el('h2', {}, lines[0]), ...lines.slice(1).map((line) => el('p', {}, line.trim())));
  },
};

// Parts of a whole as a bar, with a list of them: [colour, name, share, ns].
function partsOf(parts) {
  const bar = el('div', { class: 'wall', role: 'img', 'aria-label': 'Bar of the parts that the list below names' });
  const legend = el('ul', { class: 'legend' });
  for (const [colour, name, share, ns] of parts) {
    const box = el('span', { title: `${name} ${percent(share)} %` });
    box.style.width = `${100 * share}%`;
    box.style.background = `var(--${colour})`;
    bar.append(box);
    const mark = el('i', { 'aria-hidden': 'true' });
    mark.style.background = `var(--${colour})`;
    legend.append(el('li', {}, mark, `${name} `, el('b', {}, `${percent(share)} %`), el('span', { class: 'dim' }, ` ${duration(ns)}`)));
  }
  return [bar, legend];
}

const account = {
  show(phase) {
    const own = phase.account;
    const all = own.parts.reduce((sum, part) => sum + part[2], 0);
    const section = byId('account');
    section.hidden = !all;
    const who = own.by_wall ? '' : ` of ${own.main ? 'the main thread' : `the busiest thread, ${own.thread} (${own.tid}) in ${own.process}`}`;
    const how = own.by_wall ? ', by what the end of the run waited for' : own.exact ? '' : ', estimated from samples';
    const parts = own.parts.map(([key, name, ns]) =>
      [key, key === 'user' || key === 'kernel' ? name : `waiting for ${name}`, ns / all, ns]);
    section.replaceChildren(el('div', { class: 'title' }, el('h2', { id: 'account-title' }, `Wall time${who}`),
      el('span', { class: 'dim' }, `${duration(own.lifetime_ns)}${how}`)),
    ...partsOf(parts), el('p', { class: 'dim' }, this.notes(own).join(' ')), ...this.parallel());
  },

  notes(own) {
    const notes = [];
    if (own.by_wall && own.gil_all_waited_ns)
      notes.push(`Python's lock, the GIL: held ${percent(own.gil_turns_ns / own.lifetime_ns)} %, by threads in turns; all threads waited ${duration(own.gil_all_waited_ns)}.`);
    else if (own.gil_held_ns || own.gil_waited_ns)
      notes.push(`Python's lock, the GIL: held ${percent(own.gil_held_ns / own.lifetime_ns)} %, waited for ${percent(own.gil_waited_ns / own.lifetime_ns)} %.`);
    const waited = own.runnable_quota_ns + own.runnable_own_threads_ns + own.runnable_others_ns + own.runnable_idle_ns;
    if (waited > own.lifetime_ns / 100) {
      const causes = [['CPU quota (cgroup)', own.runnable_quota_ns], ['own threads', own.runnable_own_threads_ns],
        ['other processes', own.runnable_others_ns], ['nobody (a CPU was idle)', own.runnable_idle_ns]].filter(([, ns]) => ns > waited / 100);
      notes.push(`Waiting for a free CPU, by cause: ${causes.map(([name, ns]) => `${name} ${percent(ns / waited)} %`).join(', ')}.`);
    }
    if (page.data.threads > 1)
      notes.push(`All threads: ${own.cpus_busy.toFixed(1)} of ${Math.min(page.data.run.cpus, page.data.run.cpu_quota || page.data.run.cpus)} CPUs busy on average.`);
    return notes;
  },

  SHADES: ['other', 'warn', 'd-less-2', 'd-less-3'],

  // How many threads were on CPUs at once, of the whole run.
  parallel() {
    const table = page.data.phases[0].tables.parallel;
    if (!table) return [];
    const at = (key) => table.columns.findIndex((column) => column[0] === key);
    const name = (threads) => (threads === 0 ? 'no thread' : threads === 1 ? 'one thread' : `${threads} threads`);
    const shade = (threads) => this.SHADES[Math.min(threads, this.SHADES.length - 1)];
    const parts = table.rows.filter((row) => row[at('ns')]).map((row) =>
      [shade(row[at('threads')]), name(row[at('threads')]), row[at('share')], row[at('ns')]]);
    return [el('div', { class: 'parallel' }, el('h3', {}, 'On CPUs at once, of the whole run'), ...partsOf(parts),
      ...(table.words || []).map((words) => el('p', { class: 'dim' }, `${words}.`)))];
  },
};

const notes = {
  show() {
    const section = byId('notes');
    const limits = (page.data.phases[0].notes.limits || []).map((line) => line.trim());
    section.replaceChildren(el('h2', { id: 'notes-title' }, 'What this rests on, and what it cannot show'),
      el('ul', {}, ...limits.filter((line) => line !== 'limits').map((line) => el('li', {}, line))));
  },
};
