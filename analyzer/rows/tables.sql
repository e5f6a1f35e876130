-- SPDX-License-Identifier: Apache-2.0
-- The files of wcprof-analyze --rows as views of DuckDB, and what the questions need beside them. A variable says in
-- which folders they are:
--
--     SET VARIABLE folders = 'rows/*';
--     .read tables.sql

CREATE OR REPLACE VIEW wc_window AS SELECT * FROM read_json(getvariable('folders') || '/wc_window.ndjson.zst',
-- table wc_window
format = 'newline_delimited', columns = {
	'window': 'VARCHAR', 'ts': 'TIMESTAMP_NS', 'service': 'VARCHAR', 'version': 'VARCHAR', 'host': 'VARCHAR',
	'pid': 'UINTEGER', 'boot_id': 'VARCHAR', 'cpus': 'UINTEGER', 'window_ns': 'UBIGINT', 'makespan_ns': 'UBIGINT',
	'requests': 'UBIGINT', 'drift': 'DOUBLE', 'dropped': 'UBIGINT', 'own_share': 'DOUBLE', 'answers': 'VARCHAR',
	'why': 'VARCHAR', 'tags': 'MAP(VARCHAR, VARCHAR)'});
-- end

CREATE OR REPLACE VIEW wc_whatif AS SELECT * FROM read_json(getvariable('folders') || '/wc_whatif.ndjson.zst',
-- table wc_whatif
format = 'newline_delimited', columns = {
	'window': 'VARCHAR', 'kind': 'VARCHAR', 'class': 'VARCHAR', 'package': 'VARCHAR', 'factor': 'DOUBLE',
	'saved_ns': 'DOUBLE', 'lo_ns': 'DOUBLE', 'hi_ns': 'DOUBLE', 'p50_saved_ns': 'DOUBLE', 'p99_saved_ns':
	'DOUBLE', 'next_limit': 'VARCHAR'});
-- end

CREATE OR REPLACE VIEW wc_wait AS SELECT * FROM read_json(getvariable('folders') || '/wc_wait.ndjson.zst',
-- table wc_wait
format = 'newline_delimited', columns = {
	'window': 'VARCHAR', 'reason': 'VARCHAR', 'resource': 'VARCHAR', 'waiter_stack': 'VARCHAR', 'holder_stack':
	'VARCHAR', 'n': 'UBIGINT', 'total_ns': 'UBIGINT', 'max_ns': 'UBIGINT', 'hist': 'UINTEGER[]'});
-- end

CREATE OR REPLACE VIEW wc_hold AS SELECT * FROM read_json(getvariable('folders') || '/wc_hold.ndjson.zst',
-- table wc_hold
format = 'newline_delimited', columns = {
	'window': 'VARCHAR', 'lock': 'VARCHAR', 'stack': 'VARCHAR', 'n': 'UBIGINT', 'total_ns': 'UBIGINT', 'hist':
	'UINTEGER[]'});
-- end

CREATE OR REPLACE VIEW wc_time AS SELECT * FROM read_json(getvariable('folders') || '/wc_time.ndjson.zst',
-- table wc_time
format = 'newline_delimited', columns = {
	'window': 'VARCHAR', 'thread_class': 'VARCHAR', 'running_ns': 'UBIGINT', 'queued_ns': 'UBIGINT', 'blocked_ns':
	'MAP(VARCHAR, UBIGINT)', 'idle_ns': 'UBIGINT', 'unseen_ns': 'UBIGINT'});
-- end

CREATE OR REPLACE VIEW wc_request AS SELECT * FROM read_json(getvariable('folders') || '/wc_request.ndjson.zst',
-- table wc_request
format = 'newline_delimited', columns = {
	'window': 'VARCHAR', 'kind': 'VARCHAR', 'class': 'VARCHAR', 'start': 'TIMESTAMP_NS', 'latency_ns': 'UBIGINT',
	'running_ns': 'UBIGINT', 'queued_ns': 'UBIGINT', 'blocked': 'MAP(VARCHAR, UBIGINT)', 'top_class': 'VARCHAR',
	'trace_id': 'VARCHAR', 'span_id': 'VARCHAR', 'weight': 'UINTEGER', 'source': 'VARCHAR', 'judged': 'BOOLEAN',
	'unfinished': 'BOOLEAN'});
-- end

CREATE OR REPLACE VIEW wc_stack AS SELECT * FROM read_json(getvariable('folders') || '/wc_stack.ndjson.zst',
-- table wc_stack
format = 'newline_delimited', columns = {
	'stack': 'VARCHAR', 'frames': 'VARCHAR[]', 'files': 'VARCHAR[]', 'lines': 'UINTEGER[]', 'packages':
	'VARCHAR[]'});
-- end

-- What requests took, cause by cause.
CREATE OR REPLACE VIEW wc_cause AS SELECT "window", weight, entry.key AS cause, entry.value AS ns
FROM (SELECT "window", weight, unnest(map_entries(map_concat(
	MAP {'running': running_ns, 'queued for a CPU': queued_ns}, blocked))) AS entry
	FROM wc_request WHERE judged AND NOT unfinished);

CREATE OR REPLACE MACRO p10(x) AS quantile_cont(x, 0.1);
CREATE OR REPLACE MACRO p50(x) AS quantile_cont(x, 0.5);
CREATE OR REPLACE MACRO p90(x) AS quantile_cont(x, 0.9);
