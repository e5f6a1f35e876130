/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that build a script, and private to them.
 *
 * script_build.c finds what all threads need to know (struct found). script_thread.c then sends
 * each thread's moments to a file for their sort, and script_emit.c writes the steps. From struct
 * gathered the others complete the script. One thread.
 */
#ifndef WCPROF_SCRIPT_PARTS_H
#define WCPROF_SCRIPT_PARTS_H

#include "infer/deadlines.h"
#include "infer/keys.h"
#include "infer/meetings.h"
#include "infer/pieces.h"
#include "infer/quanta.h"
#include "infer/turns.h"
#include "recording/addresses.h"
#include "recording/samples.h"
#include "script.h"
#include "script_places.h"
#include "script_runs.h"

#include <stdbool.h>

/* Ops that one thread can have open at a time. Beyond that the classes of the outermost ones
 * count. */
enum { OPEN_OPS_MAX = 64 };

/* Waits that the program declared and that lie around others, one in the other. */
enum { FRAMES_MAX = 16 };

#define POST_UNSEEN     (UINT64_MAX - 1) /* of a wait for a permit that nobody was seen to post */
#define NOT_ALL_SEEN    (UINT64_MAX - 2) /* of a wait at a barrier to which others came unseen */
#define LATENCY_UNKNOWN UINT64_MAX       /* until script_build.c puts the median in its place */

struct taken {
	uint64_t end_ns; /* of the section, the read, the wait */
	uint32_t source;
	uint32_t step; /* after the take */
	uint32_t thread;
	uint32_t items;  /* of a batch */
	bool is_tried;   /* it would have gone on without */
	bool has_waited; /* for a permit */
};

/* A thread of which the recording does not say who started it, and after which moment it was. */
struct adoption {
	size_t moment;
	uint32_t actor;
};

/* A thread that tries a lock again and again: the loop that it is in, or was in last. */
struct tries {
	uint32_t lock;             /* NO_INDEX = none */
	uint32_t stack;            /* of the try */
	uint32_t try_step;         /* STEP_TRY of the loop; what it does meanwhile comes after it */
	uint32_t last_step;        /* STEP_AGAIN that ends the loop, NO_INDEX = it has not ended */
	uint64_t left_out_from_ns; /* the rounds after the first one */
	bool is_open;              /* the lock was tried and has not been had yet */
	bool leaves_out;           /* those rounds are going on */
};

/* A process that did something with a pipe. */
struct pipe_user {
	uint32_t ident; /* string */
	uint32_t process;
};

/* A thread whose end is that of a process which its parent waited for. */
struct child {
	uint32_t semaphore; /* that its end posts to, NO_INDEX = it is waited for by name, or not */
	uint32_t wait;      /* the first one for it, which takes the permit; NO_INDEX = none */
	uint32_t last_wait; /* the first one that did not end before it; NO_INDEX = none */
};

/* Known of the whole recording before the first thread is compiled; read-only from then on. */
struct found {
	struct addresses semaphores;
	struct addresses barriers; /* that libc knows as such; behind them come the meetings */
	struct meetings meetings;
	struct turns turns;
	struct quanta quanta;
	struct keys keys;             /* their locks come after those of the recording */
	bool *is_awaited;             /* by link: somebody waits for this signal */
	uint32_t *told;               /* by thread, as stopped.h has it */
	bool *is_given;               /* by link: the post ends a race */
	uint64_t *startup_ns;         /* by thread, as startup.h has it */
	uint64_t *queued_before_ns;   /* the same */
	uint64_t *recorder_ns;        /* the same */
	uint64_t *barrier_latency_ns; /* by wait */
	uint64_t *permit_latency_ns;  /* by wait */
	struct adoption *adoptions;   /* in order of moments */
	size_t adoption_count;
	uint32_t *handed; /* by poll: the read of another thread that it found, NO_INDEX = none */
	struct pipe_user *pipe_users; /* in order of pipe, then process */
	size_t pipe_user_count;
	struct deadlines deadlines;
	uint32_t *
		marks; /* of rows of looks: where what they look for is there, by thread and time */
	size_t mark_count;
	struct pieces pieces;
	struct child *children; /* by thread */
	uint32_t *worker_of; /* by op that the program declared: the other thread that did the last
				of it, NO_INDEX = its own; NULL: there are no such ops */
};

/* A client that is made up thinks, and then asks a thread. */
struct think {
	uint32_t step;
	uint32_t thread;
};

/* A wait for a lock: the releases in it after which other threads took the lock. */
struct outrun {
	size_t first; /* of all releases */
	size_t end;   /* the one after which the thread had it */
	uint32_t thread;
};

/* Left behind by the threads, one after the other, for what only the whole shows. */
struct gathered {
	size_t step_capacity;   /* of the script's steps */
	size_t origin_capacity; /* of its origins */
	uint64_t *latencies_ns; /* of lock waits */
	size_t latency_count;
	size_t latency_capacity;
	struct outrun *outruns;
	size_t outrun_count;
	size_t outrun_capacity;
	uint32_t *row_of_lock;  /* by lock: row of looks after which it is the first, or NO_INDEX */
	uint32_t *has_ahead;    /* by lock: index + 1 of the thread that has it for its round */
	uint32_t *step_of_turn; /* by turn: the STEP_TURN of a thread that made it */
	struct taken *taken;
	size_t taken_count;
	size_t taken_capacity;
	uint64_t *finish_ns; /* by thread, as recorded */
	uint64_t *queued_ns; /* by thread: waited for CPUs, as the kernel says, in no step so far */
	bool *knows_queue;   /* by thread: the kernel was asked */
	bool *worked;        /* by thread: did more than sleep and time out */
	struct think *thinks;
	size_t think_count;
	size_t think_capacity;
	size_t *asked; /* by thread: times that a client made up asks it */
	size_t next_adoption;
	size_t next_halt;
	size_t next_piece;
	size_t next_mark;
	size_t next_origin;      /* of the schedules */
	size_t next_clock_mark;  /* of the loops that end by the clock */
	struct script_runs runs; /* of all threads, if they were crowded */
	struct script_places places;
};

/* A thread knows so many sorts of waits that only time out. */
enum { ENDLESS_MAX = 8 };

#define TOLD (NO_INDEX - 1)

/* Timeouts that pass until something ends such a wait. */
struct race {
	uint32_t target; /* the wait or poll, NO_INDEX = nothing ever does, TOLD = see stopped.h */
	uint32_t lock;   /* of that condition, NO_INDEX = not known */
	uint32_t first_step;
	uint64_t until_ns; /* 0 = there is none now */
	/* Moments: of waits of the last few sorts that nothing ever ends from there on. */
	size_t endless[ENDLESS_MAX];
	size_t endless_count;
};

/* Of the thread that is being compiled. */
struct thread_state {
	const struct rec_sample *samples;
	size_t first_sample; /* in the recording */
	size_t sample_count;
	size_t next_sample;
	uint64_t cpu_ns; /* at the last sample */
	uint32_t index;
	uint32_t process;
	uint32_t class;
	size_t at;       /* moment */
	uint64_t now_ns; /* all before this is compiled */
	uint32_t open[OPEN_OPS_MAX];
	size_t open_count;
	uint32_t scope;      /* of the open ops, NO_INDEX = look it up */
	uint32_t awaited_op; /* its time passes by waiting for another actor, NO_INDEX = none */
	uint32_t lock_wait;  /* wait for a lock whose hold comes next */
	struct tries tries;
	uint32_t adopted;            /* another thread's op that it works for, NO_INDEX = none */
	uint32_t frames[FRAMES_MAX]; /* waits around others that have not ended */
	size_t frame_count;
	size_t retried_until; /* moment: up to there it is known whether waits are taken up */
	uint32_t turn;        /* that it makes, NO_INDEX = none */
	uint32_t turn_step;   /* where it came for it */
	bool awaits_turn;
	uint32_t meeting;     /* that it comes to when it holds no lock, NO_INDEX = none */
	bool is_retried;      /* again after a timeout, until a signal comes */
	struct race races[2]; /* of waits, of polls */
	bool is_racing;       /* in a poll that times out */
	bool is_waiting;      /* inside a recorded wait */
	uint32_t has_token;   /* condition of a lock with a quantum that it has, NO_INDEX = none */
	uint64_t unlooked_ns; /* since it last looked whether that is asked for */
	bool is_skipping;     /* inside a section, before it takes */
	const struct section *skip_section;
	uint64_t beat_ns; /* the last deadline of its schedule, or when that began */
	bool has_left_loop;
	uint32_t idle_step; /* where the thread went idle, NO_INDEX = it is not */
	uint64_t idle_ns;
	bool has_worked;
	const struct look_row *told; /* its rounds until a flag says stop, once they began */
};

/* One compilation: of the script, by one thread, from what does not change meanwhile. */
struct compiler {
	const struct recording *rec;
	const struct class_table *classes;
	const struct timeline *timeline;
	const struct releases *releases;
	const struct found *found;
	struct script *script;
	struct gathered gathered;
	struct thread_state thread;
};

/* script_thread.c */
void script_compile_thread(struct compiler *, uint32_t thread);

/* script_clients.c. Where a client asks, its steps note when the request begins. */
bool script_is_asked(const struct script *, uint32_t op);
/* Leaves out of what clients think the CPU time in which the threads that they ask wake up. */
void script_thinks_wake(struct compiler *);
void script_compile_client(struct compiler *, uint32_t thread);

/* script_emit.c */
void script_emit(struct compiler *, enum step_type, uint32_t arg, uint64_t ns);
/* The step that was emitted last was compiled from this wait, not from the moment. */
void script_origin_is_wait(struct compiler *, uint32_t wait);
/* Of all threads; the kernel's counts of it are used up. */
void script_queueing_leave_out(struct compiler *);

/* script_outrun.c. In a wait that just ended, the lock was let go from the first of these releases
 * on. The last one let the thread have it. */
void script_outrun_add(struct compiler *, const struct release *first,
		       const struct release *granting);
/* By thread: how long it waited for a CPU in vain. To be freed. */
uint64_t *script_outrun_find(const struct compiler *);

/* How long a thread waited for CPUs, as the kernel says. */
struct waited {
	bool is_known;
	uint64_t ns;
	uint64_t until_ns; /* by then; later waits are not in it */
};

/* Of the thread that is being compiled. And for how long it may have waited: as the kernel says,
 * and while no CPU was idle where that does not. It does up to the end of a thread that was still
 * there. */
struct waited script_waited(const struct compiler *);
double script_waited_most_ns(const struct compiler *, const struct waited *, bool has_ended);
/* Steps from this one on were taken back; so are their origins. */
void script_origins_drop(struct compiler *, uint32_t step);
/* The time since the last moment, as a step. */
void script_pass(struct compiler *, uint64_t to_ns);
/* Of the open ops. */
uint32_t script_scope(struct compiler *);
/* It begins on this thread. */
void script_open(struct compiler *, uint32_t op);
/* It ends, or this thread has left it. */
void script_close(struct compiler *, uint32_t op);
/* A lock that it gives back later: whoever comes for it meanwhile waits for this thread. */
bool script_is_holding(const struct compiler *);
/* A wait whose waker is not known. */
void script_stays(struct compiler *, uint32_t wait, uint64_t ns);
/* The step that was emitted last takes a job, if there is a pool. */
void script_taken_add(struct compiler *, uint64_t end_ns);

/* The stamps of requests that begin or end there. */
void script_stamps(struct compiler *, uint32_t op, enum stamp_point);

/* script_declared.c: fills in `worker_of`. */
void script_declared_find(struct found *, const struct recording *);

/* A call or wait begins now on the thread. The op that it belongs to tells which ops the thread has
 * left, and which it has adopted. */
void script_op_belongs(struct compiler *, uint32_t op);
void script_belongs(struct compiler *, uint32_t parent);

/* The op that was adopted may have ended by then. */
void script_adopted_until(struct compiler *, uint64_t at_ns);

/* Another thread did the last of an op that began on this one. */
bool script_ends_elsewhere(const struct compiler *, uint32_t op);

/* A wait that is a frame around others: true, and there is nothing more to do about it. */
bool script_frame_begins(struct compiler *, uint32_t wait);
bool script_frame_ends(struct compiler *, uint32_t wait);

/* script_locks.c */
/* By lock: the class of its holds. To be freed. */
uint32_t *script_lock_classes(const struct releases *, const struct recording *,
			      const struct class_table *);
/* Locks for keys, of no class. */
void script_keys_add(struct script *, const struct keys *);
void script_hold_begins(struct compiler *, uint32_t op);
void script_hold_ends(struct compiler *, uint32_t op);
/* The section's waits for a condition are takes of tokens. */
bool script_by_tokens(const struct compiler *, const struct section *);
void script_take(struct compiler *, const struct section *);

/* script_quanta.c. At the begin of a hold: the thread hands over a lock with a quantum, as it was
 * asked to. All is skipped up to the section in which it takes the lock again. */
bool script_quantum_drops(struct compiler *, uint32_t hold);
/* At the end of a hold: the thread has such a lock from then on, if it took it there. */
void script_quantum_takes(struct compiler *, uint32_t hold);
/* So much of so much running comes before the next look whether the lock is asked for. A look that
 * is due comes first. */
uint64_t script_quantum_piece(struct compiler *, uint64_t ns);
/* So much time without a look passes in a call. */
void script_quantum_passes(struct compiler *, uint64_t ns);
/* The thread's steps end: nobody waits for a lock that it still has. */
void script_quantum_ends(struct compiler *);
/* It waits until another thread has the lock: the replay hands that over. */
bool script_quantum_switches(const struct compiler *, uint32_t wait);

/* script_waits.c */
void script_wait_begins(struct compiler *, uint32_t wait);
void script_wait_ends(struct compiler *, uint32_t wait);
/* Until then the thread has come from its sleeps, to halt others. */
void script_halts_until(struct compiler *, uint64_t at_ns);

/* script_pieces.c. Before the moment happens that is being compiled, and behind it. */
void script_pieces_before(struct compiler *);
void script_pieces_behind(struct compiler *);
/* Rounds in which threads wait for more than locks are left as they were. */
void script_pieces_complete(struct compiler *);

/* script_transfers.c */
void script_poll_begins(struct compiler *, uint32_t op);
void script_poll_times_out(struct compiler *, uint32_t op);
void script_transfer_begins(struct compiler *, uint32_t op);
/* A visit of an event loop begins there. True: it begins with a poll, and there is nothing more to
 * do about that. */
bool script_visit_begins(struct compiler *, uint32_t op);
/* After this call, or with the thread, an event loop ends. */
void script_loop_ends(struct compiler *, uint32_t op);
/* At the end of an op: it wrote, and STEP_WAKING comes after that. */
bool script_write_wakes(const struct compiler *, uint32_t op);

/* script_children.c: fills in `children`, and adds to `semaphores`. */
void script_children_find(struct found *, const struct recording *);

/* script_handed.c: by op that polls, the transfer. */
uint32_t *script_handed_find(const struct script *);

/* script_ends.c: fills in `pipe_users`. */
void script_ends_find(struct found *, const struct recording *);
/* The thread whose end a read waited for that found the end of a pipe. A poll before such a read
 * waited from `from_ns` on. NO_INDEX = not known, or no such read. */
uint32_t script_ending_actor(const struct compiler *, uint32_t op, uint64_t from_ns);

/* script_shared.c: a wait in a meeting, as a step. The last thread comes when it holds no lock any
 * more. */
void script_meets(struct compiler *, uint32_t wait);
void script_meets_last(struct compiler *);

/* script_turns.c: a wait for a turn begins or ends. True: there is nothing more to do about it.
 * The end of a hold may be the begin or end of a turn that the thread makes. A call may begin one,
 * and a link may end it. */
bool script_turn_awaits(struct compiler *, uint32_t wait);
bool script_turn_awaited(struct compiler *, uint32_t wait);
void script_turn_at_hold_end(struct compiler *, uint32_t hold);
void script_turn_at_link(struct compiler *, uint32_t link);
void script_turn_opens(struct compiler *, uint32_t op);
/* The script was cut in the actor's steps: it comes to a turn that is not all there. */
void script_turns_drop(struct script *, uint32_t actor);
/* Takes the turns out of what the threads did. */
void script_turns_find(struct compiler *);

/* script_tries.c: a wait for a lock may have been a try in vain, a hold may have come of tries.
 * True: it was, and needs no more steps. */
bool script_try_failed(struct compiler *, uint32_t wait);
bool script_try_gained(struct compiler *, uint32_t hold);

/* The thread does something now that matters to others. A loop of tries in which it does so is no
 * waiting. */
void script_tries_give_up(struct compiler *);
void script_tries_end(struct compiler *); /* with the thread */

/* The script was cut in the actor's steps: a try whose rounds are not all there is left out. */
void script_tries_drop(struct script *, uint32_t actor);

/* Takes the jobs out of what the threads took. */
void script_pools_find(struct compiler *);

/* script_unruly.c, of all steps. */
void script_unruly_find(struct script *, const struct timeline *);
/* script_relays.c: those of threads that one of them lets go, round by round. */
void script_relays_find(struct script *, const struct timeline *);

/* script_given_back.c: which conditions are locks that threads give back before they wait for a
 * permit. */
void script_given_back_find(struct compiler *);

/* script_answers.c: which job each answer of an event loop needs. The jobs are known by then. */
void script_answers_find(struct script *);

/* script_latest.c: which put gives which job, if a pool takes what was put last. */
void script_latest_find(struct script *);

/* script_wakes.c: whether a signal is one after which STEP_WAKING comes; sets how long those take.
 * To be called when runs are as long as they ran. */
bool script_wake_costs(const struct script *, uint32_t link);
void script_wakes_find(struct script *);

/* script_batches.c. True if every take empties the source. */
bool script_is_batched(const struct script *, uint32_t source);
/* Fits the costs of batches: of all sources, or of one list of jobs that end with such a step. The
 * jobs are known by then. */
void script_batches_find(struct compiler *);
void script_batches_cost(const struct script *, struct job_list *, enum step_type end_type,
			 uint32_t end_arg);

/* script_messages.c: by transfer, which job of its source's list a read took. */
void script_messages_find(struct script *, const uint32_t *job_of_read);
void script_messages_free(struct script *);

/* script_shared.c: by wait, how long after what opened the barrier, or posted the permit, it
 * returned. */
uint64_t *script_barriers_find(struct script *, const struct recording *, struct addresses *);
uint64_t *script_semaphores_find(struct script *, const struct recording *, struct addresses *);

void script_meetings_find(struct script *, const struct meetings *);

/*
 * script_looks.c: sleeps of a thread that looks for another one. Which threads are looked for, and
 * when; before and after each sleep; before the thread's first moment at this time or later. At the
 * end, rows that cannot be left to the replay stay as they were.
 */
void script_marks_find(struct found *, const struct looks *);
void script_look_begins(struct compiler *, uint32_t sleep);
void script_look_ends(struct compiler *, uint32_t sleep);
/* The thread ends: so does the row that it is, if a flag stops it. */
void script_told_ends(struct compiler *);
/* A permit is given. */
void script_posts(struct compiler *, uint32_t link);
/* A hold of a file's lock begins: perhaps the first one of a round of those that rows wait for. */
void script_round_begins(struct compiler *, uint32_t hold);
void script_round_ends(struct compiler *, uint32_t hold);
void script_rounds_find(struct compiler *);
void script_marks_until(struct compiler *, uint64_t before_ns);
void script_looks_complete(struct script *);

/* script_races.c. The poll found nothing, or only a timer. */
bool script_poll_timed_out(const struct recording *, uint32_t poll);
/* Of the wait or poll that timed out: a later one of its kind was ended by another thread. */
bool script_may_race(struct compiler *, bool is_poll);
/* The next step is that timeout. */
void script_race(struct compiler *, bool is_poll);
/* The last step is that of a wait or poll that another thread ended. */
void script_race_ends(struct compiler *, uint32_t index, bool is_poll);
void script_races_complete(struct script *);
void script_told_find(struct found *, const struct recording *, const struct monitors *);
void script_told_free(struct found *);
/* A hold begins. A thread that kept waiting for that may see now that it was told to end. */
void script_sees_it_was_told(struct compiler *, uint32_t hold);

/* script_finishers.c */
void script_choose_finishers(struct script *, const struct compiler *);

/* script_threads.c */
/* The image that a process went on with by exec after this one, NO_INDEX = none. */
uint32_t script_next_image(const struct recording *, uint32_t process);

/* The likely creator of each thread that no link starts; to be freed. */
struct adoption *script_adoptions_find(const struct recording *, const struct timeline *,
				       const struct actor *, size_t *count);

/* The thread that ended a process that ended itself, NO_INDEX = it was still running. */
uint32_t script_ending_thread(const struct recording *, uint32_t process);

/* The first thread of a process; NO_INDEX = not recorded. */
uint32_t script_first_thread(const struct recording *, uint32_t process);
/* The first thread of a client's first image, or of its last one; NO_INDEX = none. */
uint32_t script_thread_of_client(const struct recording *, uint32_t client, bool last);

/* The actor that a link starts (a thread, or the first one of a process), or that a wait joins;
 * NO_INDEX = none. */
uint32_t script_started_actor(const struct recording *, const struct rec_link *);
uint32_t script_joined_actor(const struct recording *, const struct rec_wait *);

#endif
