// SPDX-License-Identifier: Apache-2.0
// Draws the timeline on a canvas: lanes with holds below, locks, arrows, the path to the run's end.
//
// A view says which time is where: {from, to, left, right, x(ns), nsPerPixel, isDim(lane, detail)}.
// Text goes through fillText alone.
wcprof.timelineDraw = (model) => {
	const { data } = model;
	const SIZES = { lane: 18, hold: 3, gap: 5, thumb: 4, lock: 34, holder: 13 };
	// Colours of locks, and of holders, in turn: Okabe and Ito's, but the lightest.
	const CYCLE = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
	const cycle = (index) => CYCLE[index % CYCLE.length];
	const OTHER_LOCK = '#8a8f98';
	let plain = {}, hatched = {}, ink = '', ground = '', faint = '', line = '';

	// Colours may change with the theme.
	function prepare(context) {
		for (const name of data.states) {
			plain[name] = wcprof.color(name);
			hatched[name] = wcprof.canvasPaint(context, name);
		}
		[ink, ground, faint, line] = ['ink', 'ground', 'faint', 'line'].map(wcprof.color);
	}

	// Calls visit(slices, i, x, width) for what the view shows of a row.
	function eachSlice(view, row, visit) {
		const slices = model.slicesOf(row, model.levelFor(view.nsPerPixel));
		for (let i = model.lowerBound(slices.end, view.from); i < slices.size; i++) {
			if (slices.start[i] >= view.to)
				break;
			const x = view.x(Math.max(slices.start[i], view.from));
			visit(slices, i, x, view.x(Math.min(slices.end[i], view.to)) - x);
		}
	}

	// Text in a box, or its first letter, or nothing: as much as there is room for.
	function label(context, texts, x, y, room, color) {
		const fits = texts.find((text) => context.measureText(text).width <= room);
		if (!fits)
			return;
		context.fillStyle = color;
		context.fillText(fits, x, y);
	}
	const inkOn = (state) => (state === 'unknown' || state === 'sleep' ? '#ffffff' : '#000000');

	function lane(context, view, at, y, height) {
		const isLarge = height >= SIZES.lane;
		eachSlice(view, model.stateRow(at), (slices, i, x, width) => {
			const detail = slices.detail[i], state = model.stateOf(detail);
			const wide = Math.max(width, 0.6);
			const low = slices.many[i] > 1 ? (height * slices.running[i]) / 100 : 0;
			context.globalAlpha = view.isDim(at, detail) ? 0.15 : 1;
			context.fillStyle = isLarge && wide > 5 ? hatched[state] : plain[state];
			context.fillRect(x, y, wide, height - low);
			if (low > 0) {
				context.fillStyle = plain.running;
				context.fillRect(x, y + height - low, wide, low);
			}
			if (isLarge && width > 14 && slices.many[i] === 1) {
				const { letter } = wcprof.states[state];
				const name = model.nameOf(detail);
				context.fillStyle = plain[state];
				label(context, name ? [`${letter} ${name}`, letter] : [letter], x + 3,
					y + height / 2 + 1, width - 6, inkOn(state));
			}
		});
		context.globalAlpha = 1;
		if (!isLarge)
			return;
		eachSlice(view, model.holdRow(at), (slices, i, x, width) => {
			const lock = slices.detail[i];
			context.fillStyle = lock < data.locks.length ? cycle(lock) : OTHER_LOCK;
			context.fillRect(x, y + height, Math.max(width, 0.6), SIZES.hold);
		});
	}

	// Below who had the lock, above how many waited for it at once.
	function lock(context, view, at, y) {
		const room = SIZES.lock - SIZES.holder, most = Math.max(data.locks[at].waiters, 1);
		eachSlice(view, model.lockRow(at), (slices, i, x, width) => {
			const { holder, waiters } = model.lockDetail(slices.detail[i]);
			const wide = Math.max(width, 0.6), high = (room * waiters) / most;
			context.fillStyle = plain.lock;
			context.globalAlpha = 0.6;
			context.fillRect(x, y + room - high, wide, high);
			context.globalAlpha = slices.many[i] > 1 ? 0.7 : 1;
			if (holder >= 0) {
				context.fillStyle = cycle(holder);
				context.fillRect(x, y + room, wide, SIZES.holder);
			}
			context.globalAlpha = 1;
			if (holder >= 0 && slices.many[i] === 1 && width > 24)
				label(context, [model.laneName(holder), String(data.lanes[holder].tid)], x + 3,
					y + room + SIZES.holder / 2 + 1, width - 6, '#ffffff');
		});
		context.fillStyle = line;
		context.fillRect(view.left, y + room - 0.5, view.right - view.left, 0.5);
	}

	function twice(context, stroke) {
		for (const [color, width] of [[ground, 6], [ink, 2.5]]) {
			context.strokeStyle = context.fillStyle = color;
			context.lineWidth = width;
			stroke();
		}
	}

	// Along each lane while it is the one that the end waited for, then over to the next.
	// yOf(lane) is null for a lane that is not drawn.
	function path(context, view, yOf) {
		const from = model.lowerBound(data.path_end, view.from);
		context.lineJoin = 'round';
		twice(context, () => {
			let x = view.left, y = null;
			context.beginPath();
			for (let i = from; i < data.path_lane.length && data.path_start[i] < view.to; i++) {
				const to = yOf(data.path_lane[i]);
				const begin = view.x(Math.max(data.path_start[i], view.from));
				if (to === null) {
					y = null;
					continue;
				}
				if (y === null)
					context.moveTo(begin, to);
				else
					context.lineTo(begin, to);
				x = view.x(Math.min(data.path_end[i], view.to));
				y = to;
				context.lineTo(x, y);
			}
			context.stroke();
		});
	}

	function arrow(context, x, fromY, toY) {
		const bend = Math.sign(toY - fromY) * 7;
		context.lineCap = 'round';
		twice(context, () => {
			context.beginPath();
			context.arc(x, fromY, 3.5, 0, 2 * Math.PI);
			context.fill();
			context.beginPath();
			context.moveTo(x, fromY);
			context.lineTo(x, toY - bend);
			context.moveTo(x - 5, toY - bend);
			context.lineTo(x, toY);
			context.lineTo(x + 5, toY - bend);
			context.stroke();
		});
	}

	// Times since the begin of the run, at round distances; returns where the lines are.
	function axis(context, view, y, height) {
		const wanted = (view.to - view.from) / Math.max(2, (view.right - view.left) / 120);
		const power = 10 ** Math.floor(Math.log10(Math.max(wanted, 1)));
		const step = power * (wanted / power > 5 ? 10 : wanted / power > 2 ? 5 : wanted > power ? 2 : 1);
		for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
			context.fillStyle = line;
			context.fillRect(view.x(at), y + 10, 1, height);
			context.fillStyle = faint;
			context.fillText(stamp(at, step), view.x(at) + 3, y + 7);
		}
	}
	// Digits as far as neighbours differ.
	function stamp(at, step) {
		const [size, unit] = at + step >= 1e9 ? [1e9, 's'] : at + step >= 1e6 ? [1e6, 'ms']
			: at + step >= 1e3 ? [1e3, 'us'] : [1, 'ns'];
		const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / size) - 1e-9)));
		return `${(at / size).toFixed(digits)} ${unit}`;
	}

	return { SIZES, prepare, stamp, lane, lock, path, arrow, axis, label, cycle,
		colors: () => ({ ink, ground, faint, line }) };
};
