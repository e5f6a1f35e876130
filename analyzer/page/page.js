// SPDX-License-Identifier: Apache-2.0
// The page's core: data, selection, words and figures, and the list of sections.
//
// Every other script calls wcprof.section() once. Text from the data goes into text nodes and
// attributes only, never into markup. What is selected is in location.hash, so that a link has it.
'use strict';
const wcprof = (() => {
	const data = JSON.parse(document.getElementById('data').textContent);
	const span = data.report.trace_span_ns;
	const sections = new Map();
	const SVG = 'http://www.w3.org/2000/svg';

	// --- elements ---

	// Properties: on... are listeners, all else attributes; null and false leave one out.
	function fill(element, properties, children) {
		for (const [name, value] of Object.entries(properties || {})) {
			if (name.startsWith('on'))
				element.addEventListener(name.slice(2), value);
			else if (value !== null && value !== undefined && value !== false)
				element.setAttribute(name, value === true ? '' : value);
		}
		element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
		return element;
	}
	const el = (tag, properties, ...children) =>
		fill(document.createElement(tag), properties, children);
	const svg = (tag, properties, ...children) =>
		fill(document.createElementNS(SVG, tag), properties, children);

	// --- figures, as the text of the report has them ---

	function ns(value) {
		const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];
		const size = Math.abs(value);
		let at = 0;
		while (at < 3 && size < units[at][0] * 0.9995)
			at++;
		const shown = value / units[at][0];
		const digits = at === 3 || Math.abs(shown) >= 99.95 ? 0 : Math.abs(shown) >= 9.995 ? 1 : 2;
		return value === 0 ? '0' : `${shown.toFixed(digits)} ${units[at][1]}`;
	}
	const percent = (value) => `${(Math.abs(value) < 0.05 ? 0 : value).toFixed(1)}%`;
	const ratio = (part, whole) => (whole > 0 ? (100 * part) / whole : 0);
	const count = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ' ');

	// --- states of threads: each has a colour, a letter and a hatch ---

	const states = {
		running: { letter: 'R', word: 'on a CPU', hatch: '' },
		queued: { letter: 'Q', word: 'waiting for a CPU', hatch: '/' },
		lock: { letter: 'L', word: 'waiting for a lock', hatch: 'x' },
		io: { letter: 'I', word: 'in a call (io, dns)', hatch: '-' },
		poll: { letter: 'P', word: 'waiting for events (idle)', hatch: '.' },
		sleep: { letter: 'S', word: 'asleep', hatch: '' },
		other: { letter: 'W', word: 'waiting for another thread', hatch: '\\' },
		unknown: { letter: 'U', word: 'unexplained', hatch: '+' },
	};
	// Of the reason of a wait or the kind of an op.
	const families = {
		lock: ['mutex', 'rwlock_read', 'rwlock_write', 'lock', 'futex'],
		io: ['io', 'dns'],
		poll: ['poll'],
		sleep: ['sleep'],
		other: ['cond', 'sem', 'barrier', 'join', 'once', 'exec', 'signal'],
	};
	function stateOf(cause) {
		if (states[cause])
			return cause;
		const found = Object.keys(families).find((name) => families[name].includes(cause));
		return found || 'other';
	}
	const color = (name) =>
		getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

	const HATCHES = {
		'/': 'M-2,2l4,-4M0,8l8,-8M6,10l4,-4',
		'\\': 'M-2,6l4,4M0,0l8,8M6,-2l4,4',
		x: 'M0,0l8,8M8,0l-8,8',
		'-': 'M0,4h8',
		'+': 'M0,4h8M4,0v8',
		'.': 'M3.5,4h1',
		'': '',
	};
	// What fills a shape in the state: for SVG a paint, for a canvas a pattern.
	const paint = (state) => `url(#fill-${state})`;
	function patterns() {
		const all = Object.entries(states).map(([name, state]) =>
			svg('pattern', { id: `fill-${name}`, width: 8, height: 8,
				patternUnits: 'userSpaceOnUse' },
				svg('rect', { width: 8, height: 8, fill: `var(--${name})` }),
				svg('path', { d: HATCHES[state.hatch], stroke: 'rgba(0,0,0,.45)',
					fill: 'none', 'stroke-width': 1 })));
		return svg('svg', { width: 0, height: 0, 'aria-hidden': 'true', style: 'position:absolute' },
			svg('defs', {}, all));
	}
	function canvasPaint(context, name) {
		const tile = document.createElement('canvas');
		tile.width = tile.height = 8;
		const brush = tile.getContext('2d');
		brush.fillStyle = color(name);
		brush.fillRect(0, 0, 8, 8);
		brush.strokeStyle = 'rgba(0,0,0,.45)';
		brush.stroke(new Path2D(HATCHES[states[name].hatch]));
		return context.createPattern(tile, 'repeat');
	}
	function key(names) {
		return el('ul', { class: 'key', 'aria-label': 'Key of states' }, names.map((name) =>
			el('li', {}, svg('svg', { width: 22, height: 14, 'aria-hidden': 'true' },
				svg('rect', { width: 22, height: 14, fill: paint(name) })),
			`${states[name].letter} ${states[name].word}`)));
	}

	// How wide to draw in an element: text keeps its size on narrow screens.
	const widthIn = (root, most) => Math.max(320, Math.min(most, root.clientWidth || most));

	// --- the tip under the pointer ---

	const tip = el('div', { id: 'tip', role: 'tooltip', hidden: true });
	let isPinned = false;
	function showTip(text, x, y) {
		if (isPinned)
			return;
		tip.textContent = text;
		tip.hidden = false;
		const box = tip.getBoundingClientRect();
		tip.style.left = `${Math.max(0, Math.min(x + 12, innerWidth - box.width - 4))}px`;
		tip.style.top = `${y + 16 + box.height > innerHeight ? y - box.height - 8 : y + 16}px`;
	}
	const hideTip = () => { tip.hidden = tip.hidden || !isPinned; };
	function pinTip(is) {
		isPinned = is;
		tip.classList.toggle('pinned', is);
		hideTip();
	}
	// A click that does nothing else keeps the tip, to be read and copied; the next one lets it go.
	function pinByClicks() {
		let down = null;
		document.addEventListener('pointerdown', (event) => { down = event; }, true);
		document.addEventListener('click', (event) => {
			const moved = down && Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY);
			if (!tip.contains(event.target) && moved < 4)
				pinTip(!isPinned && !tip.hidden);
		});
	}
	// The element says so under the pointer, and when it has the focus.
	function tipped(element, text) {
		const words = typeof text === 'function' ? text : () => text;
		element.addEventListener('pointermove', (event) =>
			showTip(words(event), event.clientX, event.clientY));
		element.addEventListener('pointerleave', hideTip);
		element.addEventListener('focus', () => {
			const box = element.getBoundingClientRect();
			showTip(words(null), box.left, box.bottom);
		});
		element.addEventListener('blur', hideTip);
		return element;
	}

	// --- tables ---

	// Columns: {head, cell(row), right, name, sort(row)}; a click on a head sorts.
	function table(caption, columns, rows, options = {}) {
		const body = el('tbody');
		let sorted = [...rows], by = -1, down = true;
		const heads = columns.map((column, at) => el('th',
			{ scope: 'col', class: column.right ? 'right' : null },
			column.sort ? el('button', { type: 'button', onclick: () => order(at) }, column.head)
				: column.head));
		function draw() {
			body.replaceChildren(...sorted.map((row) => el('tr',
				{ class: options.isChosen && options.isChosen(row) ? 'chosen' : null },
				columns.map((column) => el('td',
					{ class: column.right ? 'right' : column.name ? 'name' : null },
					column.cell(row))))));
		}
		function order(at) {
			down = by === at ? !down : true;
			by = at;
			const of = columns[at].sort;
			sorted.sort((a, b) => {
				const less = of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0;
				return down ? -less : less;
			});
			heads.forEach((head, i) => {
				if (i === at)
					head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
				else
					head.removeAttribute('aria-sort');
			});
			draw();
		}
		draw();
		return el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption },
			el('table', {}, el('caption', {}, caption),
				el('thead', {}, el('tr', {}, heads)), body));
	}

	// --- what is selected ---

	// from, to: ns since the first op; class, lock, request, thread: null or text.
	const selection = { from: 0, to: span, class: null, lock: null, request: null, thread: null,
		theme: null };
	function readHash() {
		const words = new URLSearchParams(location.hash.slice(1));
		const [from, to] = (words.get('t') || '').split('-').map(Number);
		const is = from >= 0 && to > from;
		selection.from = is ? Math.min(from, span) : 0;
		selection.to = is ? Math.min(to, span) : span;
		for (const name of ['class', 'lock', 'request', 'thread', 'theme'])
			selection[name] = words.get(name);
	}
	function writeHash() {
		const words = new URLSearchParams();
		if (isBrushed())
			words.set('t', `${Math.round(selection.from)}-${Math.round(selection.to)}`);
		for (const name of ['class', 'lock', 'request', 'thread', 'theme'])
			if (selection[name])
				words.set(name, selection[name]);
		history.replaceState(null, '', `#${words}`);
	}
	const isBrushed = () => selection.from > 0 || selection.to < span;
	// Changes some of the selection, and draws again the sections that use it.
	function select(changes) {
		const changed = Object.keys(changes).filter((name) => selection[name] !== changes[name]);
		Object.assign(selection, changes);
		if (changed.length === 0)
			return;
		writeHash();
		draw(changed);
	}

	// --- sections ---

	// The section of that row in page.def. `uses` names what of the selection it depends on;
	// render(root, data, selection) fills the empty element `root`; summary(data), if there is one,
	// is a sentence for the first section, or ''.
	function section(id, uses, render, summary) {
		sections.set(id, { uses, render, summary, root: null });
	}
	const summaries = () => data.sections.list.map(({ name }) => [name, sections.get(name).summary])
		.filter(([, of]) => of).map(([name, of]) => [name, of(data)]).filter(([, text]) => text);
	function goTo(name) {
		const head = document.getElementById(`${name}-head`);
		head.scrollIntoView();
		head.focus({ preventScroll: true });
	}
	function drawSection(one) {
		const had = one.root.contains(document.activeElement)
			? document.activeElement.getAttribute('data-key') : null;
		one.root.replaceChildren();
		one.render(one.root, data, selection);
		const again = had && [...one.root.querySelectorAll('[data-key]')].find(
			(element) => element.getAttribute('data-key') === had);
		if (again)
			again.focus({ preventScroll: true });
	}
	function draw(changed) {
		pinTip(false);
		drawBar();
		for (const one of sections.values())
			if (one.root && (!changed || one.uses.some((name) => changed.includes(name))))
				drawSection(one);
	}

	// --- the bar: title, links, brush, theme ---

	let drawBar = () => {};
	// Threads that run, on top of them those that wait, but not for work; a line: requests that ended.
	function activity() {
		const about = data.timeline, cells = about.map_running.length, STEP = 8;
		const most = Math.max(1, ...about.map_running.map((ran, at) => ran + about.map_waiting[at]));
		const bars = (name, from, to) => svg('path', { class: name, d: about.map_running.map((_, at) =>
			`M${at},${1 - from(at) / most}v${-(to(at) - from(at)) / most}h1v` +
			`${(to(at) - from(at)) / most}z`).join('') });
		const ran = (at) => about.map_running[at];
		const sums = [];
		for (let at = 0; at < cells; at++)
			sums[Math.floor(at / STEP)] = (sums[Math.floor(at / STEP)] || 0) + about.map_requests[at];
		const top = Math.max(...sums, 0);
		return svg('svg', { viewBox: `0 0 ${cells} 1`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
			bars('is-running', () => 0, ran),
			bars('is-waiting', ran, (at) => ran(at) + about.map_waiting[at]),
			top > 0 ? svg('polyline', { class: 'requests-ended', points: sums.map((sum, at) =>
				`${(at + 0.5) * STEP},${1 - sum / top}`).join(' ') }) : null);
	}
	function brush() {
		const marked = el('div', { class: 'span' });
		const track = el('div', { class: 'track', role: 'img',
			'aria-label': 'The recording from its first op to its last; drag to select a part' },
			activity(), marked);
		tipped(track, () => 'Green: threads on a CPU. Above it: threads that waited for others.\n' +
			'Line: requests that ended. Drag to select a part of the time.');
		const field = (name, word) => el('input', { type: 'number', min: 0, step: 'any',
			'aria-label': `${word} of the selected part, in ms`, onchange: (event) => {
				const at = Math.max(0, Math.min(span, Number(event.target.value) * 1e6));
				const part = { from: selection.from, to: selection.to, [name]: at };
				if (part.to > part.from)
					select(part);
				else
					drawBar();
			} });
		const from = field('from', 'Begin'), to = field('to', 'End');
		const all = el('button', { type: 'button', onclick: () => select({ from: 0, to: span }) },
			'All');
		let begun = null;
		const at = (event) => {
			const box = track.getBoundingClientRect();
			return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * span;
		};
		track.addEventListener('pointerdown', (event) => {
			begun = at(event);
			track.setPointerCapture(event.pointerId);
		});
		track.addEventListener('pointermove', (event) => {
			if (begun !== null && Math.abs(at(event) - begun) > span / 500)
				select({ from: Math.min(begun, at(event)), to: Math.max(begun, at(event)) });
		});
		track.addEventListener('pointerup', () => { begun = null; });
		drawBar = () => {
			marked.style.left = `${ratio(selection.from, span)}%`;
			marked.style.width = `${ratio(selection.to - selection.from, span)}%`;
			marked.hidden = !isBrushed();
			from.value = (selection.from / 1e6).toFixed(3);
			to.value = (selection.to / 1e6).toFixed(3);
			all.disabled = !isBrushed();
			const dark = matchMedia('(prefers-color-scheme: dark)').matches;
			document.documentElement.dataset.theme =
				selection.theme || (dark ? 'dark' : 'light');
		};
		return el('div', { class: 'brush', role: 'group', 'aria-label': 'Part of the time' },
			track, el('span', {}, from, ' to ', to, ' ms '), all);
	}
	function title() {
		const names = [...new Set(data.verdict.programs.map((program) => program.called))]
			.filter(Boolean);
		return names.slice(0, 3).join(', ') + (names.length > 3 ? ', ...' : '') || 'a recording';
	}
	function bar() {
		document.title = `wcprof: ${title()}`;
		return el('div', { class: 'bar' }, el('header', {},
			el('h1', {}, document.title),
			el('nav', { 'aria-label': 'Sections' }, data.sections.list.map((one, at) =>
				el('a', { href: '#', title: one.title, onclick: (event) => {
					event.preventDefault();
					goTo(one.name);
				} }, `${String.fromCharCode(65 + at)} ${one.name}`))),
			el('button', { type: 'button', onclick: () => select({
				theme: document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark',
			}) }, 'Light or dark'),
			brush()));
	}
	function start() {
		readHash();
		const main = el('main', { id: 'main' });
		document.body.append(patterns(), el('a', { class: 'skip', href: '#', onclick: (event) => {
			event.preventDefault();
			goTo(data.sections.list[0].name);
		} }, 'To the answer'), bar(), main, tip);
		drawBar();
		data.sections.list.forEach((one, at) => {
			const root = el('div');
			main.append(el('section', { id: one.name, 'aria-labelledby': `${one.name}-head` },
				el('h2', { id: `${one.name}-head`, tabindex: -1 },
					`${String.fromCharCode(65 + at)}  ${one.title}`), root));
			sections.get(one.name).root = root;
			drawSection(sections.get(one.name));
		});
		addEventListener('hashchange', () => { readHash(); draw(null); });
		addEventListener('keydown', (event) => { if (event.key === 'Escape') pinTip(false); });
		pinByClicks();
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(null));
	}
	return { data, selection, section, select, start, el, svg, ns, percent, ratio, count, table, key,
		states, stateOf, color, paint, canvasPaint, tipped, showTip, hideTip, summaries, goTo,
		widthIn, debug: {} };
})();
