// SPDX-License-Identifier: Apache-2.0
// What a fix buys: a curve for each of the best classes, and the table of all.
wcprof.section('whatif', ['class'], (root, data, selection) => {
	const { el, svg, ns, percent, ratio, count, table, tipped, select } = wcprof;
	const report = data.report, baseline = report.baseline_makespan_ns;
	const share = (saved) => ratio(saved, baseline);
	const nameOf = (row) => `${row.kind} ${row.class}`;
	const WIDTH = 360, HEIGHT = 190, LEFT = 46, RIGHT = 12, TOP = 12, BOTTOM = 34;

	if (report.answers === 'withheld') {
		root.append(el('p', { class: 'withheld' }, report.sentences[0]),
			el('p', {}, 'The curves and the table are withheld; --force shows them.'));
		return;
	}
	if (report.confidence === 'withheld')
		root.append(el('p', { class: 'withheld' }, report.sentences[0]));

	// --- curves ---

	const rows = new Map(report.what_if.map((row) => [nameOf(row), row]));
	const curves = new Map();
	for (const point of report.curves)
		curves.set(nameOf(point), [...(curves.get(nameOf(point)) || []), point]);
	const shown = [...curves];
	// More than all of the run cannot be saved.
	const most = Math.min(100, Math.max(1, ...shown.flatMap(([, points]) =>
		points.map((point) => share(point.saved_most_ns)))));
	const top = niceTop(most);
	const bottom = Math.min(0, ...shown.flatMap(([, points]) =>
		points.map((point) => share(point.saved_least_ns))));

	function niceTop(value) {
		const size = 10 ** Math.floor(Math.log10(value));
		return [1, 2, 5, 10].map((times) => times * size).find((most) => most >= value * 0.999);
	}
	const x = (factor) => LEFT + (1 - factor) * (WIDTH - LEFT - RIGHT);
	const y = (value) => TOP + ((top - Math.min(top, Math.max(bottom, value))) / (top - bottom)) *
		(HEIGHT - TOP - BOTTOM);
	const path = (points, of) => points.map((point) =>
		`${x(point.factor).toFixed(2)},${y(share(of(point))).toFixed(2)}`).join(' ');

	function axes() {
		const lines = [0, 0.5, 1].map((part) => part * top).map((value) => [
			svg('line', { class: 'axis', x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
			svg('text', { x: LEFT - 5, y: y(value) + 4, 'text-anchor': 'end', class: 'faint' },
				`${Number(value.toPrecision(3))}%`)]);
		const ticks = [1, 0.75, 0.5, 0.25, 0].map((factor) => svg('text', { x: x(factor),
			y: HEIGHT - BOTTOM + 16, class: 'faint',
			'text-anchor': factor === 1 ? 'start' : factor === 0 ? 'end' : 'middle' },
		factor === 1 ? 'as it is' : factor === 0 ? 'no time' : `x${factor}`));
		return [lines, ticks];
	}
	function knee(row, points) {
		if (!row || !(row.stops_at > 0))
			return [];
		const at = points.findIndex((point) => point.factor <= row.stops_at);
		const [left, right] = [points[Math.max(0, at - 1)], points[at]];
		const part = left === right ? 0
			: (left.factor - row.stops_at) / (left.factor - right.factor);
		const value = share(left.saved_ns + part * (right.saved_ns - left.saved_ns));
		const cx = x(row.stops_at), cy = y(value), words = row.then.class
			? `then: ${row.then.class.slice(0, 28)}` : 'no more gain';
		const isRight = cx > WIDTH * 0.6;
		return [svg('circle', { class: 'knee', cx, cy, r: 5 }),
			svg('text', { class: 'limit', x: isRight ? cx - 4 : cx + 8,
				y: Math.min(cy + 18, HEIGHT - BOTTOM - 4),
				'text-anchor': isRight ? 'end' : 'start' }, words)];
	}
	function summary(name, row, points) {
		const at = (factor) => points.find((point) => point.factor === factor);
		const say = (point, words) => point && `${words} ${percent(share(point.saved_ns))} sooner, ` +
			`range ${percent(share(point.saved_least_ns))} to ${percent(share(point.saved_most_ns))}`;
		return [name, say(at(0.5), 'taking half as long the run ends'),
			say(at(0), 'taking no time'),
			row && row.stops_at > 0 && `no more gain below x${row.stops_at.toPrecision(2)}`,
			row && row.then.class && `then the limit is ${nameOf(row.then)}`]
			.filter(Boolean).join('; ');
	}
	function chart([name, points]) {
		const row = rows.get(name);
		const band = `${path(points, (point) => point.saved_least_ns)} ` +
			path([...points].reverse(), (point) => point.saved_most_ns);
		const dots = points.map((point) => tipped(svg('circle', { class: 'dot',
			cx: x(point.factor), cy: y(share(point.saved_ns)), r: 3.5,
			'data-factor': point.factor, 'data-saved': point.saved_ns }),
		`${name}, x${point.factor}\nsaved ${ns(point.saved_ns)}, ` +
			`${percent(share(point.saved_ns))}\nrange ${ns(point.saved_least_ns)} to ` +
			`${ns(point.saved_most_ns)}`));
		const half = points.find((point) => point.factor === 0.5);
		return el('figure', { class: 'curve', 'data-class': name },
			el('figcaption', {}, el('strong', {}, points[0].class), ` ${points[0].kind}`,
				half ? el('span', { class: 'faint' },
					`, halved: ${percent(share(half.saved_ns))} sooner`) : null),
			svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img',
				'aria-label': summary(name, row, points) },
			axes(), svg('polygon', { class: 'band', points: band }),
			svg('polyline', { class: 'curve-line', points: path(points, (point) => point.saved_ns) }),
			dots, knee(row, points)));
	}
	if (shown.length)
		root.append(el('p', { class: 'faint' }, 'How much sooner the run would end, in percent of ' +
			`the makespan (${ns(baseline)}), if all of a class took x times as long. The band is ` +
			'the range; the ring is where nothing more is gained, and what is the limit then. ' +
			'The curves do not add up.'),
		el('div', { class: 'curves' }, shown.map(chart)));

	// --- table ---

	const factors = report.what_if.length
		? Object.keys(report.what_if[0].saved_ns).sort((a, b) => a - b) : [];
	const least = factors[0];
	function range(row) {
		const from = share(row.saved_least_ns[least]), to = share(row.saved_most_ns[least]);
		const why = row.depends_on_lock_order ? ' (lock order)'
			: row.depends_on_cpus ? ' (run queue)' : '';
		return to - from >= 0.5 ? `${from.toFixed(1)}..${percent(Math.min(to, 100))}${why}` : '';
	}
	// A column in which there is something to tell.
	const told = (head, cell) => (report.what_if.some((row) => cell(row))
		? [{ head, name: true, cell }] : []);
	const isChosen = (row) => row.class === selection.class;
	const MEANINGS = {
		hold: 'the work done while that lock is held',
		io: 'a call, as made by one function',
		poll: 'waiting for events, as one function does',
		sleep: 'a sleep, as one function does it',
		thread: 'the running code of threads that begin in that function',
		func: 'a function, with all that it calls',
		program: 'all that the program does',
	};
	function legend() {
		const kinds = Object.keys(MEANINGS).filter((kind) =>
			report.what_if.some((row) => row.kind === kind));
		return el('p', { class: 'faint small' }, 'self: time in the class itself, all threads ' +
			`added; ops: how often; ${kinds.map((kind) => `${kind}: ${MEANINGS[kind]}`).join('; ')}.`);
	}
	if (report.what_if.length === 0)
		root.append(el('p', {},
			'No class has enough self time; --min-self sets how much is enough.'));
	else
		root.append(table('Time saved in the whole run if a class takes x times as long', [
			{ head: 'class', name: true, sort: (row) => row.class, cell: (row) =>
				el('button', { type: 'button', class: 'plain', 'aria-pressed': String(isChosen(row)),
					'data-key': `whatif ${nameOf(row)}`,
					onclick: () => select({ class: isChosen(row) ? null : row.class }) },
				row.class) },
			{ head: 'kind', sort: (row) => row.kind, cell: (row) => row.kind },
			{ head: 'self', right: true, sort: (row) => row.total_self_ns,
				cell: (row) => ns(row.total_self_ns) },
			{ head: 'ops', right: true, sort: (row) => row.count, cell: (row) => count(row.count) },
			...factors.map((factor) => ({ head: `saved x${factor}`, right: true,
				sort: (row) => row.saved_ns[factor], cell: (row) =>
					`${ns(row.saved_ns[factor])}  ${percent(share(row.saved_ns[factor]))}` })),
			{ head: `range x${least}`, cell: range },
			...told('no more gain, then the limit is', (row) => (row.stops_at > 0
				? `below x${row.stops_at.toPrecision(2)}` +
					(row.then.class ? `: ${nameOf(row.then)}` : '')
				: '')),
			...told('same as', (row) => row.same_as),
		], report.what_if, { isChosen }), legend());
	const pinned = report.checks.find((check) => check.check === 'pinned');
	if (pinned && pinned.state !== 'unknown' && report.what_if.length)
		root.append(el('p', {},
			`${percent(pinned.percent)} of the run would remain if everything took no time.`));
	if (report.asked.length)
		root.append(table('What was asked about', Object.keys(report.asked[0]).map((name) =>
			({ head: name.replaceAll('_', ' '), name: true, cell: (row) =>
				(name.endsWith('_ns') ? ns(row[name]) : String(row[name])) })), report.asked));
});
