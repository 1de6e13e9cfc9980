// SPDX-License-Identifier: MIT
// Begins: reads the data, starts the parts, and hears what concerns all of them.
function choosePhase(phase) {
  page.phase = phase;
  for (const part of page.parts) if (part.show) part.show(phase);
}

const theme = {
  start() {
    const dark = window.matchMedia('(prefers-color-scheme: dark)');
    this.set(dark.matches ? 'dark' : 'light');
    dark.addEventListener('change', () => this.set(dark.matches ? 'dark' : 'light'));
    byId('theme').addEventListener('click', () => this.set(this.name === 'dark' ? 'light' : 'dark'));
  },

  set(name) {
    this.name = name;
    document.documentElement.dataset.theme = name;
    byId('theme').textContent = name === 'dark' ? 'Light' : 'Dark';
    byId('theme').setAttribute('aria-label', `Switch to ${name === 'dark' ? 'light' : 'dark'} colours`);
    colours.forget();
    for (const part of page.parts) if (part.redraw) part.redraw();
  },
};

function heardByAll(event) {
  const writing = event.target.closest && event.target.closest('input, select, textarea');
  if (event.key !== '/' || writing || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  flame.search.focus();
  flame.search.scrollIntoView({ block: 'nearest' });
}

function begin() {
  page.data = JSON.parse(byId('data').textContent);
  page.parts = [source, header, verdict, warmup, account, findings, charts, diff, compare, flame, tables, timeline, memory, steps, notes, paper];
  for (const part of page.parts) if (part.start) part.start(page.data);
  theme.start();
  choosePhase(page.data.phases[0]);
  document.addEventListener('keydown', heardByAll);
  document.documentElement.dataset.ready = 'true';
}

begin();
