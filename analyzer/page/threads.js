// SPDX-License-Identifier: Apache-2.0
// Where the time of each process and thread went: one bar each, of the same scale.
wcprof.section('threads', ['thread'], (root, data, selection) => {
	const { el, svg, ns, percent, ratio, count, table, tipped, select, key, states, stateOf, paint } =
		wcprof;
	const report = data.report;
	if (report.threads.length === 0) {
		root.append(el('p', {}, 'The dump names no threads.'));
		return;
	}
	const order = ['running', 'queued', 'lock', 'other', 'io', 'sleep', 'poll', 'unknown'];
	const WIDTH = 1000, HEIGHT = 16;

	// [state, ns, word], by state in the order above.
	function partsOf(row) {
		const parts = [['running', row.cpu_ns, states.running.word],
			['queued', row.queued_ns, states.queued.word],
			...Object.entries(row.blocked || {}).map(([cause, time]) => [stateOf(cause), time, cause]),
			['unknown', row.unexplained_ns, states.unknown.word]];
		return parts.filter((part) => part[1] > 0)
			.sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
	}
	function bar(name, parts, longest) {
		let at = 0;
		const words = parts.map(([, time, word]) => `${word} ${ns(time)}`).join('\n');
		return tipped(svg('svg', { class: 'bar-of-time', viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
			preserveAspectRatio: 'none', role: 'img', 'aria-label': `${name}: ${words}` },
		parts.map(([state, time]) => {
			const width = (time / longest) * WIDTH;
			at += width;
			return svg('rect', { x: at - width, width, height: HEIGHT, fill: paint(state),
				'data-state': state, 'data-ns': time });
		})), `${name}\n${words}`);
	}
	root.append(key(order));

	if (report.processes.length > 1) {
		const longest = Math.max(...report.processes.map((row) => row.thread_wall_ns), 1);
		root.append(el('h3', {}, 'Processes: sums over their threads'), table('Processes', [
			{ head: 'program', name: true, cell: (row) => row.exe.split('/').pop() },
			{ head: 'pid', right: true, cell: (row) => String(row.pid) },
			{ head: 'threads', right: true, sort: (row) => row.threads, cell: (row) => count(row.threads) },
			{ head: 'thread time', right: true, sort: (row) => row.thread_wall_ns,
				cell: (row) => ns(row.thread_wall_ns) },
			{ head: 'on CPU', right: true, sort: (row) => row.cpu_ns, cell: (row) => ns(row.cpu_ns) },
			{ head: 'where it went', cell: (row) => bar(row.exe, partsOf({ ...row,
				blocked: { blocked: row.blocked_ns } }), longest) },
		], report.processes));
	}

	const longest = Math.max(...report.threads.map((row) => row.wall_ns), 1);
	const nameOf = (row) => `${row.name} ${row.tid}`;
	const isChosen = (row) => selection.thread === String(row.tid);
	root.append(el('h3', {}, 'Threads'), table('Threads', [
		{ head: 'thread', name: true, sort: (row) => row.name, cell: (row) =>
			el('button', { type: 'button', class: 'plain', 'data-key': `thread ${row.tid}`,
				'aria-pressed': String(isChosen(row)),
				onclick: () => select({ thread: isChosen(row) ? null : String(row.tid) }) },
			nameOf(row)) },
		{ head: 'wall', right: true, sort: (row) => row.wall_ns, cell: (row) => ns(row.wall_ns) },
		{ head: 'on CPU', right: true, sort: (row) => row.cpu_ns, cell: (row) => ns(row.cpu_ns) },
		{ head: 'run queue', right: true, sort: (row) => row.queued_ns, cell: (row) => ns(row.queued_ns) },
		{ head: 'blocked', right: true, sort: (row) => row.blocked_ns, cell: (row) => ns(row.blocked_ns) },
		{ head: 'unexplained', right: true, sort: (row) => row.unexplained_ns, cell: (row) =>
			`${ns(row.unexplained_ns)} ${percent(ratio(row.unexplained_ns, row.wall_ns))}` },
		{ head: 'where it went', cell: (row) => bar(nameOf(row), partsOf(row), longest) },
	], report.threads, { isChosen }));
	if (data.verdict.threads > report.threads.length)
		root.append(el('p', {}, `... and ${count(data.verdict.threads - report.threads.length)} more; ` +
			'--top shows them.'));
	const switches = ['voluntary_switches', 'involuntary_switches'].map((what) =>
		report.coverage.find((row) => row.what === what)).filter(Boolean);
	if (switches.length)
		root.append(el('p', { class: 'faint' }, 'All threads: ' + switches.map((row) =>
			`${count(row.count)} ${row.what.replace('_', ' ')}`).join(', ') + '.'));
});
