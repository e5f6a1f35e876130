// SPDX-License-Identifier: Apache-2.0
// Which locks were waited for: when, how long, and whose holds made others wait.
(() => {
const place = (text) => text || 'an unknown place';
const waitedFor = (data) => data.report.locks.filter((row) =>
	row.contended > 0 && data.locks.names.includes(row.lock));
// By the place where the lock was taken: how long others waited for that.
function causedBy(pairs) {
	const caused = new Map();
	for (const pair of pairs)
		caused.set(pair.holder, (caused.get(pair.holder) || 0) + pair.wait_ns);
	return caused;
}
function inWords(data, row) {
	const { ns, percent, ratio, count } = wcprof;
	const number = data.locks.names.indexOf(row.lock);
	const caused = causedBy(data.locks.pairs.filter((pair) => pair.lock === number));
	const [worst, worstNs] = [...caused].sort((a, b) => b[1] - a[1])[0] || ['', 0];
	return `${row === waitedFor(data)[0] ? 'The worst lock is' : 'The lock'} \`${row.lock}\`: ` +
		`threads waited ${ns(row.wait_total_ns)} for it, ${count(row.contended)} times` +
		(worstNs > 0 ? `; ${percent(ratio(worstNs, row.wait_total_ns))} of that for holds taken at ` +
			`${place(worst)}.` : '; whose holds that was is not known.');
}
wcprof.section('locks', ['from', 'to', 'lock'], (root, data, selection) => {
	const { el, svg, ns, percent, ratio, count, table, tipped, select } = wcprof;
	const all = data.report.locks, locks = data.locks;
	const span = data.report.trace_span_ns, slot = span / locks.slots;
	const waited = waitedFor(data);
	if (waited.length === 0) {
		root.append(el('p', {}, all.length ? 'No lock was waited for.'
			: 'None; no holds were recorded.'));
		return;
	}
	const chosen = waited.find((row) => row.lock === selection.lock) || waited[0];
	const number = locks.names.indexOf(chosen.lock);
	const pairs = locks.pairs.filter((pair) => pair.lock === number);

	const caused = causedBy(pairs);
	root.append(el('p', { class: 'answer' }, inWords(data, chosen)));

	// --- heat map ---

	const first = Math.floor(selection.from / slot);
	const last = Math.min(locks.slots, Math.max(first + 1, Math.ceil(selection.to / slot)));
	const densest = Math.max(...locks.heat.map(([, , wait]) => wait / slot), 1e-9);
	const WIDTH = wcprof.widthIn(root, 1000), ROW = 20;
	const when = (at) => `${ns(at * slot)} to ${ns((at + 1) * slot)}`;
	function strip(row) {
		const of = locks.names.indexOf(row.lock), width = WIDTH / (last - first);
		const cells = locks.heat.filter(([lock, at]) => lock === of && at >= first && at < last);
		return tipped(svg('svg', { viewBox: `0 0 ${WIDTH} ${ROW}`, preserveAspectRatio: 'none',
			role: 'img', 'aria-label': `Waiters for ${row.lock} over time: at most ` +
				`${Math.max(0, ...cells.map(([, , , most]) => most))} at once` },
		svg('rect', { class: 'empty', width: WIDTH, height: ROW }),
		cells.map(([, at, wait, most]) => svg('rect', { class: 'heat', x: (at - first) * width,
			width: width + 0.3, height: ROW, 'data-slot': at, 'data-wait': wait,
			'data-most': most, 'fill-opacity': (0.12 + 0.88 * Math.sqrt(wait / slot / densest))
				.toFixed(3) }))),
		(event) => {
			const cell = event && event.target.dataset && event.target.dataset.slot
				? event.target.dataset : null;
			return cell ? `${row.lock}, ${when(Number(cell.slot))}\n` +
				`${(cell.wait / slot).toFixed(2)} waiters on average, at most ${cell.most}` : row.lock;
		});
	}
	root.append(el('p', { class: 'faint' }, 'The darker, the more threads waited ' +
		`(darkest: ${densest.toFixed(2)} on average over ${ns(slot)}).`),
	el('div', { class: 'heatmap', role: 'group', 'aria-label': 'Locks over time' },
		waited.map((row) => [
			el('button', { type: 'button', class: 'plain', 'data-key': `lock ${row.lock}`,
				'aria-pressed': String(row === chosen),
				onclick: () => select({ lock: row.lock }) }, row.lock), strip(row)]),
		el('span'), el('span', { class: 'ends faint' }, el('span', {}, ns(first * slot)),
			el('span', {}, ns(last * slot)))));

	// --- the chosen lock ---

	root.append(el('h3', { class: 'chosen' }, `${chosen.lock}: waiters over time`));
	const cells = locks.heat.filter(([lock, at]) => lock === number && at >= first && at < last);
	const most = Math.max(1, ...cells.map((cell) => cell[3]));
	const HEIGHT = 110, LEFT = 40;
	const x = (at) => LEFT + ((at - first) / (last - first)) * (WIDTH - LEFT);
	const y = (value) => 8 + (1 - value / most) * (HEIGHT - 16);
	root.append(svg('svg', { class: 'wide', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img',
		'aria-label': `Waiters for ${chosen.lock} over time, at most ${most} at once` },
	[0, most].map((value) => [
		svg('line', { class: 'axis', x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value) }),
		svg('text', { class: 'faint', x: LEFT - 6, y: y(value) + 4, 'text-anchor': 'end' },
			String(value))]),
	cells.map(([, at, wait, top]) => [
		svg('rect', { class: 'most', x: x(at), width: x(at + 1) - x(at) + 0.3, y: y(top),
			height: y(0) - y(top) }),
		svg('rect', { class: 'heat', x: x(at), width: x(at + 1) - x(at) + 0.3,
			y: y(wait / slot), height: y(0) - y(wait / slot) })])),
	el('p', { class: 'small faint' }, 'Pale: the most at once in a slot; dark: on average.'));

	function histogram(title, bins, times) {
		const rows = bins.filter(([lock]) => lock === number);
		if (rows.length === 0)
			return el('p', {}, `${title}: none recorded.`);
		const from = Math.log2(Math.max(1, rows[0][1])), H = 130;
		const W = wcprof.widthIn(root, 460);
		const to = Math.log2(Math.max(2, rows[rows.length - 1][2]));
		const high = Math.max(...rows.map((row) => row[3]));
		const at = (value) => 6 + ((Math.log2(Math.max(1, value)) - from) / (to - from || 1)) * (W - 12);
		const marks = [['p50', times.p50], ['p95', times.p95], ['max', times.max]];
		return el('figure', {}, el('figcaption', {}, title, el('span', { class: 'faint' },
			` p50 ${ns(times.p50)}, p95 ${ns(times.p95)}, max ${ns(times.max)}`)),
		svg('svg', { class: 'wide', viewBox: `0 0 ${W} ${H}`, role: 'img',
			'aria-label': `${title}: ${marks.map(([word, value]) => `${word} ${ns(value)}`).join(', ')}` },
		rows.map(([, low, up, times_]) => tipped(svg('rect', { class: 'column', x: at(low),
			width: Math.max(1, at(up) - at(low) - 0.5), y: 16 + (1 - times_ / high) * (H - 36),
			height: (times_ / high) * (H - 36) }), `${ns(low)} to ${ns(up)}: ${count(times_)}`)),
		svg('line', { class: 'axis', x1: 0, x2: W, y1: H - 20, y2: H - 20 }),
		svg('text', { class: 'faint', x: 6, y: H - 6 }, ns(rows[0][1])),
		svg('text', { class: 'faint', x: W - 6, y: H - 6, 'text-anchor': 'end' },
			ns(rows[rows.length - 1][2])),
		marks.slice(0, 2).map(([word, value]) => [
			svg('line', { class: 'mark', x1: at(value), x2: at(value), y1: 12, y2: H - 20 }),
			svg('text', { class: 'faint', x: at(value), y: 10, 'text-anchor': 'middle' }, word)])));
	}
	root.append(el('div', { class: 'pair' },
		histogram('Waits', locks.waits, { p50: chosen.wait_p50_ns, p95: chosen.wait_p95_ns,
			max: chosen.wait_max_ns }),
		histogram('Holds', locks.holds, { p50: chosen.hold_p50_ns, p95: chosen.hold_p95_ns,
			max: chosen.hold_max_ns })));

	// --- who makes whom wait ---

	const MOST = 8;
	const best = (of) => [...new Set(pairs.map((pair) => pair[of]))].map((site) => [site,
		pairs.reduce((sum, pair) => sum + (pair[of] === site ? pair.wait_ns : 0), 0)])
		.sort((a, b) => b[1] - a[1]).slice(0, MOST).map(([site]) => site);
	const waiters = best('waiter'), holders = best('holder');
	const high = Math.max(1, ...pairs.map((pair) => pair.wait_ns));
	if (pairs.length)
		root.append(table(`Time that a wait at the place above was for a hold taken at the place on ` +
			`the left: ${chosen.lock}`, [
			{ head: 'held from', name: true, cell: (holder) => place(holder) },
			...waiters.map((waiter) => ({ head: `waits at ${place(waiter)}`, cell: (holder) => {
				const pair = pairs.find((one) => one.holder === holder && one.waiter === waiter);
				return pair ? el('span', { class: 'cell', 'data-wait': pair.wait_ns, style:
					`--level:${Math.round(100 * (0.06 + 0.5 * pair.wait_ns / high))}%` },
				`${ns(pair.wait_ns)} (${count(pair.count)})`) : '';
			} })),
			{ head: 'all', right: true, cell: (holder) => ns(caused.get(holder)) },
		], holders));

	root.append(table('All locks that were waited for', [
		{ head: 'lock', name: true, sort: (row) => row.lock, cell: (row) => row.lock },
		{ head: 'locks', right: true, sort: (row) => row.locks, cell: (row) => count(row.locks) },
		{ head: 'acquired', right: true, sort: (row) => row.acquisitions,
			cell: (row) => count(row.acquisitions) },
		{ head: 'waits', right: true, sort: (row) => row.contended, cell: (row) => count(row.contended) },
		...['wait_total', 'wait_p50', 'wait_p95', 'hold_total', 'hold_p50', 'hold_p95'].map((name) => ({
			head: name.replace('_total', ' time').replace(/(.*)_(p..)/, '$2 $1'), right: true,
			sort: (row) => row[`${name}_ns`], cell: (row) => ns(row[`${name}_ns`]) })),
		{ head: 'top holder', name: true, cell: (row) => row.top_holder },
		{ head: 'top waiter', name: true, cell: (row) => row.top_waiter },
	], waited, { isChosen: (row) => row === chosen }));
}, (data) => (waitedFor(data).length ? inWords(data, waitedFor(data)[0]) : ''));
})();
