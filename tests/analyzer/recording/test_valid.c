/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the fuzzer would not notice a recording with an index out of range. */
#include "dump_text.h"
#include "suite.h"

#define WHOLE                                                                                      \
	"{'schema_version':1,'strings':['','a'],'modules':[{}],'stacks':[[],[0,1]],'threads':[{'"  \
	"th':1,'op':1}],"                                                                          \
	"'counters':{'lost':1},'process':{'pid':1}}\n"                                             \
	"{'e':'op','k':'io','id':1,'c':1,'th':1,'st':1,'s':1,'d':2}\n{'e':'wait','p':1,'s':1,'d':" \
	"2}\n{'e':'link','p':1,'s':1}\n"

/* Each field that is an index, broken alone. */
START_TEST(broken_fields)
{
	struct recording recording;

	read_good(&recording, WHOLE, 0);
	ck_assert(recording_is_valid(&recording));
#define BREAK(field, value)                                                   \
	do {                                                                  \
		__typeof__(recording.field) before = recording.field;         \
		recording.field = (value);                                    \
		ck_assert_msg(!recording_is_valid(&recording), "%s", #field); \
		recording.field = before;                                     \
	} while (0)
	BREAK(ops[0].end_ns, 0);
	BREAK(ops[0].parent, 0);
	BREAK(ops[0].parent, 1);
	BREAK(ops[0].name, (uint32_t)recording.string_count);
	BREAK(ops[0].kind, (uint16_t)recording.kinds.count);
	BREAK(ops[0].outcome, (uint8_t)recording.outcomes.count);
	BREAK(ops[0].thread, 1);
	BREAK(extras[0].stack, 2);
	BREAK(waits[0].waiter, 1);
	BREAK(waits[0].target, 1);
	BREAK(waits[0].end_ns, 0);
	BREAK(waits[0].reason, (uint16_t)recording.reasons.count);
	BREAK(links[0].from, 1);
	BREAK(links[0].kind, (uint16_t)recording.link_kinds.count);
	BREAK(threads[0].process, 1);
	BREAK(threads[0].op, 1);
	BREAK(processes[0].op, 1);
	BREAK(processes[0].exe, (uint32_t)recording.string_count);
	BREAK(counters[0].process, 1);
	BREAK(modules[0].path, (uint32_t)recording.string_count);
	BREAK(stacks[1].frame_count, 2);
	BREAK(frames[0].module, 1);
	BREAK(open_op_count, 2);
#undef BREAK
	ck_assert(recording_is_valid(&recording));
	recording_free(&recording);
}
END_TEST

SUITE()
{
	TEST(broken_fields);
}
