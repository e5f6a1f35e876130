/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a compiled program would answer differently than the rules of the replay carried
 * out one by one.
 *
 * The oracle is the rules as they are written, recursive and slow. The recordings are small and
 * have everything odd: circles of waits, children outside their parents, empty intervals, nested
 * clients.
 */
#include <math.h>

#include "random.h"
#include "replay/recorded/recorded.h"
#include "suite.h"

enum { COVERED_MAX = 1000, OPS_MAX = 256 };

enum oracle_type { ORACLE_BESIDE, ORACLE_SELF, ORACLE_SPAWN, ORACLE_WAIT };

struct oracle_action {
	uint64_t at_ns;
	enum oracle_type type;
	uint32_t order;
	uint32_t index;
	uint64_t length_ns;
};

struct oracle {
	const struct graph *graph;
	uint32_t scaled_class, halved_class; /* NO_INDEX = none */
	double factor;
	const struct class_table *classes;
	bool has_start[OPS_MAX], is_running[OPS_MAX], is_done[OPS_MAX];
	int64_t start_ns[OPS_MAX], finish_ns[OPS_MAX];
	uint64_t broken_cycles, fallback_anchors;
};

static int compare_actions(const void *a, const void *b)
{
	const struct oracle_action *left = a, *right = b;
	if (left->at_ns != right->at_ns)
		return left->at_ns < right->at_ns ? -1 : 1;
	if (left->type != right->type)
		return left->type < right->type ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

static int compare_intervals(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;
	return left[0] != right[0] ? (left[0] < right[0] ? -1 : 1) : 0;
}

/* Self segments: the op's interval without its children's and its waits'. */
static size_t oracle_segments(const struct graph *graph, uint32_t op_index,
			      struct oracle_action *actions)
{
	const struct rec_op *ops = graph->recording->ops, *op = &ops[op_index];
	static uint64_t covered[COVERED_MAX][2];
	size_t covered_count = 0, count = 0;
	for (uint32_t i = graph->first_child[op_index]; i < graph->first_child[op_index + 1]; i++) {
		const struct rec_op *child = &ops[graph->children[i]];
		covered[covered_count][0] = child->start_ns;
		covered[covered_count++][1] = graph_is_beside(graph, graph->children[i])
						      ? child->start_ns
						      : child->end_ns;
	}
	for (uint32_t i = graph->first_wait[op_index]; i < graph->first_wait[op_index + 1]; i++) {
		covered[covered_count][0] = graph->recording->waits[graph->waits[i]].start_ns;
		covered[covered_count++][1] = graph->recording->waits[graph->waits[i]].end_ns;
	}
	qsort(covered, covered_count, sizeof(covered[0]), compare_intervals);
	uint64_t at_ns = op->start_ns;
	for (size_t i = 0; i <= covered_count; i++) {
		uint64_t until_ns = i < covered_count ? covered[i][0] : op->end_ns;
		until_ns = until_ns < op->end_ns ? until_ns : op->end_ns;
		if (until_ns > at_ns)
			actions[count++] = (struct oracle_action){ at_ns, ORACLE_SELF, 0, 0,
								   until_ns - at_ns };
		if (i < covered_count && covered[i][1] > at_ns)
			at_ns = covered[i][1];
		if (until_ns > at_ns)
			at_ns = until_ns;
	}
	return count;
}

static size_t oracle_actions(const struct graph *graph, uint32_t op, struct oracle_action *actions)
{
	size_t count = oracle_segments(graph, op, actions);
	for (uint32_t i = graph->first_child[op]; i < graph->first_child[op + 1]; i++)
		actions[count++] = (struct oracle_action){
			graph->recording->ops[graph->children[i]].start_ns,
			graph_is_beside(graph, graph->children[i]) ? ORACLE_BESIDE : ORACLE_SPAWN,
			i, graph->children[i], 0
		};
	for (uint32_t i = graph->first_wait[op]; i < graph->first_wait[op + 1]; i++)
		actions[count++] =
			(struct oracle_action){ graph->recording->waits[graph->waits[i]].start_ns,
						ORACLE_WAIT, i, graph->waits[i], 0 };
	qsort(actions, count, sizeof(*actions), compare_actions);
	return count;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t oracle_finish(struct oracle *oracle, uint32_t op);

static void oracle_start(struct oracle *oracle, uint32_t op, int64_t start_ns)
{
	if (!oracle->has_start[op])
		oracle->start_ns[op] = start_ns;
	oracle->has_start[op] = true;
}

static int64_t oracle_wait(struct oracle *oracle, uint32_t op, uint32_t wait_index,
			   int64_t clock_ns)
{
	const struct rec_wait *wait = &oracle->graph->recording->waits[wait_index];
	uint32_t target = oracle->graph->wait_target[wait_index];
	if (target == NO_INDEX)
		return clock_ns + (int64_t)(wait->end_ns - wait->start_ns);
	if (target == op || wait->end_ns + 1000000 < oracle->graph->recording->ops[target].end_ns)
		return clock_ns;
	return later(clock_ns, oracle_finish(oracle, target));
}

/* Joins the children that had ended by until_ns; those beside the op only at its end. */
static int64_t oracle_join(struct oracle *oracle, uint32_t op, uint64_t until_ns, bool is_end,
			   bool *is_joined, int64_t clock_ns)
{
	const struct graph *graph = oracle->graph;
	for (int beside = 0; beside <= is_end; beside++)
		for (uint32_t i = graph->first_child[op]; i < graph->first_child[op + 1]; i++) {
			uint32_t child = graph->ended[i];
			if (graph->recording->ops[child].end_ns > until_ns || is_joined[child] ||
			    graph_is_beside(graph, child) != (beside == 1))
				continue;
			is_joined[child] = true;
			oracle_start(oracle, child, clock_ns);
			clock_ns = later(clock_ns, oracle_finish(oracle, child));
		}
	return clock_ns;
}

static int64_t oracle_run(struct oracle *oracle, uint32_t op)
{
	const struct graph *graph = oracle->graph;
	size_t parts = graph->first_child[op + 1] - graph->first_child[op] +
		       graph->first_wait[op + 1] - graph->first_wait[op];
	struct oracle_action *actions = calloc(2 * parts + 1, sizeof(*actions));
	size_t count = oracle_actions(graph, op, actions);
	bool is_joined[OPS_MAX] = { false };
	int64_t clock_ns = oracle->start_ns[op];
	double factor = oracle->classes->of_op[op] == oracle->scaled_class   ? oracle->factor
			: oracle->classes->of_op[op] == oracle->halved_class ? 0.5
									     : 1;
	for (size_t i = 0; i < count; i++) {
		clock_ns = oracle_join(oracle, op, actions[i].at_ns, false, is_joined, clock_ns);
		switch (actions[i].type) {
		case ORACLE_SELF:
			clock_ns += (int64_t)floor((double)actions[i].length_ns * factor);
			break;
		case ORACLE_BESIDE:
		case ORACLE_SPAWN:
			oracle_start(oracle, actions[i].index, clock_ns);
			break;
		case ORACLE_WAIT:
			clock_ns = oracle_wait(oracle, op, actions[i].index, clock_ns);
			break;
		}
	}
	free(actions);
	return oracle_join(oracle, op, oracle->graph->recording->ops[op].end_ns, true, is_joined,
			   clock_ns);
}

static int64_t oracle_finish(struct oracle *oracle, uint32_t op)
{
	const struct rec_op *ops = oracle->graph->recording->ops;
	uint32_t parent = oracle->graph->parent[op];
	if (oracle->is_done[op])
		return oracle->finish_ns[op];
	if (oracle->is_running[op]) {
		oracle->broken_cycles++;
		return oracle->start_ns[op] + (int64_t)(ops[op].end_ns - ops[op].start_ns);
	}
	if (!oracle->has_start[op] && parent != NO_INDEX && !oracle->is_running[parent])
		oracle_finish(oracle, parent);
	if (oracle->is_done[op])
		return oracle->finish_ns[op];
	if (!oracle->has_start[op]) {
		oracle->fallback_anchors++;
		bool has_base = parent != NO_INDEX && oracle->has_start[parent];
		oracle_start(oracle, op,
			     has_base ? oracle->start_ns[parent] +
						(int64_t)(ops[op].start_ns - ops[parent].start_ns)
				      : (int64_t)ops[op].start_ns);
	}
	oracle->is_running[op] = true;
	oracle->finish_ns[op] = oracle_run(oracle, op);
	oracle->is_running[op] = false;
	oracle->is_done[op] = true;
	return oracle->finish_ns[op];
}

static int64_t oracle_makespan(struct oracle *oracle)
{
	const struct graph *graph = oracle->graph;
	const struct rec_op *ops = graph->recording->ops;
	int64_t chain_ns = (int64_t)ops[graph->roots[0]].start_ns, simulated_ns = chain_ns;
	int64_t first_ns = chain_ns, last_ns = chain_ns;
	for (uint32_t i = 0; i < graph->root_count; i++) {
		uint32_t root = graph->roots[i];
		int64_t start_ns = (int64_t)ops[root].start_ns, end_ns = (int64_t)ops[root].end_ns;
		oracle_start(oracle, root,
			     start_ns >= chain_ns ? simulated_ns + (start_ns - chain_ns)
						  : start_ns + (simulated_ns - chain_ns));
		if (first_ns < 0 || oracle->start_ns[root] < first_ns)
			first_ns = oracle->start_ns[root];
		int64_t finish_ns = oracle_finish(oracle, root);
		if (end_ns >= chain_ns) {
			chain_ns = end_ns;
			simulated_ns = finish_ns;
		}
		last_ns = later(last_ns, finish_ns);
	}
	return last_ns - first_ns;
}

static struct oracle *oracle_new(const struct graph *graph, const struct class_table *classes,
				 uint32_t scaled_class, double factor)
{
	struct oracle *oracle = calloc(1, sizeof(*oracle));
	oracle->graph = graph;
	oracle->classes = classes;
	oracle->scaled_class = scaled_class;
	oracle->halved_class = NO_INDEX;
	oracle->factor = factor;
	return oracle;
}

static void compare_with_oracle(const struct recording *recording, uint64_t seed)
{
	static const double factors[] = { 0, 0.1, 0.5, 0.9, 1.5, 2 };
	enum { FACTORS = sizeof(factors) / sizeof(factors[0]) };
	struct graph graph;
	struct class_table classes;
	struct program program;
	struct replay_answer answers[FACTORS];
	graph_build(&graph, recording);
	if (!graph_is_valid(&graph))
		ck_abort_msg("seed %lu: the graph is not valid", (unsigned long)seed);
	class_table_build(&classes, recording, NULL);
	program_compile(&program, &graph, &classes);
	struct replayer replayer = recorded_replayer(&program);
	void *scratch = replayer.scratch_new(&replayer);
	for (uint32_t i = 0; i <= classes.count; i++) {
		uint32_t class = i < classes.count ? i : NO_INDEX;
		struct scaling scalings[FACTORS];
		struct trial trials[FACTORS];
		for (size_t f = 0; f < FACTORS; f++) {
			scalings[f] = (struct scaling){ class, factors[f] };
			trials[f] = (struct trial){ .scalings = &scalings[f],
						    .count = class != NO_INDEX };
		}
		replayer.run(&replayer, trials, FACTORS, scratch, answers);
		for (size_t f = 0; f < FACTORS; f++) {
			struct oracle *oracle = oracle_new(&graph, &classes, class, factors[f]);
			int64_t makespan_ns = oracle_makespan(oracle);
			/* Not ck_assert: there are a million of these, and each would be reported.
			 */
			if ((int64_t)answers[f].makespan_ns != makespan_ns ||
			    answers[f].broken_cycles != oracle->broken_cycles ||
			    answers[f].fallback_anchors != oracle->fallback_anchors)
				ck_abort_msg("seed %lu, class %u, factor %g: %.0f instead of %ld",
					     (unsigned long)seed, class, factors[f],
					     answers[f].makespan_ns, (long)makespan_ns);
			free(oracle);
		}
	}
	for (uint32_t i = 0; i + 1 < classes.count; i++) {
		const struct scaling scalings[] = { { i, 0.1 }, { i + 1, 0.5 } };
		const struct trial trial = { .scalings = scalings, .count = 2 };
		struct replay_answer answer;
		struct oracle *oracle = oracle_new(&graph, &classes, i, 0.1);
		oracle->halved_class = i + 1;
		replayer.run(&replayer, &trial, 1, scratch, &answer);
		if ((int64_t)answer.makespan_ns != oracle_makespan(oracle))
			ck_abort_msg("seed %lu: classes %u and %u at once", (unsigned long)seed, i,
				     i + 1);
		free(oracle);
	}
	if (program.baseline_ns != answers[2].makespan_ns)
		ck_abort_msg("seed %lu: the layout and the replay disagree on the baseline",
			     (unsigned long)seed);
	replayer.scratch_free(scratch);
	program_free(&program);
	class_table_free(&classes);
	graph_free(&graph);
}

START_TEST(program_answers_as_the_rules_do)
{
	for (uint64_t seed = (uint64_t)_i * 250; seed < (uint64_t)(_i + 1) * 250; seed++) {
		struct sketch sketch;
		random_sketch(&sketch, seed, false);
		compare_with_oracle(&sketch.rec, seed);
		sketch_free(&sketch);
	}
}
END_TEST

START_TEST(threads_run_beside_their_parents)
{
	for (uint64_t seed = 0; seed < 400; seed++) {
		struct sketch sketch;
		random_sketch(&sketch, seed, true);
		compare_with_oracle(&sketch.rec, seed);
		sketch_free(&sketch);
	}
}
END_TEST

/* More than go through the code together, of one class, of two, and of none. */
START_TEST(trials_at_once_answer_as_each_alone)
{
	enum { TRIALS = 400, SCALINGS = 2 };
	struct sketch sketch;
	struct scaling scalings[TRIALS][SCALINGS];
	struct trial trials[TRIALS];
	struct replay_answer answers[TRIALS];
	struct graph graph;
	struct class_table classes;
	struct program program;
	random_sketch(&sketch, (uint64_t)_i, false);
	graph_build(&graph, &sketch.rec);
	class_table_build(&classes, &sketch.rec, NULL);
	program_compile(&program, &graph, &classes);
	for (uint32_t i = 0; i < TRIALS; i++) {
		uint32_t class = i / 7 % classes.count;
		scalings[i][0] = (struct scaling){ class, 0.1 * (i % 12) };
		scalings[i][1] = (struct scaling){ (class + 1) % classes.count, 0.5 };
		trials[i] = (struct trial){ .scalings = scalings[i],
					    .count = i % 11 == 5   ? SCALINGS
						     : i % 29 == 3 ? 0
								   : 1 };
	}
	struct replayer replayer = recorded_replayer(&program);
	void *scratch = replayer.scratch_new(&replayer);
	replayer.run(&replayer, trials, TRIALS, scratch, answers);
	for (size_t i = 0; i < TRIALS; i++)
		ck_assert_double_eq(answers[i].makespan_ns,
				    replayer_try(&replayer, &trials[i]).makespan_ns);
	replayer.scratch_free(scratch);
	program_free(&program);
	class_table_free(&classes);
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

/* A stretch of hundreds of children is cut into blocks; skipping them must not change an answer. */
START_TEST(blocks_of_a_long_op_are_skipped_rightly)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	uint32_t root = sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 100, 100 + 200 * 10);
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t start_ns = 100 + 10 * i + i % 3,
			 end_ns = start_ns + (i % 40 == 20 ? 25 : 4);
		sketch_bare_op(&sketch, root, KIND_CALL, i == 7 || i == 131 ? 3 : 2, start_ns,
			       end_ns);
	}
	compare_with_oracle(&sketch.rec, 0);
	sketch_free(&sketch);
}
END_TEST

/* Ops may nest by the million: nothing may recurse on the C stack. */
START_TEST(deep_nesting_needs_no_stack)
{
	enum { DEPTH = 1000000 };
	struct sketch sketch;
	sketch_begin(&sketch);
	free(sketch.rec.extras);
	free(sketch.rec.ops);
	sketch.rec.extras = NULL;
	sketch.rec.ops = calloc(DEPTH, sizeof(*sketch.rec.ops));
	sketch.rec.op_count = DEPTH;
	for (uint32_t i = 0; i < DEPTH; i++)
		sketch.rec.ops[i] = (struct rec_op){ .dump_id = i + 1,
						     .start_ns = i,
						     .end_ns = 2 * DEPTH - i + 0ull,
						     .parent = i ? i - 1 : NO_INDEX,
						     .name = 1 + i % 2,
						     .thread = NO_INDEX };
	struct graph graph;
	struct class_table classes;
	struct program program;
	const struct scaling nothing = { 0, 0 };
	graph_build(&graph, &sketch.rec);
	ck_assert(graph_is_valid(&graph));
	class_table_build(&classes, &sketch.rec, NULL);
	program_compile(&program, &graph, &classes);
	struct replayer replayer = recorded_replayer(&program);
	struct trial trial = { .scalings = &nothing };
	ck_assert_double_eq(replayer_try(&replayer, &trial).makespan_ns, 2.0 * DEPTH);
	/* Each but the innermost is alone for 1 ns before and after its child. */
	trial.count = 1;
	ck_assert_double_eq(replayer_try(&replayer, &trial).makespan_ns, 2.0 * DEPTH - DEPTH);
	program_free(&program);
	class_table_free(&classes);
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(program_answers_as_the_rules_do, 0, 6);
	TEST(threads_run_beside_their_parents);
	LOOP(trials_at_once_answer_as_each_alone, 0, 20);
	TEST(blocks_of_a_long_op_are_skipped_rightly);
	TEST(deep_nesting_needs_no_stack);
}
