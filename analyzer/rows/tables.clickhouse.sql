-- SPDX-License-Identifier: Apache-2.0
-- The same for ClickHouse. Folders are below the directory that it may read files from: of clickhouse-local the one
-- that it is started in.

CREATE OR REPLACE VIEW wc_window AS SELECT * FROM file('rows/*/wc_window.ndjson.zst', JSONEachRow,
-- table wc_window
'`window` FixedString(32), `ts` DateTime64(9), `service` LowCardinality(String), `version`
	LowCardinality(String), `host` LowCardinality(String), `pid` UInt32, `boot_id` String, `cpus` UInt32,
	`window_ns` UInt64, `makespan_ns` UInt64, `requests` UInt64, `drift` Nullable(Float64), `dropped` UInt64,
	`own_share` Nullable(Float64), `answers` Enum(\'given\', \'withheld\'), `why` String, `tags` Map(String,
	String)')
SETTINGS date_time_input_format = 'best_effort';
-- end

CREATE OR REPLACE VIEW wc_whatif AS SELECT * FROM file('rows/*/wc_whatif.ndjson.zst', JSONEachRow,
-- table wc_whatif
'`window` FixedString(32), `kind` LowCardinality(String), `class` LowCardinality(String), `package`
	LowCardinality(String), `factor` Nullable(Float64), `saved_ns` Float64, `lo_ns` Float64, `hi_ns` Float64,
	`p50_saved_ns` Nullable(Float64), `p99_saved_ns` Nullable(Float64), `next_limit` LowCardinality(String)')
SETTINGS date_time_input_format = 'best_effort';
-- end

CREATE OR REPLACE VIEW wc_wait AS SELECT * FROM file('rows/*/wc_wait.ndjson.zst', JSONEachRow,
-- table wc_wait
'`window` FixedString(32), `reason` LowCardinality(String), `resource` LowCardinality(String), `waiter_stack`
	String, `holder_stack` String, `n` UInt64, `total_ns` UInt64, `max_ns` UInt64, `hist` Array(UInt32)')
SETTINGS date_time_input_format = 'best_effort';
-- end

CREATE OR REPLACE VIEW wc_hold AS SELECT * FROM file('rows/*/wc_hold.ndjson.zst', JSONEachRow,
-- table wc_hold
'`window` FixedString(32), `lock` LowCardinality(String), `stack` String, `n` UInt64, `total_ns` UInt64, `hist`
	Array(UInt32)')
SETTINGS date_time_input_format = 'best_effort';
-- end

CREATE OR REPLACE VIEW wc_time AS SELECT * FROM file('rows/*/wc_time.ndjson.zst', JSONEachRow,
-- table wc_time
'`window` FixedString(32), `thread_class` LowCardinality(String), `running_ns` UInt64, `queued_ns` UInt64,
	`blocked_ns` Map(String, UInt64), `idle_ns` UInt64, `unseen_ns` UInt64')
SETTINGS date_time_input_format = 'best_effort';
-- end

CREATE OR REPLACE VIEW wc_request AS SELECT * FROM file('rows/*/wc_request.ndjson.zst', JSONEachRow,
-- table wc_request
'`window` FixedString(32), `kind` LowCardinality(String), `class` LowCardinality(String), `start`
	DateTime64(9), `latency_ns` UInt64, `running_ns` UInt64, `queued_ns` UInt64, `blocked` Map(String, UInt64),
	`top_class` String, `trace_id` String, `span_id` String, `weight` UInt32, `source` LowCardinality(String),
	`judged` Bool, `unfinished` Bool')
SETTINGS date_time_input_format = 'best_effort';
-- end

CREATE OR REPLACE VIEW wc_stack AS SELECT * FROM file('rows/*/wc_stack.ndjson.zst', JSONEachRow,
-- table wc_stack
'`stack` String, `frames` Array(String), `files` Array(String), `lines` Array(UInt32), `packages` Array(String)')
SETTINGS date_time_input_format = 'best_effort';
-- end

CREATE OR REPLACE VIEW wc_cause AS SELECT "window", weight, entry.1 AS cause, entry.2 AS ns
FROM (SELECT "window", weight, arrayJoin(CAST(mapConcat(
	map('running', running_ns, 'queued for a CPU', queued_ns), blocked), 'Array(Tuple(String, UInt64))')) AS entry
	FROM wc_request WHERE judged AND NOT unfinished);

CREATE OR REPLACE FUNCTION p10 AS (x) -> quantileExactInclusive(0.1)(x);
CREATE OR REPLACE FUNCTION p50 AS (x) -> quantileExactInclusive(0.5)(x);
CREATE OR REPLACE FUNCTION p90 AS (x) -> quantileExactInclusive(0.9)(x);
