/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a script with a step or table that is not as promised passes for a whole one. */
#include "script/script_valid.h"

#include "rebuilt.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

/* --- by hand: a step of each type --- */

enum { FIRST_READ = 1, STEPS = STEP_END + 3 };

/* A thread that does one of each; the second one only ends. */
struct by_hand {
	struct recording rec;
	struct script script;
	struct step steps[STEPS];
	struct actor actors[2];
	struct scope scopes[1];
	struct condition conditions[1];
	struct signal_role signals[1];
	struct transfer transfers[2];
	struct flow flows[1];
	struct visit visits[1];
	struct message_room rooms[1];
	struct request requests[1];
	struct look_row looks[1];
	struct job_list jobs[3];
	uint32_t job_of[2];
	uint32_t parties[1];
	struct script_circle circles[1];
	struct script_round rounds[1];
	uint32_t waking_link[1];
	uint32_t section_of_wait[1];
};

static void operands_by_hand(struct by_hand *hand)
{
	for (uint32_t type = 0; type <= STEP_END; type++)
		hand->steps[type] = (struct step){ .type = type };
	hand->steps[STEP_TRY].jump = hand->steps[STEP_AGAIN].jump = STEP_AGAIN - STEP_TRY;
	hand->steps[STEP_RACE].jump = STEP_AFTER - STEP_RACE;
	hand->steps[STEP_CUT].jump = STEP_AFTER - STEP_CUT;
	hand->steps[STEP_LOOK].jump = STEP_AGAIN - STEP_LOOK;
	hand->steps[STEP_TURN].jump = STEP_ENDED - STEP_TURN;
	hand->steps[STEP_PIECES].jump = STEP_NEXT - STEP_PIECES;
	hand->steps[STEP_RECEIVE].arg = hand->steps[STEP_AWAIT].arg = FIRST_READ;
	hand->steps[STEP_SPAWN].arg = hand->steps[STEP_JOIN].arg = 1;
	hand->steps[STEP_END + 1].type = STEP_MARK;
	hand->steps[STEP_END + 2].type = STEP_END;
}

static void by_hand_make(struct by_hand *hand)
{
	*hand = (struct by_hand){
		.rec = { .thread_count = 2, .link_count = 1, .wait_count = 1 },
		.actors = { { .last_body = NO_INDEX, .take_step = NO_INDEX, .weight = 1 },
			    { .last_body = NO_INDEX, .take_step = NO_INDEX, .weight = 1 } },
		.scopes = { { .leaf = NO_INDEX, .parent = NO_INDEX } },
		.signals = { { .condition = NO_INDEX } },
		.transfers = { { .bytes = 1, .is_write = true }, { .bytes = 1 } },
		.jobs = { { .lock = 0 }, { .lock = NO_INDEX }, { .lock = NO_INDEX } },
		.job_of = { NO_INDEX, NO_INDEX },
		.parties = { 1 },
	};
	operands_by_hand(hand);
	hand->conditions[0].model = PUT_BY_SECTION;
	hand->conditions[0].quantum_ns = 1;
	hand->actors[0].counts = hand->actors[1].is_spawned = true;
	hand->actors[1].first_step = STEP_END + 1;
	hand->script = (struct script){
		.recording = &hand->rec,
		.monitors = { .conditions = hand->conditions,
			      .condition_count = 1,
			      .signals = hand->signals,
			      .waking_link = hand->waking_link,
			      .section_of_wait = hand->section_of_wait },
		.steps = hand->steps,
		.step_count = STEPS,
		.scopes = { .scopes = hand->scopes, .count = 1 },
		.class_count = 1,
		.actors = hand->actors,
		.actor_count = 2,
		.lock_count = 1,
		.semaphore_count = 1,
		.parties = hand->parties,
		.barrier_count = 1,
		.circles = hand->circles,
		.circle_count = 1,
		.rounds = hand->rounds,
		.round_count = 1,
		.piece_count = 1,
		.jobs = hand->jobs,
		.source_count = 3,
		.flows = { .transfers = hand->transfers,
			   .transfer_count = 2,
			   .flows = hand->flows,
			   .flow_count = 1 },
		.looks = { .rows = hand->looks, .count = 1 },
		.clock_reads = { .loop_count = 1 },
		.loops = { .visits = hand->visits, .visit_count = 1 },
		.messages = { .job_of = hand->job_of, .rooms = hand->rooms },
		.requests = { .requests = hand->requests, .count = 1, .judged_class = NO_INDEX },
	};
}

START_TEST(a_script_of_all_types_is_valid)
{
	struct by_hand hand;

	by_hand_make(&hand);
	ck_assert(script_is_valid(&hand.script));
}
END_TEST

/* By type. */
START_TEST(an_operand_is_in_its_table)
{
	struct by_hand hand;

	by_hand_make(&hand);
	hand.steps[_i].arg += 2;
	ck_assert_msg(!script_is_valid(&hand.script), "%s",
		      script_contract((enum step_type)_i)->word);
}
END_TEST

START_TEST(a_number_is_one_that_its_type_has)
{
	enum step_number number = script_contract((enum step_type)_i)->number;
	struct by_hand hand;

	by_hand_make(&hand);
	hand.steps[_i].ns = number == NUMBER_NONE ? 1 : UINT64_MAX;
	ck_assert_msg(!script_is_valid(&hand.script), "%s",
		      script_contract((enum step_type)_i)->word);
}
END_TEST

START_TEST(a_turn_ends_where_it_says)
{
	struct by_hand hand;

	by_hand_make(&hand);
	hand.steps[STEP_TURN].jump--;
	ck_assert(!script_is_valid(&hand.script));
	hand.steps[STEP_TURN].jump = 0;
	ck_assert(script_is_valid(&hand.script));
	hand.circles[0].last_end = STEPS + 1;
	ck_assert(!script_is_valid(&hand.script));
}
END_TEST

START_TEST(pieces_end_where_they_say)
{
	struct by_hand hand;

	by_hand_make(&hand);
	hand.steps[STEP_PIECES].jump--;
	ck_assert(!script_is_valid(&hand.script));
	hand.steps[STEP_PIECES].jump = 0;
	ck_assert(script_is_valid(&hand.script));
}
END_TEST

START_TEST(a_type_is_one_of_the_types)
{
	struct by_hand hand;

	by_hand_make(&hand);
	hand.steps[STEP_FIXED].type = STEP_END + 1;
	ck_assert(!script_is_valid(&hand.script));
}
END_TEST

/* --- one that was built --- */

/* Eight jobs that come through a pipe, a lock that two come for, one of them by trying. */
static void built_sketch(struct sketch *sketch)
{
	rebuilt_pool(sketch);
	class_table_free(&sketch->classes);
	sketch_hold(sketch, 0, "M", 1, 1, 20);
	for (int i = 0; i < 4; i++) {
		uint32_t wait =
			sketch_wait(sketch, 2, REASON_MUTEX, "M", 2 + 2 * i, 2 + 2 * i, NO_INDEX);

		sketch->rec.waits[wait].timed_out = true;
		sketch->rec.waits[wait].name = sketch_string(sketch, "pthread_mutex_trylock");
	}
	sketch_hold(sketch, 2, "M", 2, 9, 9.5);
	sketch_end(sketch);
}

static struct step *first_of(struct script *script, enum step_type type)
{
	for (size_t i = 0; i < script->step_count; i++)
		if (script->steps[i].type == type)
			return &script->steps[i];
	ck_abort_msg("no %s in the script", script_contract(type)->word);
	return NULL;
}

static struct job_list *first_jobs(struct script *script)
{
	struct job_list *jobs = script->jobs;

	while (!jobs->count)
		jobs++;
	return jobs;
}

static void jumps_too_far(struct script *script)
{
	first_of(script, STEP_TRY)->jump++;
}

static void goes_back_too_far(struct script *script)
{
	first_of(script, STEP_AGAIN)->jump++;
}

static void goes_back_to_no_try(struct script *script)
{
	*first_of(script, STEP_TRY) = (struct step){ .type = STEP_FIXED };
}

static void jumps_to_no_end_of_rounds(struct script *script)
{
	*first_of(script, STEP_AGAIN) = (struct step){ .type = STEP_FIXED };
}

static void does_more_in_a_round(struct script *script)
{
	*(first_of(script, STEP_TRY) + 1) = (struct step){ .type = STEP_RELEASE };
}

static void has_no_mark(struct script *script)
{
	*first_of(script, STEP_MARK) = (struct step){ .type = STEP_FIXED };
}

static void has_no_end(struct script *script)
{
	*first_of(script, STEP_END) = (struct step){ .type = STEP_FIXED };
}

static void ends_before_its_last_step(struct script *script)
{
	script->step_count--;
}

static void begins_in_another(struct script *script)
{
	script->actors[1].first_step++;
}

static void has_the_steps_of_another(struct script *script)
{
	script->actors[2].first_step = script->actors[1].first_step;
}

static void is_one_too_many(struct script *script)
{
	script->actor_count--;
}

static void weighs_nothing(struct script *script)
{
	script->actors[1].weight = 0;
}

static void leaves_in_the_middle_of_another(struct script *script)
{
	script->actors[0].last_body = first_jobs(script)->steps[1];
}

static void takes_where_there_is_nothing(struct script *script)
{
	script->actors[0].take_step = script->actors[0].first_step;
}

static void is_started_twice(struct script *script)
{
	*first_of(script, STEP_DELAY) = *first_of(script, STEP_SPAWN);
}

static void is_started_by_nobody(struct script *script)
{
	*first_of(script, STEP_SPAWN) = (struct step){ .type = STEP_FIXED };
}

static void joins_itself(struct script *script)
{
	first_of(script, STEP_JOIN)->arg = 0;
}

static void has_another_makespan(struct script *script)
{
	script->actual_ns++;
}

static void nobody_counts(struct script *script)
{
	for (size_t i = 0; i < script->actor_count; i++)
		script->actors[i].counts = false;
}

static void has_a_job_twice(struct script *script)
{
	first_jobs(script)->steps[1] = first_jobs(script)->steps[0];
}

static void has_a_job_of_no_take(struct script *script)
{
	first_jobs(script)->steps[1]++;
}

static void has_a_job_behind_the_end(struct script *script)
{
	first_jobs(script)->steps[1] = (uint32_t)script->step_count;
}

static void has_a_source_too_many(struct script *script)
{
	script->source_count--;
}

static void has_a_job_in_no_list(struct script *script)
{
	for (size_t i = 0; i < script->flows.transfer_count; i++)
		if (script->flows.transfers[i].is_write)
			script->messages.job_of[i] = (uint32_t)first_jobs(script)->count;
}

static void has_a_room_too_large(struct script *script)
{
	script->messages.rooms[0].count++;
}

static void has_messages_of_two_sizes(struct script *script)
{
	script->flows.transfers[1].bytes++;
}

static void has_a_transfer_of_no_flow(struct script *script)
{
	script->flows.transfers[0].flow = (uint32_t)script->flows.flow_count;
}

static void has_a_scope_of_no_class(struct script *script)
{
	script->scopes.scopes[0].leaf = script->class_count;
}

static void has_a_scope_in_itself(struct script *script)
{
	script->scopes.scopes[0].parent = 0;
}

static void has_a_lock_of_no_class(struct script *script)
{
	script->scopes.classes[0] = script->class_count;
}

static void judges_more_than_there_is(struct script *script)
{
	script->requests.judged_count++;
}

static const struct {
	int row;
	void (*damage)(struct script *);
} damages[] = {
	{ 0, jumps_too_far },
	{ 1, goes_back_too_far },
	{ 2, does_more_in_a_round },
	{ 3, has_no_mark },
	{ 4, has_no_end },
	{ 5, ends_before_its_last_step },
	{ 6, begins_in_another },
	{ 7, has_the_steps_of_another },
	{ 8, is_one_too_many },
	{ 9, weighs_nothing },
	{ 10, leaves_in_the_middle_of_another },
	{ 11, takes_where_there_is_nothing },
	{ 12, is_started_twice },
	{ 13, is_started_by_nobody },
	{ 14, joins_itself },
	{ 15, has_another_makespan },
	{ 16, nobody_counts },
	{ 17, has_a_job_twice },
	{ 18, has_a_job_of_no_take },
	{ 19, has_a_job_behind_the_end },
	{ 20, has_a_source_too_many },
	{ 21, has_a_job_in_no_list },
	{ 22, has_a_room_too_large },
	{ 23, has_messages_of_two_sizes },
	{ 24, has_a_transfer_of_no_flow },
	{ 25, has_a_scope_of_no_class },
	{ 26, has_a_scope_in_itself },
	{ 27, has_a_lock_of_no_class },
	{ 28, judges_more_than_there_is },
	{ 29, goes_back_to_no_try },
	{ 30, jumps_to_no_end_of_rounds },
};

enum { DAMAGES = sizeof(damages) / sizeof(damages[0]) };

START_TEST(a_damaged_script_is_found)
{
	struct sketch sketch;
	struct script script;

	built_sketch(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	size_t step_count = script.step_count, source_count = script.source_count;
	size_t actor_count = script.actor_count;
	ck_assert(script_is_valid(&script));
	damages[_i].damage(&script);
	ck_assert_msg(!script_is_valid(&script), "row %d", damages[_i].row);
	script.step_count = step_count;
	script.source_count = source_count;
	script.actor_count = actor_count;
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_script_of_all_types_is_valid);
	TEST(a_turn_ends_where_it_says);
	TEST(pieces_end_where_they_say);
	LOOP(an_operand_is_in_its_table, 0, STEP_END + 1);
	LOOP(a_number_is_one_that_its_type_has, 0, STEP_END + 1);
	TEST(a_type_is_one_of_the_types);
	LOOP(a_damaged_script_is_found, 0, DAMAGES);
}
