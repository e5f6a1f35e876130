// SPDX-License-Identifier: Apache-2.0
// Lanes of threads over time: what each was doing, what it held, who let it go on.
//
// The selected part of the time is what is shown. The canvas shows the rows that the scroll position
// says; a table says the same in words. One state for as long as the page is open, as what is
// unfolded and pinned must outlive a change of the selection.
(() => {
	const { el, ns, select, selection } = wcprof;
	const data = wcprof.data.timeline;
	const span = Math.max(wcprof.data.report.trace_span_ns, 1);
	const model = wcprof.timelineModel(data), draw = wcprof.timelineDraw(model);
	const { SIZES } = draw;
	const HEIGHT = 560, HEADS = 190, AXIS = 22, ZOOM = 1.3, LANES_OPEN = 40, STACK_LINES = 12;
	const state = {
		from: 0, to: span,
		folded: new Set(),
		path: false,
		focus: null, // {row: an item, at: ns}
		pinned: false,
	};
	// Where the times begin: right of the heads of lanes, which are narrow on a narrow page.
	let left = HEADS;
	let rows = [], canvas, scroller, tall, note;

	// --- rows: what is where ---

	// Lanes by pool, and how many lanes a process has; pools in the order of lanes.
	const lanesOf = new Map(), lanesIn = new Map();
	data.lanes.forEach((lane, at) => {
		const process = data.pool_process[lane.pool];
		lanesIn.set(process, (lanesIn.get(process) || 0) + 1);
		lanesOf.set(lane.pool, [...(lanesOf.get(lane.pool) || []), at]);
	});
	if (data.lanes.length > LANES_OPEN)
		lanesOf.forEach((lanes, pool) => lanes.length > 2 && state.folded.add(pool));

	// Items with y and height: of kind process, pool, lane, heading or lock.
	function layOut() {
		let y = AXIS, process = -1;
		rows = [];
		const add = (row, height) => {
			rows.push({ ...row, y, height });
			y += height;
		};
		for (const [pool, lanes] of lanesOf) {
			if (data.pool_process[pool] !== process) {
				process = data.pool_process[pool];
				if (lanesIn.get(process) > 1)
					add({ kind: 'process', process }, 20);
			}
			const isFolded = state.folded.has(pool);
			if (lanes.length > 1)
				add({ kind: 'pool', pool, lanes, isFolded },
					18 + (isFolded ? Math.min(lanes.length, 16) * SIZES.thumb + 2 : 0));
			if (!isFolded)
				for (const lane of lanes)
					add({ kind: 'lane', lane }, SIZES.lane + SIZES.hold + SIZES.gap);
		}
		if (data.locks.length)
			add({ kind: 'heading' }, 24);
		data.locks.forEach((_, lock) => add({ kind: 'lock', lock }, SIZES.lock + SIZES.gap));
		return y + 4;
	}

	// --- view ---

	function view() {
		left = Math.min(HEADS, canvas.clientWidth * 0.36);
		const right = canvas.clientWidth - 8;
		const nsPerPixel = Math.max(state.to - state.from, 1) / Math.max(right - left, 1);
		return {
			from: state.from, to: state.to, left, right, nsPerPixel,
			x: (at) => left + (at - state.from) / nsPerPixel,
			isDim,
		};
	}
	const timeAt = (x) => {
		const now = view();
		return now.from + (x - now.left) * now.nsPerPixel;
	};
	// What the chosen lock, pool or class is not about steps back.
	function isDim(lane, detail) {
		if (selection.lock && model.nameOf(detail) !== selection.lock)
			return true;
		if (selection.thread && data.pool_name[data.lanes[lane].pool] !== selection.thread &&
		    String(data.lanes[lane].tid) !== selection.thread)
			return true;
		return Boolean(selection.class) && model.classOf(detail) !== selection.class;
	}

	let commit = 0;
	// Shows another part; the other sections follow when it stays for a moment.
	function show(from, to) {
		const least = 200, length = Math.min(Math.max(to - from, least), span);
		const begin = Math.max(0, Math.min(from, span - length));
		Object.assign(state, { from: begin, to: begin + length });
		paintLanes();
		clearTimeout(commit);
		commit = setTimeout(() => select({ from: state.from, to: state.to }), 250);
	}
	function zoom(factor, at) {
		show(at - (at - state.from) / factor, at + (state.to - at) / factor);
	}
	const pan = (share) => show(state.from + share * (state.to - state.from),
		state.to + share * (state.to - state.from));

	// --- what is at a place ---

	function levelNow() {
		return model.levelFor(view().nsPerPixel);
	}
	function sliceOf(item, at) {
		const row = item.kind === 'lane' ? model.stateRow(item.lane) : model.lockRow(item.lock);
		const slices = model.slicesOf(row, levelNow());
		const i = model.find(slices, at);
		return i < 0 ? null : { slices, i, start: slices.start[i], end: slices.end[i],
			detail: slices.detail[i], many: slices.many[i], running: slices.running[i] };
	}
	const rowAt = (y) => rows.find((row) => y >= row.y && y < row.y + row.height);

	// What the timeline draws there, for tests.
	wcprof.debug.at = (lane, at) => {
		const found = sliceOf({ kind: 'lane', lane }, at);
		return found && {
			start: found.start, end: found.end, many: found.many, running: found.running,
			state: model.stateOf(found.detail), name: model.nameOf(found.detail),
			cause: model.causeOf(found.detail), waker: model.waker(found.detail),
			holder: model.holder(found.detail),
		};
	};
	wcprof.debug.placeOf = (lane, at) => {
		const row = rows.find((one) => one.kind === 'lane' && one.lane === lane);
		return row && { x: view().x(at), y: row.y - scroller.scrollTop + SIZES.lane / 2 };
	};

	// --- words ---

	function laneWords(item, found) {
		const { detail } = found, where = wcprof.states[model.stateOf(detail)];
		const lines = [`${model.laneName(item.lane)}: ${ns(found.end - found.start)} ${where.word}`];
		if (found.many > 1) {
			lines[0] = `${model.laneName(item.lane)}: ${found.many} pieces in ` +
				`${ns(found.end - found.start)}, ${found.running}% of it on a CPU`;
			lines.push(`else mostly ${where.word}, the longest:`);
		}
		const cause = model.causeOf(detail), name = model.nameOf(detail);
		if (cause || name)
			lines.push(`${cause} ${name}`.trim());
		const ofClass = model.classOf(detail);
		if (ofClass && ofClass !== name)
			lines.push(`in ${ofClass}`);
		if (model.holder(detail) >= 0)
			lines.push(`held by ${model.laneName(model.holder(detail))} when it began`);
		if (model.waker(detail) >= 0)
			lines.push(`let go by ${model.laneName(model.waker(detail))}`);
		const fine = Math.max((found.end - found.start) / 10, 1);
		lines.push(`from ${draw.stamp(found.start, fine)} to ${draw.stamp(found.end, fine)}`);
		const stack = model.stackOf(detail);
		if (stack.length) {
			lines.push('');
			lines.push(...stack.slice(0, STACK_LINES));
			if (stack.length > STACK_LINES)
				lines.push(`... and ${stack.length - STACK_LINES} more`);
		}
		return lines;
	}
	function lockWords(item, found) {
		const { holder, waiters } = model.lockDetail(found.detail);
		const time = ns(found.end - found.start);
		const lines = [`${data.locks[item.lock].name}: ${holder < 0 ? 'free' : 'held by ' +
			model.laneName(holder)}, ${found.many > 1 ? `${found.many} changes in ` : ''}${time}`,
		`${found.many > 1 ? 'at most ' : ''}${waiters} waiting`];
		return lines;
	}
	function words(item, at) {
		const found = item.kind === 'lane' || item.kind === 'lock' ? sliceOf(item, at) : null;
		if (!found)
			return null;
		return (item.kind === 'lane' ? laneWords : lockWords)(item, found).join('\n');
	}

	// --- painting ---

	function fit(surface, width, height) {
		const scale = window.devicePixelRatio || 1;
		surface.width = Math.round(width * scale);
		surface.height = Math.round(height * scale);
		surface.style.height = `${height}px`;
		const context = surface.getContext('2d');
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.textBaseline = 'middle';
		context.font = '11px system-ui, "DejaVu Sans", sans-serif';
		draw.prepare(context);
		return context;
	}

	function clipped(context, x, y, width, height, paintIt) {
		context.save();
		context.beginPath();
		context.rect(x, y, width, height);
		context.clip();
		paintIt();
		context.restore();
	}

	function heads(context, item, y) {
		const { ink, faint, line } = draw.colors();
		context.fillStyle = ink;
		if (item.kind === 'process') {
			context.fillStyle = line;
			context.fillRect(0, y + 2, canvas.clientWidth, 1);
			draw.label(context, [`${data.process_name[item.process]} ` +
				`${data.process_pid[item.process]}`], 4, y + 12, canvas.clientWidth, ink);
		} else if (item.kind === 'pool') {
			clipped(context, 0, y, left - 6, 18, () => draw.label(context,
				[`${item.isFolded ? '\u25b8' : '\u25be'} ${item.lanes.length} x ` +
					data.pool_name[data.lanes[item.lanes[0]].pool]], 8, y + 9, 1e9, faint));
		} else if (item.kind === 'lane') {
			clipped(context, 0, y, left - 6, SIZES.lane, () => {
				const pool = data.pool_name[data.lanes[item.lane].pool];
				const name = model.laneName(item.lane);
				draw.label(context, [lanesOf.get(data.lanes[item.lane].pool).length > 1 ? name
					: `${name} ${pool}`], 18, y + SIZES.lane / 2 + 1, 1e9, ink);
			});
		} else if (item.kind === 'heading') {
			draw.label(context, ['Locks: who had each (below), how many waited (above)'], 4, y + 14,
				canvas.clientWidth, ink);
		} else {
			clipped(context, 0, y, left - 6, SIZES.lock, () => {
				context.fillStyle = draw.cycle(item.lock);
				context.fillRect(8, y + 4, 6, 10);
				draw.label(context, [data.locks[item.lock].name], 18, y + 10, 1e9, ink);
				draw.label(context, [`waited ${ns(data.locks[item.lock].wait_ns)}, at most ` +
					`${data.locks[item.lock].waiters}`], 18, y + 25, 1e9, faint);
			});
		}
	}

	function body(context, item, now, y) {
		if (item.kind === 'lane')
			draw.lane(context, now, item.lane, y, SIZES.lane);
		else if (item.kind === 'lock')
			draw.lock(context, now, item.lock, y);
		else if (item.kind === 'pool' && item.isFolded)
			item.lanes.slice(0, 16).forEach((lane, at) => draw.lane(context, now, lane,
				y + 18 + at * SIZES.thumb, SIZES.thumb - 1));
	}

	const shown = (item, y) => y + item.height > 0 && y < canvas.clientHeight;

	function paintLanes() {
		if (!canvas || !canvas.clientWidth)
			return;
		const all = layOut(), height = Math.min(all, HEIGHT), top = scroller.scrollTop;
		tall.style.height = `${all}px`;
		scroller.style.height = `${height}px`;
		const context = fit(canvas, canvas.clientWidth, height), now = view();
		draw.axis(context, now, 0, height);
		for (const item of rows) {
			const y = item.y - top;
			if (!shown(item, y))
				continue;
			heads(context, item, y);
			clipped(context, now.left, 0, now.right - now.left, height,
				() => body(context, item, now, y));
		}
		clipped(context, now.left, AXIS - 4, now.right - now.left + 8, height,
			() => overlay(context, now, top));
	}

	const middleOf = (lane, top) => {
		const row = rows.find((one) => one.kind === 'lane' && one.lane === lane);
		return row ? row.y - top + SIZES.lane / 2 : null;
	};

	function overlay(context, now, top) {
		if (state.path)
			draw.path(context, now, (lane) => middleOf(lane, top));
		if (!state.focus)
			return;
		const { item, at } = state.focus, found = sliceOf(item, at);
		const row = rows.find((one) => one.kind === item.kind && one.lane === item.lane &&
			one.lock === item.lock);
		if (!found || !row)
			return;
		const { ink } = draw.colors();
		context.strokeStyle = ink;
		context.lineWidth = 2;
		context.strokeRect(now.x(found.start), row.y - top - 1,
			Math.max((found.end - found.start) / now.nsPerPixel, 2), SIZES.lane + 2);
		const waker = item.kind === 'lane' ? model.waker(found.detail) : -1;
		const from = waker >= 0 ? middleOf(waker, top) : null;
		if (from !== null)
			draw.arrow(context, now.x(found.end), from, middleOf(item.lane, top));
	}

	// --- pointer ---

	let drag = null;
	function placeOf(event) {
		const box = canvas.getBoundingClientRect();
		const x = event.clientX - box.left, y = event.clientY - box.top + scroller.scrollTop;
		return { x, y, at: timeAt(x), item: rowAt(y) };
	}
	function point(event) {
		const place = placeOf(event);
		if (drag) {
			const shift = (drag.x - place.x) * drag.nsPerPixel;
			drag.moved = drag.moved || Math.abs(drag.x - place.x) > 3;
			if (drag.moved)
				show(drag.from + shift, drag.to + shift);
			return;
		}
		const text = place.item && place.x >= left ? words(place.item, place.at) : null;
		state.focus = text ? { item: place.item, at: place.at } : null;
		paintLanes();
		if (text)
			wcprof.showTip(text, event.clientX, event.clientY);
		else
			wcprof.hideTip();
	}
	function press(event) {
		const place = placeOf(event);
		if (place.x < left) {
			toggle(place.item);
			return;
		}
		drag = { x: place.x, from: state.from, to: state.to, nsPerPixel: view().nsPerPixel };
		canvas.setPointerCapture(event.pointerId);
	}
	function toggle(item) {
		if (!item || item.kind !== 'pool')
			return;
		const pool = data.lanes[item.lanes[0]].pool;
		if (!state.folded.delete(pool))
			state.folded.add(pool);
		paintLanes();
	}
	function wheel(event) {
		if (event.ctrlKey || event.metaKey) {
			event.preventDefault();
			zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, placeOf(event).at);
		} else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
			event.preventDefault();
			pan(((event.deltaX || event.deltaY) > 0 ? 1 : -1) * 0.1);
		}
	}

	// --- keys ---

	// The next slice of the row in that direction, or the next row.
	function step(along, down) {
		const lanes = rows.filter((row) => row.kind === 'lane' || row.kind === 'lock');
		const { item, at } = state.focus || { item: lanes[0], at: (state.from + state.to) / 2 };
		if (!item)
			return;
		const here = lanes.findIndex((row) => row.kind === item.kind && row.lane === item.lane &&
			row.lock === item.lock);
		const row = lanes[Math.max(0, Math.min(lanes.length - 1, here + down))];
		let to = at;
		const found = sliceOf(row, at);
		if (along && found) {
			const i = Math.max(0, Math.min(found.slices.size - 1, found.i + along));
			to = (found.slices.start[i] + found.slices.end[i]) / 2;
		}
		state.focus = { item: row, at: to };
		if (to < state.from || to > state.to)
			show(to - (state.to - state.from) / 2, to + (state.to - state.from) / 2);
		if (row.y < scroller.scrollTop || row.y + row.height > scroller.scrollTop + HEIGHT)
			scroller.scrollTop = row.y - HEIGHT / 2;
		paintLanes();
		say();
	}
	function say() {
		const { item, at } = state.focus, text = words(item, at) || 'nothing is known there';
		const box = canvas.getBoundingClientRect(), row = rows.find((one) =>
			one.kind === item.kind && one.lane === item.lane && one.lock === item.lock);
		note.textContent = text;
		wcprof.showTip(text, box.left + view().x(at),
			box.top + row.y - scroller.scrollTop + row.height - 10);
	}
	const middle = () => (state.focus ? state.focus.at : (state.from + state.to) / 2);
	const KEYS = {
		ArrowLeft: () => step(-1, 0), ArrowRight: () => step(1, 0),
		ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1),
		'+': () => zoom(ZOOM, middle()), '=': () => zoom(ZOOM, middle()),
		'-': () => zoom(1 / ZOOM, middle()),
		a: () => pan(-0.2), d: () => pan(0.2), 0: () => show(0, span),
		Enter: () => {
			const found = state.focus && sliceOf(state.focus.item, state.focus.at);
			if (found)
				show(found.start - (found.end - found.start), found.end * 2 - found.start);
		},
		c: () => setPath(!state.path),
		Escape: () => { state.focus = null; paintLanes(); },
	};
	function key(event) {
		if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey)
			return;
		event.preventDefault();
		KEYS[event.key]();
	}

	// --- what is around it ---

	let pathButton;
	function setPath(is) {
		state.path = is;
		pathButton.setAttribute('aria-pressed', String(is));
		paintLanes();
	}
	function controls() {
		const button = (text, words2, onclick) =>
			el('button', { type: 'button', title: words2, onclick }, text);
		pathButton = el('button', { type: 'button', 'aria-pressed': 'false',
			title: 'The lanes that the end of the run waited for, as recorded (key c)',
			onclick: () => setPath(!state.path) }, 'Path to the end');
		return el('div', { class: 'controls' },
			button('+', 'Nearer (key +, or the wheel with Ctrl)', () => zoom(ZOOM ** 3, middle())),
			button('\u2212', 'Farther (key -)', () => zoom(ZOOM ** -3, middle())),
			button('\u2190', 'Earlier (key a, or drag)', () => pan(-0.25)),
			button('\u2192', 'Later (key d, or drag)', () => pan(0.25)),
			button('All', 'The whole run (key 0)', () => show(0, span)),
			pathButton,
			el('span', { class: 'faint small' }, 'Ctrl and wheel: zoom. Drag: move. Click the ' +
				'lanes, then arrow keys: from piece to piece. A thin line under a lane: a lock ' +
				'that the thread has.'));
	}
	function longest(lane) {
		const by = model.waker(lane.longest);
		return `${ns(lane.longest_ns)} ${model.causeOf(lane.longest)} ` +
			model.nameOf(lane.longest) + (by < 0 ? '' : `, ended by ${model.laneName(by)}`);
	}
	// What the others step back behind, and the way to have them again.
	function chosen() {
		const { lock, thread, class: ofClass } = selection;
		const parts = [lock && `waits for ${lock}`, thread && `threads ${thread}`,
			ofClass && `class ${ofClass}`].filter(Boolean);
		return parts.length === 0 ? null : el('p', {}, `In full colour: ${parts.join(', ')}. `,
			el('button', { type: 'button', onclick: () =>
				select({ lock: null, thread: null, class: null }) }, 'All'));
	}
	function inWords() {
		const sum = (lane) => data.states.reduce((all, name) => all + lane[name], 0);
		const columns = [
			{ head: 'thread', name: true, cell: (row) => `${row.name} ${row.tid}`,
				sort: (row) => row.name },
			{ head: 'pool', name: true, cell: (row) => data.pool_name[row.pool],
				sort: (row) => data.pool_name[row.pool] },
			...data.states.map((name) => ({ head: wcprof.states[name].word, right: true,
				cell: (row) => (row[name] ? ns(row[name]) : ''), sort: (row) => row[name] })),
			{ head: 'longest wait', name: true, sort: (row) => row.longest_ns,
				cell: (row) => (row.longest_ns ? longest(row) : '') },
		];
		return el('details', {}, el('summary', {}, 'The lanes as a table'),
			wcprof.table('Time of each thread in each state', columns,
				[...data.lanes].sort((a, b) => sum(b) - sum(a))));
	}
	function make() {
		canvas = el('canvas', { class: 'wide lanes', role: 'application', tabindex: 0,
			'data-key': 'timeline', 'aria-label': 'Lanes of threads. Arrow keys go from piece to ' +
			'piece and from lane to lane, + and - zoom, a and d move, c shows the path to the end',
			onpointermove: point, onpointerdown: press, onkeydown: key,
			onpointerup: () => { drag = null; }, onblur: wcprof.hideTip,
			onpointerleave: () => { state.focus = null; wcprof.hideTip(); paintLanes(); },
			ondblclick: () => KEYS.Enter() });
		canvas.addEventListener('wheel', wheel, { passive: false });
		tall = el('div', { class: 'tall' });
		scroller = el('div', { class: 'lanes-scroll', onscroll: paintLanes }, canvas, tall);
		note = el('p', { class: 'sr', 'aria-live': 'polite' });
		new ResizeObserver(() => paintLanes()).observe(scroller);
	}

	wcprof.section('timeline', ['from', 'to', 'class', 'lock', 'thread', 'theme'], (root) => {
		if (data.lanes.length === 0) {
			root.append(el('p', { class: 'faint' }, 'The dump names no threads.'));
			return;
		}
		if (!canvas)
			make();
		Object.assign(state, { from: selection.from, to: selection.to });
		const buttons = controls();
		const top = scroller.scrollTop;
		pathButton.setAttribute('aria-pressed', String(state.path));
		root.append(buttons, wcprof.key(data.states), chosen() || '', scroller, note, inWords());
		scroller.scrollTop = top;
		paintLanes();
	});
})();
