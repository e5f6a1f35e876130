/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of a profile: locations, the functions that they are in, the files that were mapped
 * there.
 *
 * Numbered from 1 in the order in which they are asked for. One thread.
 */
#ifndef WCPROF_PROFILE_PLACES_H
#define WCPROF_PROFILE_PLACES_H

#include "names/framenames.h"
#include "protobuf.h"
#include "recording/recording.h"

struct profile_places;

/* Texts of functions and files are added to `texts`, whose ids go into the file. */
struct profile_places *profile_places_new(const struct recording *recording,
					  const struct frame_names *names, struct recording *texts);
void profile_places_free(struct profile_places *places);

/* The location of a frame of the recording; 0 = none, as it is the recorder's own. */
uint32_t profile_places_of_frame(struct profile_places *places, uint32_t frame);

/* The location of a frame that is no code: its function has this text. */
uint32_t profile_places_of_text(struct profile_places *places, uint32_t text);

/* Locations, functions and mappings, as fields of the profile. */
void profile_places_write(struct profile_places *places, struct protobuf *to);
/* The same as fields of OpenTelemetry's dictionary of profiles, where entry n of a table has the
 * number n. */
void profile_places_write_otlp(struct profile_places *places, struct protobuf *to);

#endif
