// SPDX-License-Identifier: Apache-2.0
// What the timeline draws: rows of slices at several levels of detail, decoded when first looked at.
//
// A row is a thread's states, a thread's holds, or a lock with its holder and waiters. Columns of
// the data have all rows one after another. Nothing here draws.
wcprof.timelineModel = (data) => {
	const lanes = data.lanes.length;
	const levels = data.cell_ns.map((cell, at) => ({
		cell,
		first: data[`first${at}`],
		gap: data[`gap${at}`],
		length: data[`length${at}`],
		detail: data[`detail${at}`],
		merged: data[`merged${at}`],
		mergedCount: data[`merged_count${at}`],
		mergedRunning: data[`merged_running${at}`],
		rows: new Map(),
	}));

	// The first index whose value is at least `value`.
	function lowerBound(values, value) {
		let low = 0, high = values.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (values[middle] < value)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	// Slices of one row, in order of time: slice i is of so `many`, `running` per cent of it ran.
	function decode(level, row) {
		const from = level.first[row], size = level.first[row + 1] - from;
		const slices = {
			size,
			start: new Float64Array(size),
			end: new Float64Array(size),
			detail: new Float64Array(size),
			many: new Uint32Array(size).fill(1),
			running: new Uint8Array(size),
		};
		let at = 0;
		for (let i = 0; i < size; i++) {
			at += level.gap[from + i];
			slices.start[i] = at;
			at += level.length[from + i];
			slices.end[i] = at;
			slices.detail[i] = level.detail[from + i];
		}
		for (let i = lowerBound(level.merged, from); level.merged[i] < from + size; i++) {
			slices.many[level.merged[i] - from] = level.mergedCount[i];
			slices.running[level.merged[i] - from] = level.mergedRunning[i];
		}
		return slices;
	}

	function slicesOf(row, level) {
		const rows = levels[level].rows;
		if (!rows.has(row))
			rows.set(row, decode(levels[level], row));
		return rows.get(row);
	}

	// The coarsest level that has all that can be seen at so many ns a pixel.
	function levelFor(nsPerPixel) {
		const fine = levels.findIndex((level) => level.cell <= nsPerPixel);
		return fine < 0 ? levels.length - 1 : fine;
	}

	// The index of the slice at a time; -1 = there is none.
	function find(slices, at) {
		let i = lowerBound(slices.end, at);
		if (i < slices.size && slices.end[i] === at && slices.start[i + 1] === at)
			i++;
		return i < slices.size && slices.start[i] <= at ? i : -1;
	}

	// Of a lock's slice: its holder's lane, -1 = it was free; and how many waited at once.
	const lockDetail = (detail) => ({
		holder: (detail % (lanes + 1)) - 1,
		waiters: Math.floor(detail / (lanes + 1)),
	});

	const laneName = (lane) => `${data.lanes[lane].name} ${data.lanes[lane].tid}`;
	const stateOf = (detail) => data.states[data.detail_state[detail]];
	const nameOf = (detail) => data.strings[data.detail_name[detail]];
	const classOf = (detail) => data.strings[data.detail_class[detail]];
	function causeOf(detail) {
		const cause = data.detail_cause[detail], reasons = data.reasons.length;
		return cause < 0 ? '' : cause < reasons ? data.reasons[cause] : data.kinds[cause - reasons];
	}
	// Functions, innermost first.
	function stackOf(detail) {
		const lines = [];
		for (let node = data.detail_stack[detail]; node >= 0; node = data.stack_prefix[node])
			lines.push(data.strings[data.stack_frame[node]]);
		return lines;
	}

	return {
		data, levels, levelFor, slicesOf, find, lowerBound, lockDetail, laneName,
		stateOf, nameOf, classOf, causeOf, stackOf,
		stateRow: (lane) => lane,
		holdRow: (lane) => lanes + lane,
		lockRow: (lock) => 2 * lanes + lock,
		waker: (detail) => data.detail_waker[detail],
		holder: (detail) => data.detail_holder[detail],
	};
};
