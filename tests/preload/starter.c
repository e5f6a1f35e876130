/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library opened late whose constructor starts a thread and waits for it while the loader's lock
 * is held. The first call of that thread blocks, and so does the second one, from another place.
 * It also wants most of what the loader keeps of its static thread-local storage for late-comers.
 */
#include <dlfcn.h>
#include <semaphore.h>

#include "../targets/scenario.h"

enum { STATIC_BYTES = 1400 };

__attribute__((tls_model("initial-exec"))) static __thread volatile char storage[STATIC_BYTES];
static sem_t first, second;

static void take_both(void)
{
	sem_wait(&first);
	storage[0] = 1;
	sem_wait(&second);
}

static void give(const struct helper *helper, sem_t *sem)
{
	until_in_call(helper->tid, SYS_futex);
	sem_post(sem);
}

__attribute__((constructor)) static void begin(void)
{
	struct helper helper;
	sem_init(&first, 0, 0);
	sem_init(&second, 0, 0);
	helper_start(&helper, take_both);
	give(&helper, &first);
	give(&helper, &second);
	helper_join(&helper);
	puts("constructed");
}

void run_plugin(void);
void run_plugin(void)
{
	storage[STATIC_BYTES - 1]++;
	printf("storage: %d %d\n", storage[0], storage[STATIC_BYTES - 1]);
}
