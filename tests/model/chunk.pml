/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small model of recorder/chunk.c and recorder/snapshot.c in a ring: two threads that fill chunks of one
 * record and take the oldest one when there is none left, and a drainer that pins, writes out, lets go and
 * commits, or gives up half-way. Memory is taken to be sequentially consistent: what the orders of the
 * atomic operations do is for the thread sanitizer.
 *
 * Checked in every interleaving: no record changes while it is read; none is handed out twice; recorded +
 * dropped + overwritten = produced in the end. -DBROKEN_PIN leaves the pin out, -DBROKEN_ORDER notes a
 * chunk's lap before how far it is published.
 */
#define CHUNKS  2
#define RECORDS 1
#define WRITERS 2
#define EVENTS  2 /* of each thread */

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

proctype Writer(byte me)
{
	byte n = 0, chunk = CHUNKS, position = 0, t, i, was, seen, tries;
	bool claimed;

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
		tries = 0; claimed = false;
		do
		:: claimed || tries == CHUNKS -> break
		:: else ->
			atomic { t = turn; i = t % CHUNKS };
			if
			:: state[i] == FULL && pinned[i] -> tries = CHUNKS
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
	ended++
}

/* One dump; `whole`: its reader takes all of it. */
inline dump(whole)
{
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
		pinned[i] = false;
		i++
	od;
	i = 0;
	do
	:: i == CHUNKS || !whole -> break
	:: else ->
		if
		:: upto[i] > 0 ->
			pinned[i] = true;
			handed_out = handed_out + upto[i] - from[i];
			if
			:: state[i] != CLAIMED && NOT_OVERWRITTEN ->
				drained[i] = upto[i];
				if
				:: upto[i] == RECORDS && state[i] == FULL ->
					state[i] = CLAIMED; drained[i] = 0; published[i] = 0; state[i] = EMPTY
				:: else
				fi
			:: else -> overwritten = overwritten - (upto[i] - from[i])
			fi
		:: else
		fi;
		pinned[i] = false;
		i++
	od
}

active proctype Drainer()
{
	byte i, k, value;

	run Writer(1);
	run Writer(2);
	if
	:: dump(true)
	:: dump(false)
	:: skip
	fi;
	ended == WRITERS;
	dump(true);
	assert(handed_out + dropped + overwritten == produced)
}
