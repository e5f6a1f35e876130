// SPDX-License-Identifier: Apache-2.0
// What was not seen: said whether there is anything of the kind or not.
wcprof.section('unseen', [], (root, data) => {
	const { el, ns, percent, ratio, count, table } = wcprof;
	const report = data.report, unseen = data.unseen;
	const of = (what) => report.coverage.find((row) => row.what === what);
	const unexplained = of('unexplained_ns'), off = of('off_cpu_ns');

	if (unexplained && off)
		root.append(el('p', { class: 'answer' }, `${ns(unexplained.count)} of ${ns(off.count)} that ` +
			`threads spent off the CPU (${percent(ratio(unexplained.count, off.count))}) is unexplained: ` +
			'in no recorded call.'));
	root.append(unseen.lines.length
		? el('ul', {}, unseen.lines.map((line) => el('li', {}, line)))
		: el('p', {}, 'The dump does not say what could not be seen.'));
	const unknown = report.checks.filter((check) => check.state === 'unknown');
	if (unknown.length)
		root.append(el('p', {}, 'Checks that could not be made, as the recording does not say enough: ' +
			`${unknown.map((check) => check.check).join(', ')}.`),
		el('ul', {}, unknown.filter((check) => check.cause).map((check) =>
			el('li', {}, `${check.check}: ${check.cause}`))));
	root.append(unseen.counters.length
		? table('What the recording left out or lost', [
			{ head: 'count', right: true, sort: (row) => row.value, cell: (row) => count(row.value) },
			{ head: 'counter', cell: (row) => row.name },
			{ head: 'meaning', name: true, cell: (row) => row.meaning },
		], unseen.counters)
		: el('p', {}, 'By its counters, the recording left out and lost nothing.'));
	const kinds = report.coverage.filter((row) => row.name);
	if (kinds.length)
		root.append(table('By name', [
			{ head: 'what', cell: (row) => row.what.replaceAll('_', ' ') },
			{ head: 'name', name: true, cell: (row) => row.name },
			{ head: 'count', right: true, cell: (row) =>
				(row.what.endsWith('_ns') ? ns(row.count) : count(row.count)) },
		], kinds));
});
