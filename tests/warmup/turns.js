// SPDX-License-Identifier: MIT
// A loop in JavaScript, whose first turn compiles many functions if HOW is cold: see real.py.
'use strict';
function load(count) {
	let x = 1;
	for (let i = 0; i < count; i++) x = (x * 1103515245 + i) | 0;
	return x;
}
function work(count) {
	let x = 1;
	for (let i = 0; i < count; i++) { x ^= x << 7; x ^= x >> 9; }
	return x;
}
function compile(count) {
	let x = 1;
	for (let i = 0; i < count; i++)
		x += new Function('x', 'let a = ' + i + '; for (let i = 0; i < 9; i++) a += x ^ ' + i + '; return a;')(i);
	return x;
}
let sum = 0;
for (let turn = 0; turn < 40; turn++) {
	sum += load(2000000);
	if (process.argv[2] === 'cold' && turn === 0)
		sum += compile(16000);
	sum += work(8000000);
}
console.log(sum);
