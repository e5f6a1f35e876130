// SPDX-License-Identifier: Apache-2.0
// Flame graphs on a canvas: root below, what it calls above it; who put an end to a wait on top.
(() => {
	const { el, ns, percent, ratio, count, selection } = wcprof;
	const data = wcprof.data.flames;
	const tree = wcprof.flamesTree(data, wcprof.data.timeline);
	const ROW = 18, LEAST = 0.7, TABLE_ROWS = 40;
	const options = { tab: 'wall', perThread: false, inverted: false, idle: false };
	let search = '', zoomed = [], focus = null, boxes = [], root = null, canvas, note, found, below, head;

	// --- where frames are ---

	const ordered = (frame) => [...frame.children.values()].sort((a, b) =>
		(a.sort === b.sort ? 0 : a.sort === 'cause' ? 1 : b.sort === 'cause' ? -1 : 0) ||
		b.value - a.value);

	// The frame that a way from the root leads to, as far as it is there.
	function frameAt(way) {
		const frames = [root];
		for (const key of way) {
			const next = frames[frames.length - 1].children.get(key);
			if (!next)
				break;
			frames.push(next);
		}
		return frames;
	}

	// Boxes of the frames that can be seen: the way to the chosen one is as wide as the whole.
	function layOut(width) {
		const above = frameAt(zoomed);
		zoomed = zoomed.slice(0, above.length - 1);
		boxes = above.slice(0, -1).map((frame, depth) => ({ frame, depth, x: 0, width,
			way: zoomed.slice(0, depth), isAbove: true }));
		const top = above[above.length - 1];
		const scale = top.value > 0 ? width / top.value : 0;
		(function place(frame, depth, x, way) {
			boxes.push({ frame, depth, x, width: frame.value * scale, way });
			let at = x;
			const keys = new Map([...frame.children].map(([key, child]) => [child, key]));
			for (const child of ordered(frame)) {
				if (child.value * scale >= LEAST)
					place(child, depth + 1, at, [...way, keys.get(child)]);
				at += child.value * scale;
			}
		})(top, above.length - 1, 0, zoomed);
		return Math.max(...boxes.map((box) => box.depth)) + 1;
	}

	// --- painting ---

	const isFound = (frame) => search && frame.name.toLowerCase().includes(search.toLowerCase());
	function hash(text) {
		let sum = 7;
		for (const letter of text)
			sum = (sum * 31 + letter.codePointAt(0)) % 1000003;
		return sum;
	}
	// Of slow requests: orange where they take longer than the others, blue where shorter.
	function difference(frame) {
		const most = Math.max(root.value, root.other, 1);
		const share = Math.min(1, Math.sqrt(Math.abs(frame.value - frame.other) / most));
		const dark = document.documentElement.dataset.theme === 'dark';
		const light = dark ? 30 + 25 * share : 92 - 35 * share;
		return `hsl(${frame.value >= frame.other ? 26 : 205} ${20 + 75 * share}% ${light}%)`;
	}
	function fillOf(context, frame) {
		if (options.tab === 'slow')
			return difference(frame);
		if (frame.sort === 'cause')
			return wcprof.canvasPaint(context, frame.state);
		const dark = document.documentElement.dataset.theme === 'dark';
		if (frame.sort === 'pool')
			return wcprof.color('line');
		const tone = hash(frame.name) % 14, light = (dark ? 32 : 76) + (tone % 7);
		return frame.sort === 'waker' ? `hsl(205 42% ${light}%)` : `hsl(${34 + tone} 62% ${light}%)`;
	}
	function paintBox(context, box, rows) {
		const y = (rows - 1 - box.depth) * ROW, { frame } = box;
		context.globalAlpha = box.isAbove || (search && !isFound(frame)) ? 0.45 : 1;
		context.fillStyle = fillOf(context, frame);
		context.fillRect(box.x, y, Math.max(box.width - 0.6, 0.4), ROW - 1);
		if (box.width > 28) {
			const text = elided(context, frame.name, box.width - 8);
			const dark = document.documentElement.dataset.theme === 'dark';
			const isDeep = frame.sort === 'cause' && options.tab !== 'slow' &&
				['unknown', 'sleep'].includes(frame.state);
			const isPale = frame.sort === 'cause' && options.tab !== 'slow';
			context.fillStyle = isDeep ? '#ffffff' : isPale || !dark ? '#000000' : '#ffffff';
			context.fillText(text, box.x + 4, y + ROW / 2);
		}
		context.globalAlpha = 1;
		if (focus && sameWay(focus, box.way)) {
			context.strokeStyle = wcprof.color('ink');
			context.lineWidth = 2;
			context.strokeRect(box.x + 1, y + 1, Math.max(box.width - 2, 1), ROW - 3);
		}
	}
	function elided(context, text, room) {
		if (context.measureText(text).width <= room)
			return text;
		let length = Math.floor((text.length * room) / context.measureText(text).width);
		while (length > 0 && context.measureText(`${text.slice(0, length)}\u2026`).width > room)
			length--;
		return length > 2 ? `${text.slice(0, length)}\u2026` : '';
	}
	function paint() {
		if (!canvas || !canvas.clientWidth)
			return;
		const rows = layOut(canvas.clientWidth), scale = window.devicePixelRatio || 1;
		canvas.width = Math.round(canvas.clientWidth * scale);
		canvas.height = Math.round(rows * ROW * scale);
		canvas.style.height = `${rows * ROW}px`;
		const context = canvas.getContext('2d');
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.textBaseline = 'middle';
		context.font = '11px system-ui, "DejaVu Sans", sans-serif';
		for (const box of boxes)
			paintBox(context, box, rows);
		sayFound();
	}
	// How much is in frames that the search finds; what is in two of them counts once.
	function sayFound() {
		let sum = 0;
		(function visit(frame) {
			if (isFound(frame))
				sum += frame.value;
			else
				frame.children.forEach(visit);
		})(root);
		found.textContent = search ? `${percent(ratio(sum, root.value))} of ${ns(root.value)}` : '';
	}

	// --- pointer, keys ---

	const sameWay = (a, b) => a.length === b.length && a.every((key, at) => key === b[at]);
	function words(frame) {
		const lines = [frame.name];
		if (options.tab === 'slow') {
			const more = frame.value - frame.other;
			lines.push(`${ns(frame.value)} in a slow request, ${ns(frame.other)} in another: ` +
				`${more >= 0 ? '+' : ''}${ns(more)}`);
			return lines.join('\n');
		}
		lines.push(`${ns(frame.value)}, ${percent(ratio(frame.value, root.value))} of all shown`);
		if (frame.self > 0 && frame.children.size)
			lines.push(`of that in itself ${ns(frame.self)}`);
		if (frame.sort === 'cause')
			lines.push(wcprof.states[frame.state].word);
		if (frame.sort === 'waker')
			lines.push('put an end to the wait below');
		return lines.join('\n');
	}
	function boxAt(event) {
		const box = canvas.getBoundingClientRect();
		const x = event.clientX - box.left, y = event.clientY - box.top;
		const depth = Math.round(canvas.clientHeight / ROW) - 1 - Math.floor(y / ROW);
		return boxes.find((one) => one.depth === depth && x >= one.x && x < one.x + one.width);
	}
	function point(event) {
		const box = boxAt(event);
		if (box)
			wcprof.showTip(words(box.frame), event.clientX, event.clientY);
		else
			wcprof.hideTip();
	}
	function zoomTo(way) {
		zoomed = way;
		focus = way;
		paint();
	}
	// To the frame above, below or beside the one that has the focus.
	function step(outwards, beside) {
		const way = focus || zoomed, box = boxes.find((one) => sameWay(one.way, way));
		let next = null;
		if (!box || !focus)
			next = boxes[0];
		else if (outwards > 0)
			next = boxes.filter((one) => one.depth === box.depth + 1 &&
				sameWay(one.way.slice(0, -1), way)).sort((a, b) => b.width - a.width)[0];
		else if (outwards < 0)
			next = boxes.find((one) => sameWay(one.way, way.slice(0, -1)));
		else {
			const level = boxes.filter((one) => one.depth === box.depth).sort((a, b) => a.x - b.x);
			next = level[level.indexOf(box) + beside];
		}
		if (!next)
			return;
		focus = next.way;
		paint();
		note.textContent = words(next.frame);
		const area = canvas.getBoundingClientRect();
		wcprof.showTip(words(next.frame), area.left + next.x,
			area.bottom - (next.depth + 1) * ROW);
	}
	const KEYS = {
		ArrowUp: () => step(1, 0), ArrowDown: () => step(-1, 0),
		ArrowLeft: () => step(0, -1), ArrowRight: () => step(0, 1),
		Enter: () => focus && zoomTo(focus), Escape: () => zoomTo([]), 0: () => zoomTo([]),
	};
	function key(event) {
		if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey)
			return;
		event.preventDefault();
		KEYS[event.key]();
	}

	// --- what is around it ---

	function change(changes) {
		Object.assign(options, changes);
		[zoomed, focus] = [[], null];
		redraw();
	}
	function tabs() {
		const names = Object.keys(tree.TABS).filter((name) => name !== 'slow' || tree.hasRequests);
		return names.map((name) => el('button', { type: 'button', 'data-key': `flames-${name}`,
			'aria-pressed': String(options.tab === name), onclick: () => change({ tab: name }) },
		tree.TABS[name].word));
	}
	function check(name, text, title) {
		return el('label', { title }, el('input', { type: 'checkbox', checked: options[name],
			'data-key': `flames-${name}`,
			onchange: (event) => change({ [name]: event.target.checked }) }), ` ${text}`);
	}
	function controls() {
		const field = el('input', { type: 'search', placeholder: 'Search', value: search,
			'aria-label': 'Search for frames', 'data-key': 'flames-search', oninput: (event) => {
				search = event.target.value;
				paint();
			} });
		found = el('span', { class: 'small', 'aria-live': 'polite' });
		return el('div', { class: 'controls' }, tabs(),
			check('perThread', 'each thread', 'One tower a thread, not one for each pool'),
			check('inverted', 'inverted', 'From what it was in to who called that'),
			check('idle', 'with idle time', 'Also waiting for work to come'),
			field, found);
	}
	function explained() {
		if (options.tab === 'slow')
			return `Width: time of a thread during one of the ${count(data.slow_requests)} slowest ` +
				`requests (${ns(data.slow_from_ns)} or longer), on average. Orange: longer than in ` +
				`the other ${count(data.other_requests)}; blue: shorter. Grey: the same. ` +
				'Time on a CPU is shared out by the samples that were taken inside.';
		const wakers = tree.TABS[options.tab].hasWakers
			? ' Blue, above what was waited for: who put an end to it, and from where.' : '';
		const left = data.left_out_ns > 0
			? ` Left out: ${ns(data.left_out_ns)} of what took least.` : '';
		return `Width: time of threads, ${ns(root.value)} in all.${left}${wakers} A click zooms, Escape ends ` +
			'that; arrow keys go from frame to frame.';
	}
	function tableOf() {
		const isSlow = options.tab === 'slow';
		const rows = tree.totals(root).sort((a, b) => (isSlow
			? Math.abs(b.total - b.other) - Math.abs(a.total - a.other) : b.self - a.self ||
				b.total - a.total)).slice(0, TABLE_ROWS);
		const column = (name, of) => ({ head: name, right: true, sort: of, cell: (row) => ns(of(row)) });
		const figures = isSlow
			? [column('in a slow one', (row) => row.total), column('in another', (row) => row.other),
				column('more', (row) => row.total - row.other)]
			: [column('itself', (row) => row.self), column('with all it calls', (row) => row.total)];
		return el('details', {}, el('summary', {}, 'As a table'), wcprof.table(
			isSlow ? 'Time of a request, by function and cause' : 'Time by function and cause',
			[{ head: 'where', name: true, cell: (row) => row.name, sort: (row) => row.name },
				...figures], rows));
	}
	function make() {
		canvas = el('canvas', { class: 'wide flames', tabindex: 0, role: 'application',
			'data-key': 'flames', 'aria-label': 'Flame graph. Arrow up: what is called, arrow down: ' +
			'the caller, left and right: beside it, Enter zooms, Escape ends that',
			onpointermove: point, onpointerleave: wcprof.hideTip, onkeydown: key,
			onblur: wcprof.hideTip,
			onclick: (event) => {
				const box = boxAt(event);
				if (box)
					zoomTo(box.way);
			} });
		note = el('p', { class: 'sr', 'aria-live': 'polite' });
		head = el('div');
		below = el('div');
		new ResizeObserver(paint).observe(canvas);
	}
	function redraw() {
		const had = document.activeElement && document.activeElement.getAttribute('data-key');
		root = tree.build({ ...options, from: selection.from, to: selection.to,
			thread: selection.thread });
		head.replaceChildren(controls(), el('p', { class: 'faint small' }, explained()));
		below.replaceChildren(root.value > 0 ? '' : el('p', {}, 'There is no such time.'), tableOf());
		const again = had && head.querySelector(`[data-key="${had}"]`);
		if (again)
			again.focus();
		paint();
	}

	// The lowest frame that is drawn, for tests.
	wcprof.debug.flames = () => root;

	wcprof.section('flames', ['from', 'to', 'thread', 'theme'], (section) => {
		if (data.ns.length === 0) {
			section.append(el('p', { class: 'faint' }, 'The dump names no threads.'));
			return;
		}
		if (!canvas)
			make();
		section.append(head, canvas, note, below);
		redraw();
	});
})();
