// SPDX-License-Identifier: Apache-2.0
// What limits the run, and what that rests on.
wcprof.section('verdict', [], (root, data) => {
	const { el, ns, percent, count, tipped } = wcprof;
	const report = data.report, about = data.verdict;
	const isWithheld = report.confidence === 'withheld';

	report.sentences.forEach((sentence, at) => root.append(el('p',
		{ class: `answer${isWithheld && at === 0 ? ' withheld' : ''}` }, sentence)));
	for (const [name, summary] of wcprof.summaries())
		root.append(el('p', { class: 'summary' }, summary, ' ', el('a', { href: '#', onclick: (event) => {
			event.preventDefault();
			wcprof.goTo(name);
		} }, 'More')));
	for (const warning of report.warnings)
		if (!report.confidence_reason.includes(warning))
			root.append(el('p', { class: 'warning' }, `warning: ${warning}`));

	function chip(check) {
		const figure = check.state === 'unknown' ? 'not known' : percent(check.percent);
		const words = [`${check.check}: ${check.state}`,
			`fails above ${check.failed_above}%, withholds above ${check.withheld_above}%`];
		if (check.cause)
			words.push(check.cause);
		if (check.advice)
			words.push(check.advice);
		return tipped(el('li', { class: `chip ${check.state}`, tabindex: 0,
			'aria-label': words.join('; ') },
			`${check.state === 'passed' ? '' : check.state === 'unknown' ? '? ' : '! '}` +
			`${check.check} ${figure}`), words.join('\n'));
	}
	root.append(el('h3', {}, 'Checks'),
		el('ul', { class: 'chips' }, report.checks.map(chip)));

	const facts = [
		['Makespan', `${ns(report.actual_makespan_ns)} recorded, ` +
			`${ns(report.baseline_makespan_ns)} replayed unchanged ` +
			`(${about.drift[0] >= 0 ? '+' : ''}${about.drift[0].toFixed(2)}%)`],
		['Recorded', `${count(report.ops)} ops, ${count(about.waits)} waits, ` +
			`${count(about.links)} links; ${count(report.dropped_events)} events dropped`],
		['Begun', about.epoch_unix_ns > 0
			? new Date(about.epoch_unix_ns / 1e6).toISOString().replace('T', ' ') : 'not known'],
		['From', `${about.dumps} dump${about.dumps === 1 ? '' : 's'}, ` +
			`${count(about.processes)} process${about.processes === 1 ? '' : 'es'}, ` +
			`${count(about.threads)} thread${about.threads === 1 ? '' : 's'}`],
	];
	if (report.open_ops)
		facts.push(['Still open', `${count(report.open_ops)} ops at the time of the dump`]);
	root.append(el('dl', { class: 'facts' }, facts.map(([name, words]) =>
		[el('dt', {}, name), el('dd', {}, words)])));
	if (about.programs.length)
		root.append(wcprof.table('Processes', [
			{ head: 'program', name: true, cell: (row) =>
				(row.exe.endsWith(`/${row.called}`) ? row.exe : `${row.called} (${row.exe})`) },
			{ head: 'pid', right: true, cell: (row) => String(row.pid) },
			{ head: 'host', name: true, cell: (row) => row.host },
			{ head: 'CPUs', right: true, cell: (row) => String(row.cpus) },
			{ head: 'build id', name: true, cell: (row) => row.build_id || 'not known' },
		], about.programs));
});
