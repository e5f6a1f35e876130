// SPDX-License-Identifier: Apache-2.0
// Who waited for what, and who kept it: pools and locks as boxes, time waited as arrows.
wcprof.section('graph', ['lock', 'thread'], (root, data, selection) => {
	const { el, svg, ns, count, table, tipped, select } = wcprof;
	const { nodes, edges, left_out_ns: leftOut } = data.graph;
	const WIDE = 176, HIGH = 40, BETWEEN_X = 100, BETWEEN_Y = 34, EDGE = 24, THICKEST = 8;
	if (edges.length === 0) {
		root.append(el('p', { class: 'faint' }, 'No thread waited for another one, as far as is known.'));
		return;
	}
	const most = Math.max(...edges.map((edge) => edge.ns));
	const x = (node) => EDGE + node.column * (WIDE + BETWEEN_X);
	const y = (node) => EDGE + node.row * (HIGH + BETWEEN_Y);
	const wide = 2 * EDGE + WIDE + Math.max(...nodes.map(x)) - EDGE;
	const high = 3 * EDGE + HIGH + Math.max(...nodes.map(y)) - EDGE;

	const words = (edge) => {
		const from = nodes[edge.from], to = nodes[edge.to];
		return from.is_lock
			? `${to.name} had ${from.name} while others waited ${ns(edge.ns)} for it`
			: `${from.name} waited ${ns(edge.ns)} for ${to.name}, in ${count(edge.count)} pieces`;
	};
	// What an arrow is about, for the other sections.
	const aboutOf = (edge) => {
		const from = nodes[edge.from], to = nodes[edge.to];
		return from.is_lock ? { lock: from.name, thread: null }
			: { lock: to.is_lock ? to.name : null, thread: from.name };
	};
	const isChosen = (edge) => {
		const about = aboutOf(edge);
		return (selection.lock || selection.thread) &&
			about.lock === selection.lock && about.thread === selection.thread;
	};
	const choose = (edge) => select(isChosen(edge) ? { lock: null, thread: null } : aboutOf(edge));

	// To the right a curve, around columns between; back, or within a column, around below.
	function curve(edge, at) {
		const from = nodes[edge.from], to = nodes[edge.to];
		const [x1, y1, x2, y2] = [x(from) + WIDE, y(from) + HIGH / 2, x(to) - 9, y(to) + HIGH / 2];
		if (to.column > from.column) {
			const bend = (x2 - x1) / 2, bow = to.column > from.column + 1 ? HIGH + BETWEEN_Y / 2 : 0;
			const [a, b] = [(1 - at) ** 2, at ** 2];
			return { d: `M${x1},${y1}C${x1 + bend},${y1 + bow} ${x2 - bend},${y2 + bow} ${x2},${y2}`,
				label: [x1 + (x2 - x1) * (at * at * (3 - 2 * at) * 0.5 + at * 0.5),
					(1 - at) * a * y1 + 3 * at * a * (y1 + bow) + 3 * (1 - at) * b * (y2 + bow) +
					at * b * y2 - 6] };
		}
		const down = Math.max(y(from), y(to)) + HIGH + 16;
		const [left, right] = [x(to) + WIDE / 2, x(from) + WIDE / 2];
		return from === to
			? { d: `M${x1 - 30},${y(from)}c0,-26 26,-26 28,-4`, label: [x1 + 8, y(from) - 10] }
			: { d: `M${right},${y(from) + HIGH}C${right},${down + 8} ${left},${down + 8} ${left},` +
				`${y(to) + HIGH + 9}`, label: [right + (left - right) / 3, down + 8] };
	}
	function arrow(edge, index) {
		const beside = edges.slice(0, index).filter((one) => one.from === edge.from).length;
		const line = curve(edge, 0.3 + 0.2 * (beside % 3));
		const isLock = nodes[edge.from].is_lock || nodes[edge.to].is_lock;
		const name = isLock ? 'lock' : 'other';
		const width = 1.5 + (THICKEST * edge.ns) / most;
		const about = words(edge);
		return tipped(svg('g', { class: 'wait-edge', tabindex: 0, role: 'button',
			'data-key': `edge-${edge.from}-${edge.to}`, 'aria-pressed': String(Boolean(isChosen(edge))),
			'aria-label': about, onclick: () => choose(edge),
			onkeydown: (event) => {
				if (event.key === 'Enter' || event.key === ' ') {
					event.preventDefault();
					choose(edge);
				}
			} },
		svg('path', { d: line.d, class: 'hit' }),
		svg('path', { d: line.d, fill: 'none', stroke: `var(--${name})`, 'stroke-width': width,
			'marker-end': `url(#arrow-${name})`,
			'stroke-opacity': selection.lock || selection.thread ? (isChosen(edge) ? 1 : 0.25) : 0.85,
			'stroke-dasharray': nodes[edge.from].is_lock ? '7 3' : null }),
		svg('text', { x: line.label[0], y: line.label[1], 'text-anchor': 'middle', class: 'limit' },
			ns(edge.ns))), `${about}\nA click shows these in the timeline.`);
	}
	function box(node) {
		const shown = node.name.length > 26 ? `${node.name.slice(0, 25)}\u2026` : node.name;
		return tipped(svg('g', {},
			svg('rect', { x: x(node), y: y(node), width: WIDE, height: HIGH, rx: node.is_lock ? 3 : 12,
				fill: 'var(--raised)', stroke: node.is_lock ? 'var(--lock)' : 'var(--faint)',
				'stroke-width': 1.5 }),
			svg('text', { x: x(node) + WIDE / 2, y: y(node) + 17, 'text-anchor': 'middle' }, shown),
			svg('text', { x: x(node) + WIDE / 2, y: y(node) + 32, 'text-anchor': 'middle',
				class: 'faint' }, node.is_lock ? 'lock' : 'threads')),
		`${node.is_lock ? 'lock' : 'threads of'} ${node.name}`);
	}
	// Around those that wait for each other in a circle.
	function outline(component) {
		const inside = nodes.filter((node) => node.component === component);
		const [left, top] = [Math.min(...inside.map(x)) - 12, Math.min(...inside.map(y)) - 12];
		return svg('rect', { x: left, y: top, rx: 10, class: 'circle',
			width: Math.max(...inside.map(x)) + WIDE + 12 - left,
			height: Math.max(...inside.map(y)) + HIGH + 26 - top });
	}
	const heads = ['lock', 'other'].map((name) => svg('marker', { id: `arrow-${name}`,
		viewBox: '0 0 10 10', refX: 6, refY: 5, markerWidth: 14, markerHeight: 14,
		markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse' },
	svg('path', { d: 'M0,0L10,5L0,10z', fill: `var(--${name})` })));
	const circles = [...new Set(nodes.filter((node) => node.is_circle).map((node) => node.component))];
	const all = edges.reduce((sum, edge) => sum + edge.ns, 0);

	root.append(el('p', { class: 'faint small' }, 'Full arrows: waited for, as wide as the time. Dashed: ' +
		'who had the lock meanwhile. Dotted outline: these wait for each other in a circle. A click on ' +
		'an arrow shows its waits alone in the timeline; another click shows all again.'),
	el('div', { class: 'scroll' }, svg('svg', { width: wide, height: high + 20, role: 'group',
		'aria-label': 'Threads and locks, and the time that was waited between them' },
	svg('defs', {}, heads), circles.map(outline), edges.map(arrow), nodes.map(box))));
	if (leftOut > 0)
		root.append(el('p', { class: 'faint' }, `Left out: ${ns(leftOut)} in smaller ones ` +
			`(shown: ${ns(all)}).`));
	root.append(el('details', {}, el('summary', {}, 'As a table'), table('Time waited', [
		{ head: 'from', name: true, cell: (edge) => nodes[edge.from].name,
			sort: (edge) => nodes[edge.from].name },
		{ head: 'to', name: true, cell: (edge) => nodes[edge.to].name,
			sort: (edge) => nodes[edge.to].name },
		{ head: 'time', right: true, cell: (edge) => ns(edge.ns), sort: (edge) => edge.ns },
		{ head: 'pieces', right: true, cell: (edge) => count(edge.count), sort: (edge) => edge.count },
	], edges)));
});
