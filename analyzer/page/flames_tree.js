// SPDX-License-Identifier: Apache-2.0
// Flame graphs as trees of frames, made of the items that a tab takes.
//
// A frame: {name, sort, state, value, other, self, children}. Sorts are pool, function, cause (what
// blocked, with its state) and waker (who put an end to that, and from where). Nothing here draws.
wcprof.flamesTree = (data, timeline) => {
	const { states, reasons, kinds, lanes, pool_name: pools } = timeline;
	const span = Math.max(wcprof.data.report.trace_span_ns, 1);
	const partSpan = Math.floor(span / data.parts) + 1;
	const BLOCKED = ['lock', 'io', 'poll', 'sleep', 'other'];
	const WORDS = { running: '[on a CPU]', queued: '[waiting for a CPU]', unknown: '[unexplained]' };
	const TABS = {
		wall: { word: 'Wall', takes: () => true },
		waits: { word: 'Waits', takes: (state) => BLOCKED.includes(state), hasWakers: true },
		cpu: { word: 'CPU', takes: (state) => state === 'running' },
		lock: { word: 'Locks', takes: (state) => state === 'lock', hasWakers: true },
		slow: { word: 'Slow requests', takes: () => true },
	};
	const stateOf = (item) => states[data.state[item]];
	const laneName = (lane) => `${lanes[lane].name} ${lanes[lane].tid}`;

	const partsOf = data.ns.map(() => []);
	data.part_item.forEach((item, at) => partsOf[item].push(at));

	// The time of an item in a part of the run; of a piece that is cut, its share.
	function timeOf(item, from, to) {
		if (from <= 0 && to >= span)
			return data.ns[item];
		let sum = 0;
		for (const at of partsOf[item]) {
			const start = data.part[at] * partSpan, end = Math.min(start + partSpan, span);
			const inside = Math.min(end, to) - Math.max(start, from);
			if (inside > 0)
				sum += (data.part_ns[at] * inside) / (end - start);
		}
		return sum;
	}

	// Innermost first.
	function functionsOf(node, sort) {
		const frames = [];
		for (let at = node; at >= 0; at = data.stack_prefix[at])
			frames.push({ name: data.strings[data.stack_frame[at]], sort });
		return frames;
	}
	function causeOf(item) {
		const state = stateOf(item), cause = data.cause[item];
		if (state === 'running' && data.node[item] >= 0)
			return [];
		const word = cause < 0 ? WORDS[state] || `[${state}]`
			: cause < reasons.length ? reasons[cause] : kinds[cause - reasons.length];
		return [{ name: `${word} ${data.strings[data.name[item]]}`.trim(), sort: 'cause', state }];
	}
	// From the root outwards.
	function pathOf(item, options) {
		const own = [...functionsOf(data.node[item], 'function').reverse(), ...causeOf(item)];
		const lane = data.lane[item];
		const root = { name: options.perThread ? laneName(lane) : pools[lanes[lane].pool], sort: 'pool' };
		if (options.inverted)
			return own.reverse();
		if (!TABS[options.tab].hasWakers || data.waker[item] < 0)
			return [root, ...own];
		return [root, ...own, ...functionsOf(data.waker_node[item], 'waker'),
			{ name: `by ${pools[data.waker[item]]}`, sort: 'waker' }];
	}

	function isTaken(item, options) {
		const state = stateOf(item), lane = data.lane[item];
		if (!TABS[options.tab].takes(state) || (state === 'poll' && !options.idle))
			return false;
		return !options.thread || options.thread === pools[lanes[lane].pool] ||
			options.thread === String(lanes[lane].tid);
	}
	// In ns; of slow requests, and of the others, per request.
	function valuesOf(item, options) {
		if (options.tab !== 'slow')
			return [timeOf(item, options.from, options.to), 0];
		return [data.slow_ns[item] / Math.max(data.slow_requests, 1),
			data.other_ns[item] / Math.max(data.other_requests, 1)];
	}

	const newFrame = (frame) => ({ ...frame, value: 0, other: 0, self: 0, children: new Map() });
	function build(options) {
		const root = newFrame({ name: 'all', sort: 'pool' });
		for (let item = 0; item < data.ns.length; item++) {
			if (!isTaken(item, options))
				continue;
			const [value, other] = valuesOf(item, options);
			if (value <= 0 && other <= 0)
				continue;
			let at = root;
			at.value += value;
			at.other += other;
			for (const frame of pathOf(item, options)) {
				const key = `${frame.sort} ${frame.state || ''} ${frame.name}`;
				if (!at.children.has(key))
					at.children.set(key, newFrame(frame));
				at = at.children.get(key);
				at.value += value;
				at.other += other;
			}
			at.self += value;
		}
		return root;
	}

	// Of each function and cause: the time in it, with and without what it calls. A function that
	// calls itself counts once.
	function totals(root) {
		const rows = new Map();
		(function visit(frame, above) {
			const key = `${frame.sort} ${frame.name}`;
			if (frame.sort === 'function' || frame.sort === 'cause') {
				const { name, sort } = frame;
				const row = rows.get(key) || { name, sort, self: 0, total: 0, other: 0 };
				rows.set(key, row);
				row.self += frame.self;
				if (!above.has(key)) {
					row.total += frame.value;
					row.other += frame.other;
				}
			}
			const below = new Set(above).add(key);
			for (const child of frame.children.values())
				visit(child, below);
		})(root, new Set());
		return [...rows.values()];
	}

	return { TABS, build, totals, hasRequests: data.slow_requests > 0 && data.other_requests > 0 };
};
