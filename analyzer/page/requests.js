// SPDX-License-Identifier: Apache-2.0
// Requests: how long they took, what two of them did side by side, and what the tail has more of.
(() => {
const what = (requests) => (requests.is_lock ? `waits for \`${requests.class}\``
	: `requests that begin with \`${requests.class}\``);

// --- sorts of a thread's time: [state, cause, name]; parts of a request ---

const paintOf = (state, cause) => ({ running: 'running', queued: 'queued', idle: 'poll',
	unexplained: 'unknown' }[state] || wcprof.stateOf(cause));
function words(state, cause, name) {
	if (state === 'running')
		return `on a CPU: ${name}`;
	if (state === 'queued' || state === 'unexplained')
		return wcprof.states[paintOf(state, cause)].word;
	return `${state === 'idle' ? 'idle, ' : ''}${cause} ${name}`;
}

// How many took at most so long: [time, share], in order of time. The weight of one that was not
// finished is shared by those that took longer (Kaplan and Meier).
function sharesOf(points) {
	let left = points.reduce((sum, point) => sum + point[3], 0), above = 1;
	return points.map(([, , value, weight, unfinished]) => {
		above *= 1 - (weight - unfinished) / left;
		left -= weight;
		return [value, 1 - above];
	});
}

const marksOf = (requests) => [['p50', requests.rank50], ['p95', requests.rank95],
	['p99', requests.rank99], ['max', requests.count - 1]].filter(([, rank]) => rank !== undefined);
function partWords({ kind, name, by }) {
	const plain = { 'cpu wait': wcprof.states.queued.word, 'waking': 'waking up',
		'unexplained': wcprof.states.unknown.word, '': name };
	if (kind in plain)
		return plain[kind];
	if (kind === 'cpu')
		return `on a CPU: ${name}`;
	if (kind === 'lock')
		return `lock ${name}, held by ${by || 'one that is not known'}`;
	if (kind === 'queued')
		return `queued behind ${name || 'other work'}${by ? `, in ${by}` : ''}`;
	return `${kind} ${name}`;
}
function inWords(data) {
	const { ns, count } = wcprof, requests = data.requests;
	const taken = (rank) => requests.picks.find((pick) => pick.rank === rank).taken_ns;
	return `${count(requests.count)} ${what(requests)}: ` +
		`${marksOf(requests).map(([word, rank]) => `${word} ${ns(taken(rank))}`).join(', ')}.` +
		(requests.unfinished ? ` ${count(requests.unfinished)} were not finished: they take longer ` +
			'than was seen.' : '') +
		(data.report.tail_answer && !requests.is_lock ? ` ${data.report.tail_answer}` : '');
}
wcprof.section('requests', ['from', 'to', 'request'], (root, data, selection) => {
	const { el, svg, ns, percent, ratio, count, table, tipped, select, key, states, paint } = wcprof;
	const report = data.report, requests = data.requests, span = report.trace_span_ns;
	if (requests.count === 0) {
		root.append(el('p', {}, 'The recording shows no requests.'));
		return;
	}
	const keyWords = requests.keys.map(partWords);

	const rankOf = (rank) => requests.picks.findIndex((one) => one.rank === rank);
	const taken = (rank) => requests.picks[rankOf(rank)].taken_ns;
	const marks = marksOf(requests);
	root.append(el('p', { class: 'answer' }, inWords(data)));
	if (requests.is_lock)
		root.append(el('p', {}, 'The recording shows no requests; these are the waits for the lock ' +
			'waited for most.'));

	// --- how long they took ---

	const isBrushed = selection.from > 0 || selection.to < span;
	const part = requests.points.filter(([, start]) => start >= selection.from && start < selection.to);
	const WIDTH = wcprof.widthIn(root, 1000), HEIGHT = 230, LEFT = 48, RIGHT = 16, TOP = 26, BOTTOM = 26;
	const low = Math.log10(Math.max(1, requests.points[0][2]));
	const high = Math.max(Math.log10(Math.max(2, taken(requests.count - 1))), low + 0.01);
	const x = (value) => LEFT + ((Math.log10(Math.max(1, value)) - low) / (high - low)) *
		(WIDTH - LEFT - RIGHT);
	const y = (share) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
	function cdf(points, name) {
		let last = 0;
		const line = [];
		for (const [value, share] of sharesOf(points)) {
			line.push(`${x(value).toFixed(1)},${y(last).toFixed(1)}`);
			last = share;
			line.push(`${x(value).toFixed(1)},${y(last).toFixed(1)}`);
		}
		return svg('polyline', { class: name, points: line.join(' ') });
	}
	function quantile(points, p) {
		const at = sharesOf(points).find(([, share]) => share * 100 > p);
		return at ? ns(at[0]) : 'not known';
	}
	// The pick that took nearly so long.
	const nearest = (value) => requests.picks.reduce((best, pick) =>
		(Math.abs(Math.log(pick.taken_ns + 1) - Math.log(value + 1)) <
			Math.abs(Math.log(best.taken_ns + 1) - Math.log(value + 1)) ? pick : best));
	const wanted = Number(selection.request || NaN);
	const chosen = Math.max(0, rankOf(wanted) >= 0 ? rankOf(wanted)
		: rankOf(requests.rank99 ?? requests.count - 1));
	const median = rankOf(requests.rank50 ?? requests.picks[requests.picks.length >> 1].rank);
	function ticks() {
		const values = [];
		for (let power = Math.floor(low); power <= high; power++)
			for (const times of WIDTH > 600 ? [1, 2, 5] : [1])
				if (Math.log10(times) + power >= low && Math.log10(times) + power <= high)
					values.push(times * 10 ** power);
		return values.slice(0, 14).map((value) => svg('text', { class: 'faint', x: x(value),
			y: HEIGHT - 8, 'text-anchor': 'middle' }, ns(value)));
	}
	function mark([word, rank], at) {
		return [svg('line', { class: 'mark', x1: x(taken(rank)), x2: x(taken(rank)), y1: TOP - 4,
			y2: HEIGHT - BOTTOM, 'data-mark': word, 'data-ns': taken(rank) }),
		svg('text', { x: x(taken(rank)), y: at % 2 ? 10 : 21, 'text-anchor': 'middle' }, word)];
	}
	const curve = svg('svg', { class: 'wide', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img',
		'aria-label': `How many took how long: ${marks.map(([word, rank]) =>
			`${word} ${ns(taken(rank))}`).join(', ')}` },
	[0, 0.5, 1].map((share) => [
		svg('line', { class: 'axis', x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share) }),
		svg('text', { class: 'faint', x: LEFT - 6, y: y(share) + 4, 'text-anchor': 'end' },
			`${100 * share}%`)]),
	ticks(), cdf(requests.points, isBrushed ? 'cdf all' : 'cdf'),
	isBrushed && part.length ? cdf(part, 'cdf') : null, marks.map(mark),
	svg('line', { class: 'chosen-mark', x1: x(requests.picks[chosen].taken_ns),
		x2: x(requests.picks[chosen].taken_ns), y1: TOP, y2: HEIGHT - BOTTOM }));
	curve.addEventListener('click', (event) => {
		const box = curve.getBoundingClientRect();
		const at = ((event.clientX - box.left) / box.width) * WIDTH;
		const share = (at - LEFT) / (WIDTH - LEFT - RIGHT);
		select({ request: String(nearest(10 ** (low + share * (high - low))).rank) });
	});
	tipped(curve, (event) => {
		if (!event)
			return 'How many took how long';
		const box = curve.getBoundingClientRect();
		const share = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
		const value = 10 ** (low + share * (high - low));
		const below = sharesOf(requests.points).filter(([taken]) => taken <= value).pop();
		return `${percent(below ? 100 * below[1] : 0)} took at most ${ns(value)}\n` +
			'Click: look into one that took so long';
	});
	root.append(el('h3', {}, 'How many took how long'), curve);
	if (isBrushed)
		root.append(el('p', {}, part.length ? `In the selected part ${count(part.reduce((sum, point) =>
			sum + point[3], 0))} began: p50 ${quantile(part, 50)}, p95 ${quantile(part, 95)}, ` +
			`p99 ${quantile(part, 99)}. The pale line is the whole run.`
			: 'None began in the selected part.'));
	if (requests.points.length < requests.count)
		root.append(el('p', { class: 'small faint' }, `${count(requests.points.length)} of them are in this ` +
			'page, the slowest all; the rest stand for others that took nearly as long.'));

	// --- two of them, side by side ---

	const longest = Math.max(requests.picks[median].taken_ns, requests.picks[chosen].taken_ns, 1);
	function lane(at, row, isOwn) {
		const W = wcprof.widthIn(root, 560), H = isOwn ? 34 : 20;
		const slices = requests.slices.filter((slice) => slice[0] === at);
		return [el('div', { class: 'lane-name small' }, isOwn ? '' : 'meanwhile ',
			`${row.thread} ${row.tid}`),
		svg('svg', { class: 'wide lane', viewBox: `0 0 ${W} ${H}`, role: 'img', 'data-lane': at,
			'aria-label': `${row.thread} ${row.tid}: ${slices.length} slices of time` },
		svg('rect', { class: 'empty', width: W, height: H }),
		slices.map(([, from, length, sort, waker]) => {
			const [state, cause, name] = requests.sorts[sort];
			const left = (from / longest) * W, width = Math.max(0.5, (length / longest) * W);
			const shown = paintOf(state, cause);
			return tipped(svg('g', { 'data-state': shown, 'data-ns': length },
				svg('rect', { x: left, width, height: H, fill: paint(shown) }),
				width > 14 ? svg('text', { class: 'letter', x: left + width / 2, y: H / 2 + 4,
					'text-anchor': 'middle' }, states[shown].letter) : null),
			`${words(state, cause, name)}\n${ns(length)}, from ${ns(from)} on` +
				(waker ? `\nended by thread ${waker}` : ''));
		})),
		row.left_out ? el('div', { class: 'small faint' }, `${count(row.left_out)} shorter ones, ` +
			`${ns(row.left_out_ns)} in all, are not drawn`) : null];
	}
	function waterfall(title, at) {
		const pick = requests.picks[at];
		const lanes = requests.lanes.map((row, index) => [row, index])
			.filter(([row]) => row.pick === at);
		const parts = requests.parts.filter(([of]) => of === at).sort((a, b) => b[2] - a[2]);
		return el('div', { class: 'waterfall', 'data-rank': pick.rank },
			el('h4', {}, `${title}: ${ns(pick.taken_ns)}`),
			el('p', { class: 'small faint' }, `thread ${pick.thread} ${pick.tid}, ` +
				`from ${ns(pick.start_ns)} of the recording on`),
			lanes.map(([row, index], number) => lane(index, row, number === 0)),
			table(`What its time was`, [
				{ head: 'what', name: true, cell: ([, part]) => keyWords[part] },
				{ head: 'time', right: true, cell: ([, , time]) => ns(time) },
				{ head: 'of it', right: true,
					cell: ([, , time]) => percent(ratio(time, pick.taken_ns)) },
			], parts.slice(0, 6)));
	}
	const shareOf = (pick) => percent(ratio(pick.rank + 1, requests.count));
	root.append(el('h3', {}, 'One in the middle, and a slow one: the same scale'),
		key(['running', 'queued', 'lock', 'other', 'io', 'sleep', 'poll', 'unknown']),
		el('div', { class: 'controls' }, el('label', {}, 'The one on the right: ',
			el('input', { type: 'range', min: 0, max: requests.picks.length - 1, value: chosen,
				'data-key': 'request', 'aria-valuetext': ns(requests.picks[chosen].taken_ns),
				onchange: (event) => select({
					request: String(requests.picks[event.target.value].rank) }) })),
		`${ns(requests.picks[chosen].taken_ns)}; ${shareOf(requests.picks[chosen])} took no longer`),
		el('div', { class: 'pair' }, waterfall(requests.rank50 === undefined ? 'in the middle' : 'p50', median),
			waterfall(requests.picks[chosen].rank === requests.rank99 ? 'p99' : 'chosen', chosen)),
		el('p', { class: 'small faint' }, 'Below the thread of the request are the threads that ended its ' +
			'waits, with what they did meanwhile.'));

	// --- what the tail has more of than the body ---

	const said = report.tail_sentences, told = report.tail_parts.filter((row) => row.is_told);
	const untold = report.tail_parts.filter((row) => !row.is_told);
	const sum = (rows, of) => rows.reduce((all, row) => all + row[of], 0);
	const chance = untold.length ? [{ body_ns: sum(untold, 'body_ns'), tail_ns: sum(untold, 'tail_ns'),
		more_ns: report.tail_untold_ns,
		words: `${count(untold.length)} part${untold.length > 1 ? 's' : ''} that chance may explain` }] : [];
	const time = (head, of) => ({ head, right: true, sort: (row) => row[of],
		cell: (row) => ns(row[of]) });
	root.append(el('h3', {}, 'What have the slowest requests more of?'));
	if (report.tail === 'known')
		root.append(table(said.join(' '), [
			{ head: 'part', name: true, cell: (row) => row.words || partWords(row) },
			time('body', 'body_ns'), time('tail', 'tail_ns'), time('more', 'more_ns'),
			{ head: '95% interval', right: true, cell: (row) => ('words' in row ? ''
				: `${ns(row.least_ns)} to ${ns(row.most_ns)}`) },
		], [...told, ...chance]));
	else
		root.append(...said.map((sentence) => el('p', { class: 'withheld' }, sentence)));

	// --- the slowest, what would shorten them, and all sorts of requests ---

	const slowest = [...requests.picks].reverse().slice(0, 20)
		.filter((pick) => pick.rank >= requests.count - 20);
	const mostly = (pick) => requests.parts.filter(([of]) => of === rankOf(pick.rank))
		.sort((a, b) => b[2] - a[2]).slice(0, 2)
		.map(([, part, length]) => `${keyWords[part]} ${percent(ratio(length, pick.taken_ns))}`).join(', ');
	root.append(el('h3', {}, 'The slowest'), table('The thread that made each, and what its time was', [
		{ head: 'took', cell: (pick) => el('button', { type: 'button', class: 'plain',
			'data-key': `slowest ${pick.rank}`, 'aria-pressed': String(pick === requests.picks[chosen]),
			onclick: () => select({ request: String(pick.rank) }) }, ns(pick.taken_ns)) },
		{ head: 'from', right: true, sort: (pick) => pick.start_ns, cell: (pick) => ns(pick.start_ns) },
		{ head: 'thread', name: true, cell: (pick) => `${pick.thread} ${pick.tid}` },
		...(slowest.some((pick) => pick.trace) ? [{ head: 'trace', name: true,
			cell: (pick) => (pick.url
				? el('a', { href: pick.url, target: '_blank', rel: 'noopener noreferrer' }, pick.trace)
				: pick.trace) }] : []),
		{ head: 'mostly', name: true, cell: mostly },
	], slowest, { isChosen: (pick) => pick === requests.picks[chosen] }));

	const figures = report.request_figures, known = figures.filter((row) => row.is_given);
	for (const row of figures.filter((one) => !one.is_given && one.figure !== 'mean'))
		root.append(el('p', { class: 'withheld' }, report.answers === 'withheld' ? report.sentences[0]
			: `Savings of ${row.figure} are withheld: ${row.cause}.`));
	if (known.length && report.request_savings.length) {
		const all = report.request_savings.map((row) => row.factor);
		const factor = all.includes(0.5) ? 0.5 : Math.min(...all);
		const rows = report.request_savings.filter((row) => row.factor === factor);
		const isTold = (row, of) => row[`${of}_least_ns`] > 0 || row[`${of}_most_ns`] < 0;
		const saving = ({ figure, replayed_ns: now }) => ({ head: `${figure} saved`, right: true,
			sort: (row) => row[`${figure}_saved_ns`],
			cell: (row) => {
				const saved = row[`${figure}_saved_ns`];
				return saved === null ? '-' : !isTold(row, figure) ? '~0'
					: `${ns(saved)}  ${percent(ratio(saved, now))}`;
			} });
		const last = known[known.length - 1].figure;
		root.append(el('h3', {}, 'What would shorten them?'), table(
			`Time saved in ${what(requests)} if a class takes ${factor} times as long; ~0: as far as ` +
				'chance goes', [
				{ head: 'class', name: true, cell: (row) => row.class },
				{ head: 'kind', cell: (row) => row.kind }, ...known.map(saving),
				{ head: `${last} range`, right: true, cell: (row) => (
					row[`${last}_least_ns`] === null ? '-'
						: `${ns(row[`${last}_least_ns`])} to ${ns(row[`${last}_most_ns`])}`) },
			], rows.filter((row) => known.some((one) => isTold(row, one.figure))).sort((a, b) =>
				b[`${last}_saved_ns`] - a[`${last}_saved_ns`]).slice(0, 5)));
	}
	if (report.requests.length > 1)
		root.append(table('All sorts of requests', [
			{ head: 'first op', name: true, cell: (row) => row.class },
			{ head: 'kind', cell: (row) => row.kind },
			{ head: 'found as', cell: (row) => row.source },
			{ head: 'requests', right: true, cell: (row) => count(row.count) },
			{ head: 'p50', right: true, cell: (row) => ns(row.p50_ns) },
			{ head: 'p99', right: true, cell: (row) => ns(row.p99_ns) },
			{ head: 'max', right: true, cell: (row) => ns(row.max_ns) },
			{ head: 'per second', right: true, cell: (row) => count(row.per_second) },
		], report.requests, { isChosen: (row) => row.is_judged }));
}, (data) => (data.requests.count ? inWords(data) : ''));
})();
