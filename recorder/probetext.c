/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of probes, as text. See probetext.h.
 *
 * The drainer may be the thread that ends the process, while the control thread puts in another
 * probe. That one is not looked at. Of the others nothing changes but their counts.
 */
#include "probetext.h"

#include "dumpkeys.h"
#include "probe_patch.h"

#include "in_target.h"

/* Each byte of the two texts may become six. */
_Static_assert(6 * (PROBE_ORDER_NAME_BYTES + CONDITION_BYTES) + 256 < DUMP_PIECE_BYTES_MAX,
	       "a probe is one piece");

static void put_probe(struct text *text, uint32_t index)
{
	const struct probe_order *order = &probe_table[index].order;

	text_put(text, index > 0 ? ",{" : "{");
	text_put_key_string(text, keys.probe.name, order->name);
	text_put_key_u64(text, keys.probe.calls, probe_hits(index, PROBE_CALLS));
	text_put_key_u64(text, keys.probe.brief, probe_hits(index, PROBE_BRIEF));
	text_put_key_u64(text, keys.probe.unmet, probe_hits(index, PROBE_UNMET));
	if (order->when[0])
		text_put_key_string(text, keys.probe.when, order->when);
	text_put_literal(text, "}");
}

bool probetext_put(struct dump *dump)
{
	uint32_t count = dump->arena == recorder_arena ? probe_places() : 0;

	if (count == 0)
		return true;
	if (dump->index == 0) {
		text_put_key(&dump->text, keys.header.probes);
		text_put_literal(&dump->text, "[");
	}
	if (dump->index >= count) {
		text_put_literal(&dump->text, "]");
		return true;
	}
	put_probe(&dump->text, dump->index);
	return false;
}
