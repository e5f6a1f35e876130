/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small model of recorder/chunk.c, opens.c and snapshot.c without a ring: two threads, each of which
 * begins and ends ops one after the other and leaves what is left of its chunk to the other one when it
 * ends; and drainers, of which any may die while it notes what was handed out. Memory is taken to be
 * sequentially consistent, and the pools to be right: a chunk is taken and given in one step.
 *
 * Checked in every interleaving: what was begun before a dump, and no dump has handed out, is in it once,
 * as open or as ended; what was handed out is in no later dump; and in the end every op was handed out or
 * counted as dropped.
 *
 * Each BROKEN_* is one step less, or two of them the other way round: see below where it is looked at.
 */
#define CHUNKS  2
#define RECORDS 2
#define THREADS 2
#ifndef LAST
#define LAST    4 /* ids of ops: thread 0 has the first, which leaves room in a chunk; thread 1 the others */
#endif

#define EMPTY   0
#define FILLING 1
#define FULL    2
#define CLAIMED 3

#define RECORD(index, position) record[(index)*RECORDS + (position)]

/* What is in the arena. */
byte state[CHUNKS], published[CHUNKS], drained[CHUNKS];
byte snapshot[CHUNKS], snapshot_from[CHUNKS], snapshot_since[CHUNKS];
byte record[CHUNKS * RECORDS];
bool is_given[CHUNKS] = true; /* empty, and to be taken; */
bool is_left[CHUNKS];         /* by a thread that has ended, with room */
byte entry[THREADS];          /* the op that is open */
byte chunk_of[THREADS];       /* plus one; 0 = none */
bool is_there[THREADS], commit_begun;

/* What really happened. */
bool begun[LAST + 1], dropped[LAST + 1], handed_out[LAST + 1];
byte threads_ended;
bool is_draining;

inline take_chunk()
{
	atomic {
		if
		:: is_left[0] -> is_left[0] = false; chunk = 1
		:: !is_left[0] && is_left[1] -> is_left[1] = false; chunk = 2
		:: !is_left[0] && !is_left[1] && is_given[0] -> is_given[0] = false; chunk = 1
		:: !is_left[0] && !is_left[1] && !is_given[0] && is_given[1] ->
			is_given[1] = false; chunk = 2
		:: else
		fi
	};
	if
	:: chunk > 0 ->
		if
		:: state[chunk - 1] == EMPTY -> state[chunk - 1] = FILLING
		:: else
		fi;
#ifdef BROKEN_HEIR
		position = 0;
#else
		position = published[chunk - 1];
#endif
		chunk_of[me] = chunk
	:: else
	fi
}

inline publish()
{
	if
	:: chunk == 0 -> take_chunk()
	:: else
	fi;
	if
#ifdef BROKEN_PUBLISH
	:: chunk > 0 -> published[chunk - 1] = position + 1; RECORD(chunk - 1, position) = id; position++
#else
	:: chunk > 0 -> RECORD(chunk - 1, position) = id; position++; published[chunk - 1] = position
#endif
	:: else -> dropped[id] = true
	fi
}

inline settle()
{
	if
	:: chunk > 0 && position == RECORDS ->
		chunk_of[me] = 0;
		atomic { state[chunk - 1] = FULL; chunk = 0; position = 0 }
	:: else
	fi
}

proctype Thread(byte me)
{
	byte id = me + 1, chunk, position;

	is_there[me] = true;
	do
	:: id > (me == 0 -> 1 : LAST) -> break
	:: else ->
		atomic { entry[me] = id; begun[id] = true };
#if defined(BROKEN_CLEAR)
		entry[me] = 0;
		publish();
		settle();
#elif defined(BROKEN_SETTLE)
		publish();
		settle();
		entry[me] = 0;
#else
		publish();
		entry[me] = 0;
		settle();
#endif
		id++
	od;
	if
	:: chunk > 0 -> chunk_of[me] = 0; atomic { is_left[chunk - 1] = true; chunk = 0; position = 0 }
	:: else
	fi;
	is_there[me] = false;
	atomic { threads_ended++; id = 0 }
}

#define FOR_CHUNKS for (i : 0 .. CHUNKS - 1)

#define MAY_DIE if :: may_die -> goto dead :: true fi

inline commit_chunk()
{
	count = snapshot[i];
	drained[i] = count;
	MAY_DIE;
#ifndef BROKEN_SNAPSHOT
	snapshot[i] = 0;
	MAY_DIE;
#endif
	if
	:: count == RECORDS && state[i] == FULL ->
		state[i] = CLAIMED;
		drained[i] = 0;
		published[i] = 0;
		state[i] = EMPTY;
		is_given[i] = true
	:: else
	fi;
#ifdef BROKEN_SNAPSHOT
	MAY_DIE;
	snapshot[i] = 0;
#endif
	count = 0
}

inline commit_chunks()
{
	FOR_CHUNKS {
		if
		:: snapshot[i] > 0 -> commit_chunk()
		:: else
		fi
	}
	commit_begun = false
}

inline pin_chunks()
{
	FOR_CHUNKS {
		is_full = state[i] == FULL;
		atomic {
			snapshot_since[i] = (is_full || published[i] == 0 -> published[i] : published[i] - 1);
			is_full = false
		}
	}
}

inline copy_open()
{
	for (t : 0 .. THREADS - 1) {
		open[t] = 0;
		if
		:: is_there[t] -> open[t] = entry[t]
		:: else
		fi
	}
}

inline count_events()
{
	FOR_CHUNKS {
		snapshot[i] = 0;
		snapshot_from[i] = 0;
		if
		:: state[i] != CLAIMED -> snapshot[i] = published[i]; snapshot_from[i] = drained[i]
		:: else
		fi
	}
}

/* Open beyond doubt, or else not recorded. */
inline drop_ended()
{
	for (t : 0 .. THREADS - 1) {
		if
		:: open[t] > 0 ->
			count = chunk_of[t];
			if
			:: is_there[t] && entry[t] == open[t] &&
			   !(count > 0 && snapshot[count - 1] > 0 &&
			     RECORD(count - 1, snapshot[count - 1] - 1) == open[t])
			:: else ->
				d_step {
					FOR_CHUNKS {
						for (k : snapshot_since[i] .. RECORDS - 1) {
							if
							:: k < snapshot[i] && RECORD(i, k) == open[t] -> open[t] = 0
							:: else
							fi
						}
					}
					k = 0
				}
			fi;
			count = 0
		:: else
		fi
	}
}

/* How often an op is in the dump, and whether it should be. */
inline check()
{
	d_step {
		FOR_CHUNKS {
			for (k : 0 .. RECORDS - 1) {
				if
				:: k >= snapshot_from[i] && k < snapshot[i] ->
					assert(RECORD(i, k) > 0);
					is_in[RECORD(i, k)]++
				:: else
				fi
			}
		}
		for (t : 0 .. THREADS - 1) {
			is_in[open[t]]++
		}
		for (k : 1 .. LAST) {
			assert(is_in[k] <= 1);
			assert(!is_in[k] || !handed_out[k]);
			assert(is_in[k] || !is_due[k] || dropped[k]);
			is_in[k] = 0;
			is_due[k] = false
		}
		is_in[0] = 0;
		t = 0; k = 0; i = 0
	}
}

inline hand_out()
{
	d_step {
		FOR_CHUNKS {
			for (k : 0 .. RECORDS - 1) {
				if
				:: k >= snapshot_from[i] && k < snapshot[i] -> handed_out[RECORD(i, k)] = true
				:: else
				fi
			}
		}
		k = 0; i = 0
	}
}

/* One drainer; `may_die`: while it notes what its reader has. */
proctype Drainer(bool flush; bool may_die)
{
	byte open[THREADS], is_in[LAST + 1];
	bool is_due[LAST + 1], is_full;
	byte i, k, t, count;

#ifndef BROKEN_COMMIT
	if
	:: commit_begun -> commit_chunks()
	:: else
	fi;
#endif
	d_step {
		for (k : 1 .. LAST) {
			is_due[k] = begun[k] && !handed_out[k]
		}
		k = 0
	}
	pin_chunks();
	copy_open();
	count_events();
#ifndef BROKEN_LOOK
	drop_ended();
#endif
	check();
	if
	:: flush -> atomic { hand_out(); commit_begun = true }; commit_chunks()
	:: else
	fi;
dead:
	is_draining = false
}

#define DRAIN(flush, may_die) is_draining = true; run Drainer(flush, may_die); !is_draining

init {
	byte k;

	atomic { run Thread(0); run Thread(1) };
	if
	:: DRAIN(true, true)
	:: DRAIN(false, false)
	fi;
	DRAIN(true, false);
	threads_ended == THREADS;
	DRAIN(true, false);
	for (k : 1 .. LAST) {
		assert(handed_out[k] || dropped[k])
	}
}
