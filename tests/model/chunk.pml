/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small model of recorder/chunk.c and recorder/snapshot.c in a ring: two threads that fill chunks of one
 * record and take the oldest one when there is none left, and drainers that pin, write out, let go and
 * commit, give up half-way, or die while they commit. Memory is taken to be sequentially consistent: what the
 * orders of the atomic operations do is for the thread sanitizer.
 *
 * Checked in every interleaving: no record changes while it is read; none is handed out twice; recorded +
 * dropped + overwritten = produced in the end. -DBROKEN_PIN leaves the pin out, -DBROKEN_ORDER notes a
 * chunk's lap before how far it is published; with -DBROKEN_COMMIT the next drainer does not go on for a
 * dead one, with -DBROKEN_UNPIN nor does a thread that lets go of what that had pinned, and with -DBROKEN_DEAD
 * it does so while the drainer is alive.
 */
#define CHUNKS  2
#define RECORDS 1
#define WRITERS 2
#ifndef LAST
#define LAST    4 /* events in all: thread 1 has the first two */
#endif
#define EVENTS  (me == 1 -> 2 : LAST - 2)

#define SAME_LAP(seen) (lap[i] == seen)
#ifdef BROKEN_PIN
#define PIN false
#else
#define PIN true
#endif
#define NOT_OVERWRITTEN (lap[i] == snapshot_lap[i])

#ifdef BROKEN_ORDER
#define EARLY_LAP snapshot_lap[i] = lap[i]
#define LATE_LAP skip
#else
#define EARLY_LAP skip
#define LATE_LAP snapshot_lap[i] = lap[i]
#endif

#define EMPTY   0
#define FILLING 1
#define FULL    2
#define CLAIMED 3

byte state[CHUNKS], lap[CHUNKS], published[CHUNKS], drained[CHUNKS];
bool pinned[CHUNKS];
byte record[CHUNKS * RECORDS]; /* 0 = none, else who wrote it: what a reader sees must not change */
byte from[CHUNKS], upto[CHUNKS], snapshot_lap[CHUNKS];
byte turn, overwritten, dropped, handed_out, produced, ended;
byte owner; /* of the right to drain */
bool commit_begun;
short twice; /* counted as lost, for its drainer died before it said that it was not */

#define NOBODY  0
#define DRAINER 1
#define WRITER  2
#define DEAD    3

inline claim(i, t, was, seen, claimed)
{
	/* The state, read while the turn is the chunk's. */
	atomic { was = state[i]; seen = lap[i] };
	claimed = false;
	if
	:: turn != t -> was = FULL /* tried again */
	:: else ->
		if
		:: was == FULL || was == EMPTY ->
			atomic {
				if
				:: state[i] == was && !(was == FULL && pinned[i]) && SAME_LAP(seen) ->
					state[i] = CLAIMED; claimed = true
				:: else -> was = FULL /* somebody was faster: the turn stays */
				fi
			}
		:: else
		fi
	fi
}

#define MAY_DIE if :: may_die -> owner = DEAD; goto died :: true fi

inline commit_chunk(may_die)
{
	pinned[i] = PIN;
	if
	:: state[i] != CLAIMED && NOT_OVERWRITTEN ->
		drained[i] = upto[i];
		MAY_DIE;
		atomic { k = upto[i]; upto[i] = 0 };
		MAY_DIE;
		if
		:: k == RECORDS && state[i] == FULL ->
			state[i] = CLAIMED; drained[i] = 0; published[i] = 0; state[i] = EMPTY
		:: else
		fi
	:: else ->
		atomic { k = upto[i] - from[i]; upto[i] = 0 };
		if
		:: may_die -> twice = twice + k; owner = DEAD; goto died
		:: overwritten = overwritten - k
		fi
	fi;
	k = 0;
	MAY_DIE;
	pinned[i] = false
}

inline commit_chunks(may_die)
{
	i = 0;
	do
	:: i == CHUNKS -> break
	:: else ->
		if
		:: upto[i] > 0 -> commit_chunk(may_die)
		:: else
		fi;
		i++
	od;
	commit_begun = false
}

inline commit_for_dead()
{
	if
	:: commit_begun -> commit_chunks(false)
	:: else
	fi
}

/* Once; then it is tried again. */
inline unpin_for_dead()
{
	if
#ifdef BROKEN_DEAD
	:: !has_unpinned -> has_unpinned = true;
#else
	:: atomic { owner == DEAD && !has_unpinned -> owner = WRITER; has_unpinned = true };
#endif
#if !defined(BROKEN_UNPIN) && !defined(BROKEN_DEAD)
		commit_for_dead();
#endif
		atomic {
			for (i : 0 .. CHUNKS - 1) {
				pinned[i] = false
			}
			i = 0; owner = NOBODY
		}
	:: else -> tries = CHUNKS
	fi
}

proctype Writer(byte me)
{
	byte n = 0, chunk = CHUNKS, position = 0, t, i, was, seen, tries;
	byte k;
	bool claimed, has_unpinned;

	do
	:: n == EVENTS -> break
	:: n < EVENTS && chunk < CHUNKS ->
		atomic { record[chunk * RECORDS + position] = me; position++ };
		atomic {
			published[chunk] = position; produced++; n++;
			if
			:: position == RECORDS -> state[chunk] = FULL; chunk = CHUNKS; position = 0
			:: else
			fi
		}
	:: n < EVENTS && chunk == CHUNKS ->
		tries = 0; claimed = false; has_unpinned = false;
		do
		:: claimed || tries == CHUNKS -> break
		:: else ->
			atomic { t = turn; i = t % CHUNKS };
			if
			:: state[i] == FULL && pinned[i] -> unpin_for_dead()
			:: else ->
				claim(i, t, was, seen, claimed);
				if
				:: claimed || was == FILLING || was == CLAIMED ->
					atomic { if :: turn == t -> turn++ :: else fi };
				:: else
				fi;
				tries++
			fi
		od;
		if
		:: claimed ->
			if
			:: was == FULL -> overwritten = overwritten + RECORDS - drained[i]
			:: else
			fi;
			atomic { lap[i]++; drained[i] = 0; published[i] = 0 };
			atomic { state[i] = FILLING; chunk = i; i = 0; t = 0; was = 0; seen = 0; tries = 0; claimed = false }
		:: else -> atomic { dropped++; produced++; n++; i = 0; t = 0; was = 0; seen = 0; tries = 0 }
		fi
	od;
died:
	ended++
}

/* One dump; `whole`: its reader takes all of it. */
inline dump(whole, may_die)
{
	atomic { (owner == NOBODY || owner == DEAD) -> owner = DRAINER };
#ifndef BROKEN_COMMIT
	commit_for_dead();
#endif
	i = 0;
	do
	:: i == CHUNKS -> break
	:: else ->
		pinned[i] = PIN;
		from[i] = 0; upto[i] = 0;
		if
		:: state[i] != CLAIMED ->
			EARLY_LAP;
			upto[i] = published[i];
			LATE_LAP;
			from[i] = drained[i]
		:: else
		fi;
		i++
	od;
	atomic { i = 0; k = 0 };
	do
	:: i == CHUNKS -> break
	:: else ->
		k = from[i];
		do
		:: k >= upto[i] -> break
		:: else ->
			/* Read in two steps: it must be the same record. */
			value = record[i * RECORDS + k];
			assert(lap[i] == snapshot_lap[i]);
			assert(record[i * RECORDS + k] == value && value != 0);
			atomic { k++; value = 0 }
		od;
		atomic { k = 0; pinned[i] = false };
		i++
	od;
	if
	:: whole ->
		atomic {
			commit_begun = true;
			for (k : 0 .. CHUNKS - 1) {
				handed_out = handed_out + upto[k] - from[k]
			}
			k = 0; i = 0
		};
		commit_chunks(may_die)
	:: else
	fi;
	atomic {
		for (i : 0 .. CHUNKS - 1) {
			pinned[i] = false
		}
		i = 0;
		owner = NOBODY
	}
}

active proctype Drainer()
{
	byte i, k, value;

	run Writer(1);
	run Writer(2);
	if
	:: dump(true, true)
	:: dump(false, false)
	:: true
	fi;
died:
	i = 0; k = 0;
	ended == WRITERS;
	dump(true, false);
	assert(handed_out + dropped + overwritten == produced + twice)
}
