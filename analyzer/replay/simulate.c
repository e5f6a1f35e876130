/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A discrete-event simulation of a script's actors.
 *
 * Method. The agenda (agenda.h) has actors by their next point in time. The earliest one runs its
 * steps for as long as they concern nobody else. Before another step (a lock, a token, a signal) it
 * goes back into the agenda, unless it is still the earliest. So such steps happen in order of
 * simulated time. The end of each wait is decided anew in each run:
 *
 *   mutex       as glibc's, over futexes: a release frees it and wakes the first sleeper. That one
 *               comes back after its wake-up latency, tries again and may lose to a newcomer. A
 *               lock that nobody slept on is released without a wake.
 *   rwlock      readers enter while readers are in; the last one out hands over to a writer. A
 *               writer hands over to all readers that wait, else to the next writer.
 *   condition   tokens (simulate_tokens.c); an actor that wakes takes the lock again and looks.
 *   semaphore   permits; barrier: parties; spawn and join: the other actor's start and end.
 *   stream      bytes: a read goes on when as many were written as have been read with it, a
 *               write to a pipe when there is room.
 *   event loop  goes on with the connection whose data have been there longest
 *               (simulate_loops.c).
 *
 * With fewer CPUs than actors, runs share them (crowd.c) or queue for them (runqueues.c). An actor
 * that is woken does so, too. Else a run just takes its time.
 *
 * If no actor can go on, and one that counts has not finished, the actor that has waited longest is
 * let go (simulate_stalls.c). Such steps are counted: one is one too many. A run that nothing ends
 * is stopped (simulate_bounds.c).
 *
 * Thread-safe: nothing is shared but script and machine, which are only read.
 */
#include "simulate.h"

#include "base/assumptions.h"
#include "base/memory.h"
#include "simulate_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next_turn_ns(struct simulation *sim)
{
	uint64_t run_ns = simulate_cpus_next_ns(sim);

	return agenda_next_ns(&sim->agenda) < run_ns ? agenda_next_ns(&sim->agenda) : run_ns;
}

/* It has come to a CPU, or has run what it had to: then it goes on after its run. */
static void player_is_on(struct player *player)
{
	assert(player->cpu != PLAYER_OFF);
	if (player->cpu == PLAYER_RUNNING)
		player->is_granted = true;
	player->cpu = PLAYER_OFF;
}

/* Takes out the earliest actor: its time has come, or it has run to the end, or come to a CPU.
 * NO_INDEX: it was nobody's turn, only the scheduler's or another program's. */
static struct turn take_turn(struct simulation *sim)
{
	struct turn turn = { .at_ns = simulate_cpus_next_ns(sim) };
	bool has_run = agenda_next_ns(&sim->agenda) >= turn.at_ns;

	if (!has_run)
		turn = agenda_take(&sim->agenda);
	else
		turn.actor = simulate_cpus_happen(sim, turn.at_ns);
	if (turn.actor == NO_INDEX)
		return turn;
	if (turn.actor >= sim->script->actor_count) {
		simulate_stranger_turn(sim, turn, has_run);
		turn.actor = NO_INDEX;
	} else if (has_run) {
		player_is_on(&sim->players[turn.actor]);
	} else {
		simulate_timeout(sim, turn.actor);
	}
	return turn;
}

/* How much longer than asked for a sleep takes; not at all if it is gone, or its time is past. */
static uint64_t overrun_ns(const struct simulation *sim, const struct player *player,
			   const struct step *step, uint64_t now_ns)
{
	uint64_t ns = step->ns;

	if (!(sim->factor[step->arg] > 0) ||
	    (step[-1].type == STEP_UNTIL && now_ns > player->beat_ns))
		return 0;
	return player->batch.cost_of ? simulate_batch_ns(&player->batch, step, ns) : ns;
}

/* On CPUs that all share: whether the run is over before anything else happens, and may be passed
 * unseen. */
static bool runs_undisturbed(struct simulation *sim, struct player *player, const struct step *step,
			     uint64_t *now_ns, uint64_t until_ns)
{
	uint64_t steps = (uint64_t)(step - &sim->script->steps[player->step]) + 1;

	assert(!player->owed_ns);
	if (sim->times || steps >= sim->steps_left ||
	    !simulate_cpus_run(sim, now_ns, simulate_scaled_ns(sim, player, step),
			       until_ns < sim->bound_ns ? until_ns : sim->bound_ns))
		return false;
	player->is_back = false;
	return true;
}

/* On a queue's CPU: whether nobody interrupts the run. */
static inline bool runs_uninterrupted(struct simulation *sim, struct player *player,
				      const struct step *step, struct run_ahead *ahead,
				      uint64_t *now_ns, uint64_t until_ns)
{
	uint64_t ns;

	if (*now_ns != ahead->now_ns && !runqueues_ahead_sleep(ahead, *now_ns, until_ns))
		return false;
	ns = simulate_scaled_ns(sim, player, step);
	if (!runqueues_ahead_run(ahead, simulate_run_ns(player, ns), until_ns))
		return false;
	*now_ns = ahead->now_ns;
	simulate_paid(player, ns);
	return true;
}

/* Actors run on a CPU each, on CPUs that all share, or on those of queues. */
enum run_way { RUNS_ALONE, RUNS_SHARING, RUNS_IN_TURN };

/* Passes over a run. False: it concerns somebody else. */
static inline __attribute__((always_inline)) bool pass_run(
	struct simulation *sim, struct player *player, const struct step *step,
	struct run_ahead *ahead, enum run_way way, uint64_t *now_ns, uint64_t until_ns)
{
	if (way == RUNS_SHARING)
		return runs_undisturbed(sim, player, step, now_ns, until_ns);
	if (way == RUNS_IN_TURN)
		return runs_uninterrupted(sim, player, step, ahead, now_ns, until_ns);
	uint64_t ns = simulate_scaled_ns(sim, player, step);

	*now_ns += simulate_run_ns(player, ns);
	simulate_paid(player, ns);
	return true;
}

/* Runs the steps that concern nobody else. Returns the first other one. Each way has code of its
 * own, with and without a trace, so that no step asks for these. */
static inline __attribute__((always_inline)) const struct step *run_steps(struct simulation *sim,
									  struct player *player,
									  struct run_ahead *ahead,
									  enum run_way way,
									  bool is_traced)
{
	const struct step *step = &sim->script->steps[player->step];
	uint64_t now_ns = player->now_ns;
	uint64_t until_ns = agenda_next_ns(&sim->agenda);

	for (;; step++) {
		bool runs = step->type == STEP_RUN || (step->type == STEP_WAKING && player->woke);
		uint64_t from_ns = now_ns;

		if (runs) {
			if ((is_traced && way == RUNS_SHARING) ||
			    !pass_run(sim, player, step, ahead, way, &now_ns, until_ns))
				break;
		} else if (step->type == STEP_DELAY) {
			now_ns += player->row ? simulate_nap_ns(sim, player, step)
					      : simulate_scaled_ns(sim, player, step);
		} else if (step->type == STEP_FIXED) {
			now_ns += step->ns;
		} else if (step->type == STEP_OVERRUN) {
			now_ns += overrun_ns(sim, player, step, now_ns);
		} else if (step->type == STEP_UNTIL) {
			player->beat_ns += (uint64_t)((double)step->ns * sim->factor[step->arg]);
			now_ns = player->beat_ns > now_ns ? player->beat_ns : now_ns;
		} else if (step->type == STEP_TIMED) {
			now_ns = timed_until_ns(sim, step, now_ns);
		} else if (step->type == STEP_TIMING) {
			sim->timing_ns[step->arg] = now_ns;
		} else if (step->type == STEP_SCHEDULE) {
			player->beat_ns = now_ns;
		} else if (step->type == STEP_STAMP) {
			sim->stamp_ns[step->arg] = now_ns;
		} else if (step->type != STEP_WAKING) {
			break;
		}
		if (is_traced)
			trace_passed(sim->trace, sim->acting, (uint32_t)(step - sim->script->steps),
				     from_ns, now_ns);
	}
	player->now_ns = now_ns;
	player->step = (uint32_t)(step - sim->script->steps);
	return step;
}

static const struct step *run_alone(struct simulation *sim, struct player *player,
				    struct run_ahead *ahead)
{
	if (!sim->is_crowded)
		return sim->trace ? run_steps(sim, player, NULL, RUNS_ALONE, true)
				  : run_steps(sim, player, NULL, RUNS_ALONE, false);
	if (!ahead)
		return sim->trace ? run_steps(sim, player, NULL, RUNS_SHARING, true)
				  : run_steps(sim, player, NULL, RUNS_SHARING, false);
	return sim->trace ? run_steps(sim, player, ahead, RUNS_IN_TURN, true)
			  : run_steps(sim, player, ahead, RUNS_IN_TURN, false);
}

/* Somebody else is earlier. Whoever has a queue's CPU must also give that away before a step that
 * takes time elsewhere. */
static bool is_ahead_of_others(struct simulation *sim, const struct player *player,
			       struct run_ahead *ahead)
{
	if (!ahead)
		return player->now_ns > next_turn_ns(sim);
	if (player->now_ns > ahead->now_ns &&
	    !runqueues_ahead_sleep(ahead, player->now_ns, agenda_next_ns(&sim->agenda)))
		return true;
	if (player->now_ns < ahead->before_ns && player->now_ns <= agenda_next_ns(&sim->agenda))
		return false;
	runqueues_ahead_end(&cpus_of(sim, sim->acting)->queues, ahead);
	return player->now_ns > next_turn_ns(sim);
}

/* Nobody is to go on: the replay has done more, or gone on for longer, than the script can need. */
static bool is_beyond(struct simulation *sim, uint32_t actor, uint64_t now_ns, uint64_t steps)
{
	sim->steps_left -= steps < sim->steps_left ? steps : sim->steps_left;
	if (sim->steps_left && now_ns <= sim->bound_ns)
		return false;
	simulate_run_away(sim, actor);
	return true;
}

/* Goes on until the actor sleeps, ends, runs, or is no longer the earliest. */
static void go_on(struct simulation *sim, struct turn turn, struct run_ahead *ahead)
{
	struct player *player = &sim->players[turn.actor];

	assert(player->life == PLAYER_STARTED && !player->sleeps_in);
	if ((player->halt.number || player->halt.late_ns) && simulate_is_halted(sim, turn))
		return;
	sim->acting = turn.actor;
	player->now_ns = turn.at_ns;
	player->is_back = player->slept && !player->is_granted;
	player->slept = false;
	if (player->is_granted)
		simulate_passes(sim, player->step, turn.at_ns);
	player->step += player->is_granted;
	player->is_granted = false;
	for (;; player->is_back = false) {
		uint32_t first = player->step;
		const struct step *step = run_alone(sim, player, ahead);

		if (is_beyond(sim, turn.actor, player->now_ns, player->step - first + 1) ||
		    is_ahead_of_others(sim, player, ahead)) {
			agenda_add(&sim->agenda, turn.actor, player->now_ns);
			return;
		}
		if ((step->type == STEP_RUN || step->type == STEP_WAKING) && ahead)
			runqueues_ahead_end(&cpus_of(sim, turn.actor)->queues, ahead);
		uint32_t at = player->step;
		simulate_arrives(sim, at, player->now_ns);
		player->slept = !simulate_interact(sim, step, turn.actor);
		player->has_slept = player->slept && !player->is_back && player->cpu == PLAYER_OFF;
		player->is_forced = false;
		if (player->slept)
			return;
		simulate_passes(sim, at, player->now_ns);
	}
}

/* An actor's turn. Where CPUs have queues it needs one first, and gives it away afterwards. A
 * client that is made up needs none. */
static void play(struct simulation *sim, struct turn turn)
{
	struct player *player = &sim->players[turn.actor];
	struct run_ahead ahead;

	uint64_t run_ns = player->has_slept ? simulate_sleep_run_ns(sim, turn.actor) : 0;

	player->has_slept = false;
	if (sim->script->actors[turn.actor].is_client) {
		go_on(sim, turn, NULL);
		return;
	}
	if (!sim->has_queues) {
		if (sim->is_crowded && run_ns) {
			player->cpu = PLAYER_ARRIVING;
			simulate_cpus_enter(sim, turn.at_ns, turn.actor, (double)run_ns);
			return;
		}
		go_on(sim, turn, NULL);
		return;
	}
	struct runqueues *queues = &cpus_of(sim, turn.actor)->queues;
	uint32_t number = sim->users[turn.actor].number;

	if (!runqueues_is_on(queues, number)) {
		player->cpu = PLAYER_ARRIVING;
		simulate_cpus_enter(sim, turn.at_ns, turn.actor, (double)run_ns);
		if (!runqueues_is_first(queues, number))
			return;
		runqueues_happen(queues);
		player_is_on(player);
	}
	simulate_cpus_ahead_begin(sim, &ahead, turn.actor);
	go_on(sim, turn, &ahead);
	runqueues_ahead_end(queues, &ahead);
	if (player->cpu == PLAYER_OFF)
		runqueues_off(queues, turn.at_ns, number);
}

/* Strangers are always there. */
static bool is_anybody_left(const struct simulation *sim)
{
	return sim->agenda.count + simulate_cpus_running(sim) > sim->stranger_count;
}

/* --- a run --- */

/* Until nobody can go on. */
static void play_all(struct simulation *sim)
{
	while (is_anybody_left(sim) && !sim->ran_away) {
		struct turn turn = take_turn(sim);

		if (turn.actor != NO_INDEX) {
			simulate_moves(sim, turn.actor);
			play(sim, turn);
		} else if (!--sim->steps_left)
			simulate_run_away(sim, 0);
	}
}

static void run_once(struct simulation *sim, struct replay_answer *answer)
{
	const struct script *script = sim->script;
	uint64_t finish_ns = script->start_ns;
	uint32_t last = NO_INDEX;

	simulate_reset(sim);
	do {
		play_all(sim);
	} while (!sim->ran_away && simulate_unstall(sim));
	for (size_t i = 0; i < script->actor_count; i++)
		if (script->actors[i].counts && sim->players[i].finish_ns > finish_ns) {
			finish_ns = sim->players[i].finish_ns;
			last = (uint32_t)i;
		}
	if (sim->trace) {
		sim->trace->end_actor = last;
		sim->trace->end_ns = finish_ns;
	}
	finish_ns = sim->ran_away ? sim->bound_ns : finish_ns;
	*answer = (struct replay_answer){ .makespan_ns = (double)(finish_ns - script->start_ns),
					  .queued_ns = simulate_cpus_waited_ns(sim),
					  .forced_steps = sim->forced_steps,
					  .ran_away = sim->ran_away,
					  .stuck = sim->stuck };
	simulate_loops_answer(sim, answer);
	simulate_requests_answer(sim, answer);
}

/* --- the replayer --- */

/* A function's part of each scope scales, the rest stays. */
static void scale_function(struct simulation *sim, const struct function *function, double factor)
{
	const struct share *shares = sim->script->shares.shares + function->first;

	for (uint32_t i = 0; i < function->count; i++)
		sim->factor[shares[i].scope] *= 1.0 - (double)shares[i].share * (1.0 - factor);
}

static void scale_class(struct simulation *sim, uint32_t class_index, double factor)
{
	const struct scopes *scopes = &sim->script->scopes;

	for (size_t i = 0; i < scopes->count; i++) {
		const struct scope *scope = &scopes->scopes[i];
		bool is_hit = scope->leaf == class_index;

		for (uint32_t k = 0; k < scope->count; k++)
			is_hit = is_hit || scopes->classes[scope->first + k] == class_index;
		if (is_hit)
			sim->factor[i] *= factor;
	}
}

/* Since the first actor began. An actor that came to no end is there until that of the run. */
static uint64_t finish_of(const struct simulation *sim, size_t actor, uint64_t makespan_ns)
{
	const struct player *player = &sim->players[actor];
	uint64_t start_ns = sim->script->start_ns;

	if (player->life != PLAYER_DONE && !player->finish_ns)
		return makespan_ns;
	return player->finish_ns > start_ns ? player->finish_ns - start_ns : 0;
}

static void run_trial(const struct replayer *replayer, const struct trial *trial, void *scratch,
		      struct replay_answer *answer)
{
	struct simulation *sim = scratch;
	const struct script *script = sim->script;

	assert(script == replayer->state);
	for (size_t i = 0; i < script->scopes.count; i++)
		sim->factor[i] = 1.0;
	if (script->has_recorder && !trial->as_recorded)
		sim->factor[script->recorder_scope] = 0;
	for (size_t i = 0; i < trial->count; i++) {
		const struct scaling *scaling = &trial->scalings[i];

		assert(scaling->class < script->class_count + script->shares.function_count &&
		       scaling->factor >= 0);
		if (scaling->class >= script->class_count)
			scale_function(
				sim,
				&script->shares.functions[scaling->class - script->class_count],
				scaling->factor);
		else
			scale_class(sim, scaling->class, scaling->factor);
	}
	sim->is_fair = trial->is_fair;
	sim->keeps_timeouts = trial->keeps_timeouts;
	sim->takes_latest = trial->takes_latest;
	sim->wakes_clients = trial->wakes_clients;
	sim->drops_waits = trial->drops_waits;
	sim->shares_all = trial->shares_all;
	sim->jitter = trial->jitter;
	sim->crossing = machine_crossing(sim->machine, trial->crossing);
	sim->trace = trial->trace;
	sim->times = trial->times;
	sim->has_queues = sim->is_crowded && !trial->shares_cpus;
	run_once(sim, answer);
	for (size_t i = 0; trial->finish_ns && i < replayer->finish_count; i++)
		trial->finish_ns[i] = finish_of(sim, i, (uint64_t)answer->makespan_ns);
	if (trial->requests)
		simulate_requests_tell(sim, (uint64_t)answer->makespan_ns, trial->requests);
}

static void run(const struct replayer *replayer, const struct trial *trials, size_t count,
		void *scratch, struct replay_answer *answers)
{
	for (size_t i = 0; i < count; i++)
		run_trial(replayer, &trials[i], scratch, &answers[i]);
}

static void *scratch_new(const struct replayer *replayer)
{
	return simulate_new(replayer->state, replayer->machine);
}

static void scratch_free(void *scratch)
{
	simulate_free(scratch);
}

static bool has_step(const struct script *script, enum step_type type)
{
	for (size_t i = 0; i < script->step_count; i++)
		if (script->steps[i].type == type)
			return true;
	return false;
}

static bool feeds_pools(const struct script *script)
{
	for (size_t i = 0; i < script->source_count; i++)
		if (script->jobs[i].latest)
			return true;
	return false;
}

struct replayer simulate_replayer(const struct script *script, const struct machine *machine)
{
	return (struct replayer){
		.state = script,
		.machine = machine,
		.scratch_new = scratch_new,
		.scratch_free = scratch_free,
		.cost = script->step_count,
		.finish_count = script_recorded_actors(script),
		.request_count = script->requests.judged_count,
		.has_recorder = script->has_recorder,
		.has_jitter = assume.jitter > 0,
		.has_locks = script->lock_count > 0 && assume.fair_locks,
		.has_timeouts = has_step(script, STEP_CUT) || simulate_guesses_rounds(script),
		.feeds_pools = feeds_pools(script),
		.has_rests = script->clients.back_ns > 0,
		.has_unruly = script->has_unruly,
		.has_unsure_rounds = script->has_unsure_rounds,
		.is_crowded = machine_is_crowded(machine, script) && assume.shared_cpus,
		.may_cross = (machine->has_more || machine->has_fewer) && assume.crossing_run_most,
		.classes_at_once = 1,
		.run = run
	};
}
