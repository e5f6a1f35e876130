// SPDX-License-Identifier: Apache-2.0
// Where the time of each process and thread went: one bar each, of the same scale.
wcprof.section('threads', ['thread'], (root, data, selection) => {
	const { el, ns, count, table, tipped, select, key, states, stateOf } = wcprof;
	const report = data.report, about = data.threads;
	if (about.threads.length === 0) {
		root.append(el('p', {}, 'The dump names no threads.'));
		return;
	}
	const order = ['running', 'queued', 'lock', 'other', 'io', 'sleep', 'poll', 'unknown'];

	// [state, ns, word], by state in the order above. Idle is told apart from blocked.
	function partsOf(row) {
		const parts = [['running', row.running_ns, states.running.word],
			['queued', row.queued_ns, states.queued.word],
			['unknown', row.unexplained_ns, states.unknown.word],
			...Object.entries(row.blocked).map(([cause, time]) => [stateOf(cause), time, cause]),
			...Object.entries(row.idle).map(([cause, time]) => ['poll', time, `idle, ${cause}`])];
		return parts.filter((part) => part[1] > 0)
			.sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
	}
	function bar(name, parts, longest) {
		const words = parts.map(([, time, word]) => `${word} ${ns(time)}`).join('\n');
		return tipped(el('div', { class: 'time', role: 'img', 'aria-label': `${name}: ${words}` },
			parts.map(([state, time]) => el('span', { class: `state-${state}`, 'data-state': state,
				'data-ns': time, style: `width:${(100 * time) / longest}%` },
			time > longest / 20 ? states[state].letter : ''))), `${name}\n${words}`);
	}
	root.append(key(order));

	const sum = (times) => Object.values(times).reduce((all, time) => all + time, 0);
	const times = (longest, nameOf) => [
		{ head: 'on CPU', right: true, sort: (row) => row.running_ns, cell: (row) => ns(row.running_ns) },
		{ head: 'run queue', right: true, sort: (row) => row.queued_ns, cell: (row) => ns(row.queued_ns) },
		{ head: 'blocked', right: true, sort: (row) => sum(row.blocked),
			cell: (row) => ns(sum(row.blocked)) },
		{ head: 'idle', right: true, sort: (row) => sum(row.idle), cell: (row) => ns(sum(row.idle)) },
		{ head: 'unexplained', right: true, sort: (row) => row.unexplained_ns,
			cell: (row) => ns(row.unexplained_ns) },
		{ head: 'where it went', cell: (row) => bar(nameOf(row), partsOf(row), longest) },
	];
	const most = (rows, name) => Math.max(...rows.map((row) => row[name]), 1);
	const all = about.processes;
	if (all.length > 1)
		root.append(table('Processes: sums over their threads', [
			{ head: 'program', name: true, sort: (row) => row.called,
				cell: (row) => row.called },
			{ head: 'pid', right: true, cell: (row) => String(row.pid) },
			{ head: 'threads', right: true, sort: (row) => row.threads, cell: (row) => count(row.threads) },
			{ head: 'thread time', right: true, sort: (row) => row.thread_wall_ns,
				cell: (row) => ns(row.thread_wall_ns) },
			...times(most(all, 'thread_wall_ns'), (row) => `${row.called} ${row.pid}`),
		], all));
	const nameOf = (row) => `${row.name} ${row.tid}`;
	const isChosen = (row) => selection.thread === String(row.tid);
	root.append(table('Threads', [
		{ head: 'thread', name: true, sort: (row) => row.name, cell: (row) =>
			el('button', { type: 'button', class: 'plain', 'data-key': `thread ${row.tid}`,
				'aria-pressed': String(isChosen(row)),
				onclick: () => select({ thread: isChosen(row) ? null : String(row.tid) }) },
			nameOf(row)) },
		{ head: 'wall', right: true, sort: (row) => row.wall_ns, cell: (row) => ns(row.wall_ns) },
		...times(most(about.threads, 'wall_ns'), nameOf),
	], about.threads, { isChosen }));
	if (data.verdict.threads > about.threads.length)
		root.append(el('p', {}, `... and ${count(data.verdict.threads - about.threads.length)} more, ` +
			'which used less of the CPUs.'));
	const switches = ['voluntary_switches', 'involuntary_switches'].map((what) =>
		report.coverage.find((row) => row.what === what)).filter(Boolean);
	if (switches.length)
		root.append(el('p', { class: 'faint' }, 'All threads: ' + switches.map((row) =>
			`${count(row.count)} ${row.what.replace('_', ' ')}`).join(', ') + '.'));
});
