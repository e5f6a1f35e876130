# SPDX-License-Identifier: Apache-2.0
# Compiles the source SOURCE into twelve objects: what a build of many small files is.
objects := $(patsubst %,%.o,1 2 3 4 5 6 7 8 9 10 11 12)
.PHONY: all
all: $(objects)
$(objects): $(SOURCE)
	@gcc $(FLAGS) -c -o $@ $<
