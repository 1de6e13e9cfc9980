// SPDX-License-Identifier: MIT
// Small things that all parts use: elements, numbers for people, colours.

// A new element. Names and sources of the profile only ever become text: nothing is parsed.
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'on') {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (name === 'class') {
      element.className = value;
    } else if (value === true) {
      element.setAttribute(name, '');
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const byId = (id) => document.getElementById(id);

function button(text, onClick, attributes) {
  return el('button', { type: 'button', on: { click: onClick }, ...attributes }, text);
}

// "1.23 s", three digits and a unit.
function duration(ns) {
  if (ns === null || ns === undefined) return '';
  if (ns >= 3600e9) return `${Math.floor(ns / 3600e9)} h ${String(Math.floor(ns / 60e9) % 60).padStart(2, '0')} min`;
  if (ns >= 60e9) return `${Math.floor(ns / 60e9)} min ${String(Math.floor(ns / 1e9) % 60).padStart(2, '0')} s`;
  const [size, unit] = ns >= 1e9 ? [1e9, 's'] : ns >= 1e6 ? [1e6, 'ms'] : ns >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  return `${threeDigits(ns / size, size === 1)} ${unit}`;
}

function threeDigits(value, whole) {
  return value.toFixed(whole || value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

function bytes(count) {
  if (count === null || count === undefined) return '';
  let unit = 0;
  while (count >= 1024 && unit < 5) {
    count /= 1024;
    unit++;
  }
  return `${threeDigits(count, unit === 0)} ${['B', 'KB', 'MB', 'GB', 'TB', 'PB'][unit]}`;
}

// Of any size and sign, as the text report prints it.
function anyNumber(value) {
  const size = Math.abs(value);
  const sign = value < 0 ? '-' : '';
  if (size < 1e8 && Number.isInteger(size)) return sign + count(size);
  const step = Math.floor(Math.log10(size) / 3);
  if (size >= 1e8 && size < 1e18) return `${sign}${threeDigits(size / 1000 ** step, false)} ${['', 'K', 'M', 'G', 'T', 'P', 'E'][step]}`;
  return sign + Number(size.toPrecision(4));
}

const count = (number) => (number === null || number === undefined ? '' : number.toLocaleString('en'));
const percent = (share) => (share === null || share === undefined ? '' : (100 * share).toFixed(1));
const amount = (value, unit) => (unit === 'bytes' ? bytes(value) : duration(value));
const baseName = (path) => path.replace(/^.*\/(?=[^/])/, '');

// [file, line, module] in short.
function placeText(place) {
  if (!place) return '';
  const [file, line, module] = place;
  if (file) return line ? `${baseName(file)}:${line}` : baseName(file);
  if (!module) return '';
  return module.startsWith('[') ? module : `[${baseName(module)}]`;
}

function placeTitle(place) {
  if (!place) return '';
  const [file, line, module] = place;
  return [file ? (line ? `${file}:${line}` : file) : null, module].filter(Boolean).join(' in ');
}

// A colour of the style sheet. They change with the theme.
const colours = {
  values: new Map(),
  get(name) {
    if (!this.values.has(name))
      this.values.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
    return this.values.get(name);
  },
  forget() {
    this.values.clear();
  },
};

// By what a thread does; the names are those of the data.
const metricColour = {
  'user code': 'user',
  'on CPU': 'user',
  kernel: 'kernel',
  busy: 'gpu',
};

// Fits CANVAS to WIDTH times HEIGHT pixels of the page; returns what to draw with.
function fitCanvas(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

// As much of TEXT as fits into WIDTH in a font all of whose letters are LETTER wide.
function clip(text, width, letter) {
  const room = Math.floor(width / letter);
  if (text.length <= room) return text;
  return room < 3 ? '' : `${text.slice(0, room - 1)}…`;
}

// Calls DRAW once before the next frame, however often it is asked.
function onceAFrame(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };
}

// What all parts look at. Each part has show(phase), and redraw() where it draws by itself.
const page = {
  data: null,
  phase: null,
  parts: [],
  sourceOf: new Map(), // file -> its source
};
